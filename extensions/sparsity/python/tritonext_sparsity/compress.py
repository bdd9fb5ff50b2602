"""Compression of 2:4 sparse matrices to the canonical form and back, as Triton kernels on tensors of torch.

The canonical form of a matrix [M, K] is ``values`` [M, K/2], the two kept elements of each group of four, and ``meta``,
uint8 [M, K/8], a nibble ``first | second << 2`` of positions for each group, the lower group in the lower nibble. Of
float32, multiplied as tf32, one of two elements is kept: ``meta`` is uint8 [M, K/4], with 0x4 for the first and 0xE for
the second. No function changes its arguments.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import triton
import triton.language as tl

from .elements import ELEMENTS, Element
from .errors import OperandError
from .formats import FormatError
from .groups import (
    codes_of_largest,
    codes_of_nonzero,
    expanded,
    kept_values,
    load_groups,
    paired,
)

if TYPE_CHECKING:
    import torch

__all__ = ["compress", "compressed_shapes", "decompress", "validate", "validate_metadata"]

# What a violation may be reported in: one element for each byte of metadata of a tile.
SLOTS = 1024
_WARPS = 4


@triton.jit
def _tile(rows, groups, blocks, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows, groups and pairs of groups of this program's tile, and which of them there are."""
    program = tl.program_id(0)
    if ROWS == 0:
        # One long row.
        start = program.to(tl.int64) * BLOCK
        # A 32-bit bound keeps the comparison of every element short.
        left = tl.minimum(groups - start, BLOCK).to(tl.int32)
        row = tl.full((), 0, tl.int64)
        index = tl.arange(0, BLOCK)
        slot = tl.arange(0, BLOCK // 2)
        group = start + index
        pair = start // 2 + slot
        inside = index < left
        whole = slot < left // 2
    else:
        row = (program // blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
        start = (program % blocks).to(tl.int64) * BLOCK
        group = start + tl.arange(0, BLOCK)[None, :]
        pair = start // 2 + tl.arange(0, BLOCK // 2)[None, :]
        slot = tl.arange(0, ROWS)[:, None] * (BLOCK // 2) + tl.arange(0, BLOCK // 2)[None, :]
        inside = (row < rows) & (group < groups)
        whole = (row < rows) & (pair < groups // 2)
    return row, group, inside, pair, whole, slot


@triton.jit
def _report(bad, violations, slot, position):
    # The slots are adjacent, so that the store has the layout of the metadata and costs no exchange between threads.
    tl.store(violations + slot, position, mask=bad)


@triton.jit
def compress_kernel(
    x,
    values,
    meta,
    violations,
    rows,
    groups,
    blocks,
    stride_row,
    stride_column,
    BITS: tl.constexpr,
    KIND: tl.constexpr,
    PRUNE: tl.constexpr,
    PACKED: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the canonical form of ``x``; a group with too many non-zero elements gets the code 0 and is reported.

    Nothing is reported where ``violations`` is None.
    """
    row, group, inside, pair, whole, slot = _tile(rows, groups, blocks, ROWS, BLOCK)
    word = load_groups(x, row, group, stride_row, stride_column, inside, BITS, PACKED)
    code = codes_of_largest(word, BITS, KIND) if PRUNE else codes_of_nonzero(word, BITS, KIND)
    VALUE: tl.constexpr = tl.int16 if BITS == 8 else tl.int32
    values = values.to(tl.pointer_type(VALUE))
    tl.store(values + row * groups + group, kept_values(word, code, BITS), mask=inside)
    byte = paired(code)
    position = row * (groups // 2) + pair
    tl.store(meta + position, byte.to(tl.uint8), mask=whole)
    if violations is not None:
        # All codes but 0 have one of the bits 2 and 3.
        _report(whole & ((~(byte | (byte << 1)) & 0x88) != 0), violations, slot, position)


@triton.jit
def validate_kernel(
    x,
    violations,
    rows,
    groups,
    blocks,
    stride_row,
    stride_column,
    BITS: tl.constexpr,
    KIND: tl.constexpr,
    PACKED: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Report a group of ``x`` with too many non-zero elements."""
    row, group, inside, pair, whole, slot = _tile(rows, groups, blocks, ROWS, BLOCK)
    word = load_groups(x, row, group, stride_row, stride_column, inside, BITS, PACKED)
    byte = paired(codes_of_nonzero(word, BITS, KIND))
    position = row * (groups // 2) + pair
    _report(whole & ((~(byte | (byte << 1)) & 0x88) != 0), violations, slot, position)


@triton.jit
def _illegal(codes, BITS: tl.constexpr):
    """Which codes no instruction accepts; bit c of the number says that code c is accepted."""
    ACCEPTED: tl.constexpr = 0x4010 if BITS == 32 else 0x7310
    return ((ACCEPTED >> codes) & 1) == 0


@triton.jit
def validate_metadata_kernel(meta, violations, rows, groups, blocks, BITS: tl.constexpr, BLOCK: tl.constexpr):
    """Report a byte of ``meta`` with a code that no instruction accepts; ``groups`` counts bytes."""
    row, index, inside, _, _, _ = _tile(rows, groups, blocks, 0, BLOCK)
    byte = tl.load(meta + index, mask=inside, other=0).to(tl.int32)
    bad = _illegal(byte & 0xF, BITS) | _illegal(byte >> 4, BITS)
    _report(inside & bad, violations, tl.arange(0, BLOCK), row + index)


@triton.jit
def decompress_kernel(values, meta, x, rows, groups, blocks, BITS: tl.constexpr, BLOCK: tl.constexpr):
    """Write the dense matrix of a canonical form, all three without gaps."""
    _, group, inside, pair, whole, _ = _tile(rows, groups, blocks, 0, BLOCK)
    VALUE: tl.constexpr = tl.int16 if BITS == 8 else tl.int32
    WORD: tl.constexpr = tl.int32 if BITS == 8 else tl.int64
    value = tl.load(values.to(tl.pointer_type(VALUE)) + group, mask=inside, other=0)
    byte = tl.load(meta + pair, mask=whole, other=0).to(tl.int32)
    code = tl.reshape(tl.join(byte & 0xF, byte >> 4), (BLOCK,))
    tl.store(x.to(tl.pointer_type(WORD)) + group, expanded(value, code, BITS), mask=inside)


@dataclass(frozen=True)
class Plan:
    """How a kernel walks over the groups of a matrix.

    Attributes:
        rows, groups: Rows, and groups in each.
        blocks: Tiles in a row of tiles.
        stride_row, stride_column: Strides as the kernel takes them.
        packed: Whether groups are adjacent and aligned, so that one is a word.
        tile: Rows and groups of a tile; 0 rows for a matrix that is one long row.
    """

    rows: int
    groups: int
    blocks: int
    stride_row: int
    stride_column: int
    packed: bool
    tile: tuple[int, int]

    @classmethod
    def of(cls, shape: tuple[int, int], strides: tuple[int, int], address: int, element: Element) -> Plan:
        """Plan for a matrix at an address.

        Args:
            shape: Rows and columns; the columns a multiple of those that a byte of metadata describes.
            strides: In elements.
            address: In bytes.
            element: Type of the elements.
        """
        (rows, columns), (stride_row, stride_column) = shape, strides
        word = element.bits // 8 * element.group
        # A group in 16 bytes of values or of dense elements, whichever is less, for each thread.
        width = 8 if element.bits == 8 else 4
        adjacent = stride_column == 1 and address % word == 0
        if adjacent and (rows == 1 or stride_row == columns):
            groups = rows * columns // element.group
            return cls(1, groups, 0, 0, 1, True, (0, width * 32 * _WARPS))
        return cls.by_rows(shape, strides, element, adjacent and stride_row % element.group == 0)

    @classmethod
    def by_rows(cls, shape: tuple[int, int], strides: tuple[int, int], element: Element, packed: bool) -> Plan:
        """Plan for tiles of several rows, whose groups are words if ``packed``."""
        (rows, columns), (stride_row, stride_column) = shape, strides
        # A tile is wide where rows are in memory, and square otherwise.
        tile = (4, (8 if element.bits == 8 else 4) * 32) if packed else (32, 32)
        groups = columns // element.group
        stride = stride_row // element.group if packed else stride_row
        return cls(rows, groups, -(-groups // tile[1]), stride, stride_column, packed, tile)

    @property
    def grid(self) -> tuple[int]:
        """Programs of the launch."""
        rows, block = self.tile
        return (-(-self.groups // block),) if rows == 0 else (-(-self.rows // rows) * self.blocks,)

    @property
    def arguments(self) -> tuple[int, int, int, int, int]:
        """Arguments of the kernels behind the pointers."""
        return self.rows, self.groups, self.blocks, self.stride_row, self.stride_column

    @property
    def constants(self) -> dict[str, Any]:
        """Constants of the kernels."""
        return {"PACKED": self.packed, "ROWS": self.tile[0], "BLOCK": self.tile[1], "num_warps": _WARPS}


def kind_of_element(element: Element) -> str:
    """Return how the bits of elements order by magnitude, as the kernels name it."""
    if element.is_float:
        return "fnuz" if element.special == "fnuz" else "float"
    return "signed" if element.signed else "unsigned"


def compressed_shapes(shape: tuple[int, int], element: Element) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of values and metadata of a matrix of ``shape``."""
    rows, columns = shape
    return (rows, columns // 2), (rows, columns // element.columns_per_byte)


def compress(
    x: torch.Tensor,
    *,
    prune: bool = False,
    scores: torch.Tensor | None = None,
    check: bool = True,
    name: str = "x",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compress a matrix to its canonical form.

    Zeros of either sign are zeros; infinities and NaN are kept. A group with fewer non-zero elements than are kept is
    filled up with zeros.

    Args:
        x: Matrix [M, K] on a GPU, of any strides. K is a multiple of 8, of float32 of 4.
        prune: Keep the largest magnitudes of each group, the first of equal ones and NaN above all.
        scores: Keep the elements with the largest of these scores instead, float32, bfloat16 or float16 [M, K].
        check: Read from the GPU, which waits for it, whether a group has too many non-zero elements. Without the check
            such a group gets the code 0x0, which :func:`validate_metadata` finds and no product may be given. With
            ``prune`` or ``scores`` there is nothing to check, and nothing waits.
        name: What errors call ``x``.

    Returns:
        ``values`` [M, K/2] of the type of ``x``, and ``meta``, uint8.

    Raises:
        OperandError: A tensor has another shape or type, or is on another device.
        FormatError: A group has too many non-zero elements and no pruning was asked for.
    """
    import torch

    element = check_matrix(name, x)
    if scores is not None:
        from .prune import prune as pruned

        return compress(pruned(x, scores=scores, name=name), prune=True)
    shapes = compressed_shapes(tuple(x.shape), element)
    values = torch.empty(shapes[0], dtype=x.dtype, device=x.device)
    meta = torch.empty(shapes[1], dtype=torch.uint8, device=x.device)
    if not x.numel():
        return values, meta
    violations = _violations(x) if check and not prune else None
    plan = Plan.of(tuple(x.shape), x.stride(), x.data_ptr(), element)
    with on_device(x):
        compress_kernel[plan.grid](
            x,
            values,
            meta,
            violations,
            *plan.arguments,
            BITS=element.bits,
            KIND=kind_of_element(element),
            PRUNE=prune,
            **plan.constants,
        )
    if violations is not None:
        _raise_excess(violations, x, element, name)
    return values, meta


def decompress(values: torch.Tensor, meta: torch.Tensor) -> torch.Tensor:
    """Return the dense matrix [M, K] of a canonical form.

    Args:
        values: Kept elements [M, K/2].
        meta: Their codes, uint8 [M, K/8], of float32 [M, K/4]. Legal ones, as :func:`validate_metadata` checks it.

    Raises:
        OperandError: The tensors do not fit together.
    """
    import torch

    element = check_compressed("values", values, "meta", meta)
    rows, columns = values.shape[0], 2 * values.shape[1]
    x = torch.empty((rows, columns), dtype=values.dtype, device=values.device)
    if not x.numel():
        return x
    values, meta = values.contiguous(), meta.contiguous()
    if values.data_ptr() % (element.bits // 8 * 2):
        values = values.clone()
    plan = Plan.of((rows, columns), x.stride(), x.data_ptr(), element)
    with on_device(x):
        decompress_kernel[plan.grid](
            values, meta, x, plan.rows, plan.groups, plan.blocks, element.bits, plan.tile[1], num_warps=_WARPS
        )
    return x


def validate(x: torch.Tensor, name: str = "x") -> None:
    """Check that every group of a matrix has at most two non-zero elements of four, of float32 one of two.

    It reads the answer from the GPU and waits for it.

    Args:
        x: As in :func:`compress`.
        name: What errors call it.

    Raises:
        OperandError: ``x`` is no matrix that has a compressed form.
        FormatError: A group has too many.
    """
    element = check_matrix(name, x)
    if not x.numel():
        return
    violations = _violations(x)
    plan = Plan.of(tuple(x.shape), x.stride(), x.data_ptr(), element)
    with on_device(x):
        validate_kernel[plan.grid](
            x, violations, *plan.arguments, BITS=element.bits, KIND=kind_of_element(element), **plan.constants
        )
    _raise_excess(violations, x, element, name)


def validate_metadata(meta: torch.Tensor, dtype: torch.dtype, name: str = "meta") -> None:
    """Check that metadata has no other codes than instructions accept.

    Those are 0x4, 0x8, 0x9, 0xC, 0xD and 0xE; 0x4 and 0xE of float32. Others have no defined result (PTX ISA, "sparse
    matrix storage"). It reads the answer from the GPU and waits for it.

    Args:
        meta: uint8 matrix.
        dtype: Type of the values it belongs to.
        name: What the error calls it.

    Raises:
        OperandError: ``meta`` is no uint8 matrix on a GPU.
        FormatError: There is another code.
    """
    import torch

    element = element_of_dtype(dtype, "dtype")
    check_tensor(name, meta, 2, (torch.uint8,))
    if not meta.numel():
        return
    violations = _violations(meta)
    flat = meta.contiguous()
    with on_device(meta):
        validate_metadata_kernel[(-(-flat.numel() // SLOTS),)](
            flat, violations, 1, flat.numel(), 0, BITS=element.bits, BLOCK=SLOTS, num_warps=_WARPS
        )
    position = int(violations.cpu().max())
    if position >= 0:
        row, byte = divmod(position, meta.shape[1])
        raise FormatError(
            f"{name} holds a code that no instruction accepts",
            where=f"{name}[{row}, {byte}]",
            expected="nibbles 0x4 and 0xE" if element.bits == 32 else "nibbles 0x4, 0x8, 0x9, 0xC, 0xD and 0xE",
            found=f"{int(meta[row, byte]):#04x}",
        )


def _violations(like: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.full((SLOTS,), -1, dtype=torch.int64, device=like.device)


def _raise_excess(violations: torch.Tensor, x: torch.Tensor, element: Element, name: str) -> None:
    position = int(violations.cpu().max())
    if position < 0:
        return
    step = element.columns_per_byte
    row, byte = divmod(position, x.shape[1] // step)
    columns = slice(step * byte, step * (byte + 1))
    kept = element.group // 2
    raise FormatError(
        f"{name} is not {kept}:{element.group} sparse",
        where=f"{name}[{row}, {columns.start}:{columns.stop}]",
        expected=f"at most {kept} non-zero of each {element.group} elements of a row",
        found=x[row, columns].tolist(),
        hint="ask for pruning to keep the largest of each group",
    )


def element_of_dtype(dtype: torch.dtype, name: str) -> Element:
    """Return the element type of a type of torch.

    Raises:
        OperandError: It has no sparse products.
    """
    found = ELEMENTS.get(str(dtype).removeprefix("torch."))
    if found is None:
        raise OperandError(f"{name} has a type without a compressed form", expected=", ".join(ELEMENTS), found=dtype)
    return found


def check_tensor(
    name: str, tensor: Any, dimensions: int, dtypes: tuple[torch.dtype, ...] = (), *, on_gpu: bool = True
) -> None:
    """Refuse what is no tensor of so many dimensions and one of these types, unless ``on_gpu`` is false on a GPU.

    Raises:
        OperandError: It is none.
    """
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise OperandError(f"{name} is no tensor", expected="a tensor of torch", found=type(tensor).__name__)
    if tensor.dim() != dimensions:
        raise OperandError(
            f"{name} has the wrong number of dimensions", expected=dimensions, found=f"shape {tuple(tensor.shape)}"
        )
    if dtypes and tensor.dtype not in dtypes:
        raise OperandError(f"{name} has the wrong type", expected=", ".join(map(str, dtypes)), found=tensor.dtype)
    if on_gpu and tensor.device.type != "cuda" and not interpreted():
        raise OperandError(
            f"{name} is not on a GPU", expected="a device of type cuda", found=tensor.device, hint="move it there first"
        )


def check_matrix(name: str, x: Any) -> Element:
    """Refuse what is no matrix that has a compressed form, and return its element type.

    Raises:
        OperandError: It is none.
    """
    check_tensor(name, x, 2)
    element = element_of_dtype(x.dtype, name)
    if x.shape[1] % element.columns_per_byte:
        raise OperandError(
            f"the columns of {name} do not fill the metadata",
            expected=f"a multiple of {element.columns_per_byte} columns of type {x.dtype}: two groups of "
            f"{element.group} to a byte",
            found=f"shape {tuple(x.shape)}",
            hint="pad the columns with zeros",
        )
    return element


def check_compressed(values_name: str, values: Any, meta_name: str, meta: Any, *, on_gpu: bool = True) -> Element:
    """Refuse what is no canonical form, unless ``on_gpu`` is false on a GPU, and return its element type.

    Raises:
        OperandError: The tensors do not fit together.
    """
    import torch

    check_tensor(values_name, values, 2, on_gpu=on_gpu)
    element = element_of_dtype(values.dtype, values_name)
    check_tensor(meta_name, meta, 2, (torch.uint8,), on_gpu=on_gpu)
    rows, kept = values.shape
    if 2 * kept % element.columns_per_byte or tuple(meta.shape) != (rows, 2 * kept // element.columns_per_byte):
        raise OperandError(
            f"{meta_name} does not fit to {values_name}",
            expected=f"a byte of {meta_name} to {element.columns_per_byte // 2} elements of a row of {values_name}, "
            f"shape {tuple(values.shape)}",
            found=f"shape {tuple(meta.shape)}",
        )
    if values.device != meta.device:
        raise OperandError(
            f"{meta_name} is on another device than {values_name}", expected=values.device, found=meta.device
        )
    return element


@functools.cache
def interpreted() -> bool:
    """Return whether kernels run in Triton's interpreter, which takes tensors of the CPU."""
    return not isinstance(compress_kernel, triton.JITFunction)


def on_device(tensor: torch.Tensor) -> Any:
    """Return a context in which kernels run on the device of ``tensor``."""
    import torch

    return torch.cuda.device_of(tensor)
