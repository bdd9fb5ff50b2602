"""Tensor memory of Blackwell: its layouts and allocation, loads and stores, slices, and copies from shared memory."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout, SwizzledSharedLayout
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout, TensorMemoryScalesLayout

from tritonext.language import typed_builder

from ._arguments import bounded, choice
from .cluster import remote_blocks
from .definition import BLACKWELL, op, refuse
from .tasks import warps_here
from .types import buffered_tensor, buffered_tensor_type, require_buffer, storage_kind

__all__ = [
    "LAYOUTS",
    "allocate",
    "columns",
    "layout_of",
    "load",
    "require_columns",
    "require_target",
    "scales_view",
    "start_copy",
    "store",
    "subslice",
    "tmem_copy",
]

LAYOUTS = (TensorMemoryLayout, TensorMemoryScalesLayout)
"""Layouts of tensor memory."""

# PTX ISA, tensor memory: a block has 512 columns of 32 bits in 128 lanes, and an MMA writes up to 256 of them.
_COLUMNS = 512
_ROWS = (64, 128)
_WIDEST = 256
_SCALES = (tl.int8, tl.uint8)


def layout_of(name: str, shape: list[int], dtype: tl.dtype, num: int, layout: Any, target: str) -> Any:
    """Return the layout of buffers in tensor memory, that of the user when there is one.

    Raises:
        UserError: The target has no tensor memory, or none for such buffers.
    """
    require_target(name, target)
    if len(shape) != 2:
        raise refuse(name, "tensor memory holds matrices", "shape", expected="(M, N)", found=tuple(shape))
    if layout is None:
        layout = _default(name, shape, dtype)
    elif not isinstance(layout, LAYOUTS):
        raise refuse(
            name,
            "an argument is not a layout of tensor memory",
            "layout",
            expected="TensorMemoryLayout or TensorMemoryScalesLayout of triton.experimental.gluon.language.nvidia",
            found=repr(layout),
        )
    if isinstance(layout, TensorMemoryScalesLayout) and num > 1:
        hint = "allocate each by itself"
        raise refuse(name, "scales in tensor memory have no slots", "num", expected=1, found=num, hint=hint)
    require_columns(name, num * width(shape, dtype, layout), f", for {num} of {tuple(shape)} of {dtype}")
    return layout


def require_target(name: str, target: str) -> None:
    """Refuse a target without tensor memory."""
    if target not in BLACKWELL:
        expected = ", ".join(BLACKWELL)
        raise refuse(name, "the target has no tensor memory", "storage", expected=expected, found=target)


def require_columns(name: str, needed: int, of: str = "") -> None:
    """Refuse more columns than there are; ``of`` says of what."""
    if needed > _COLUMNS:
        raise refuse(
            name,
            "the buffers do not fit into tensor memory",
            expected=f"at most {_COLUMNS} columns of 32 bits",
            found=f"{needed}{of}",
        )


def _default(name: str, shape: list[int], dtype: tl.dtype) -> Any:
    if dtype in _SCALES:
        return TensorMemoryScalesLayout()
    if dtype.primitive_bitwidth not in (16, 32) and not dtype.is_fp8():
        raise refuse(
            name,
            "tensor memory has no buffers of this type",
            "dtype",
            expected="a type of 16 or 32 bits, an 8-bit float, or tl.uint8 for scales",
            found=dtype,
        )
    if shape[0] not in _ROWS:
        expected = " or ".join(map(str, _ROWS))
        raise refuse(name, "tensor memory has no such number of rows", "shape", expected=expected, found=shape[0])
    return TensorMemoryLayout((shape[0], min(shape[1], _WIDEST)), 1)


def width(shape: list[int], dtype: tl.dtype, layout: Any) -> int:
    """Return the number of columns of 32 bits that one buffer takes."""
    rows, columns = shape
    if isinstance(layout, TensorMemoryScalesLayout):
        # Those of 32 rows lie in all four quarters of the lanes, 4 in a column.
        return -(-rows // 32) * -(-columns // 4)
    blocks = -(-rows // layout.block[0])
    return blocks * -(-columns * layout.col_stride * dtype.primitive_bitwidth // 32)


def allocate(name: str, builder: Any, descriptor: Any, buffers: tuple[list[int], tl.dtype, int, Any], base: Any) -> Any:
    """Return the handle of new buffers (shape, type, number, layout), or of ones in the memory of ``base``.

    Raises:
        UserError: ``base`` is no buffer in tensor memory, or too small.
    """
    if base is None:
        return builder.create_tmem_alloc(descriptor, None)
    shape, dtype, num, layout = buffers
    kind = require_buffer(name, "reuse", base, storage=storage_kind.tmem).type
    needed = num * width(shape, dtype, layout)
    if needed > (there := max(kind.num, 1) * width(kind.shape, kind.element_ty, kind.layout)):
        raise refuse(name, "the buffer is too small to be reused", "reuse", expected=f"{needed} columns", found=there)
    if shape[0] != kind.shape[0]:
        raise refuse(
            name, "the buffer has another number of rows", "reuse", expected=f"{shape[0]} rows", found=kind.shape[0]
        )
    return builder.create_memdesc_reinterpret(descriptor, base.handle)


def _check_warps(name: str, semantic: Any) -> None:
    if (warps := warps_here(semantic)) % 4:
        raise refuse(
            name,
            "a warp reaches one quarter of the rows of tensor memory",
            expected="num_warps a multiple of 4",
            found=warps,
        )


def load(name: str, buffer: buffered_tensor, semantic: Any) -> tl.tensor:
    """Load a buffer in tensor memory.

    Raises:
        UserError: The warps here do not reach it, or it holds scales.
    """
    _check_warps(name, semantic)
    kind = buffer.type
    if isinstance(kind.layout, TensorMemoryScalesLayout):
        hint = "keep a copy in shared memory"
        raise refuse(name, "scales in tensor memory are read by products only", "src", found=buffer, hint=hint)
    handle = semantic.builder.create_tlx_tmem_load([buffer.handle])
    return tl.tensor(handle, tl.block_type(kind.element_ty, kind.shape))


def store(name: str, buffer: buffered_tensor, value: tl.tensor, semantic: Any) -> None:
    """Store a tensor to a buffer in tensor memory.

    Raises:
        UserError: The warps here do not reach it.
    """
    _check_warps(name, semantic)
    semantic.builder.create_tlx_tmem_store([buffer.handle, value.handle])


def columns(buffer: buffered_tensor, offset: int, size: int, semantic: Any) -> buffered_tensor:
    """Return some columns of a buffer in tensor memory."""
    kind = buffer.type
    builder = typed_builder(semantic)
    shape = [kind.shape[0], size]
    type_ = builder.get_tensor_mem_desc_ty(
        kind.element_ty.to_ir(builder), shape, kind.layout._to_ir(builder), kind.alloc_shape
    )
    handle = builder.create_tmem_subslice(type_, buffer.handle, offset, 1)
    return buffered_tensor(
        handle, buffered_tensor_type(kind.element_ty, shape, 0, kind.layout, kind.alloc_shape, handle.get_type())
    )


@op(targets=BLACKWELL)
def subslice(local_allocated_buffer: Any, offset: Any, size: Any, _semantic: Any = None) -> buffered_tensor:
    """Return some columns of a buffer in tensor memory.

    Args:
        local_allocated_buffer: One slot in tensor memory.
        offset: The first column, a constant multiple of ``size``.
        size: How many, a constant power of two.

    Raises:
        UserError: They leave the buffer, or an argument is of the wrong kind.
    """
    name = "subslice"
    kind = require_buffer(
        name, "local_allocated_buffer", local_allocated_buffer, slots=False, storage=storage_kind.tmem
    ).type
    count = bounded(name, "size", size, 1, kind.shape[1])
    if count & (count - 1):
        raise refuse(name, "a size is not a power of two", "size", expected="such as 64", found=count)
    start = bounded(name, "offset", offset, 0, kind.shape[1] - count, count)
    return columns(local_allocated_buffer, start, count, _semantic)


@op(targets=BLACKWELL)
def tmem_copy(src: Any, dst: Any, two_ctas: Any = False, _semantic: Any = None) -> None:
    """Start a copy from shared to tensor memory (``tcgen05.cp``).

    :func:`tcgen05_commit` tells when it has ended. Products that the same task starts behind it come after it. What
    :func:`local_store` wrote needs :func:`fence_async_shared` before.

    Args:
        src: One slot in shared memory. For scales of shape (M, K) it has the bytes of (M / 128, K / 4, 32, 4, 4) in a
            plain layout, the last two dimensions possibly joined: those of row ``128 a + 32 c + b`` and column
            ``4 d + e`` at ``[a, d, b, c, e]``.
        dst: One slot in tensor memory, of scales, or of the shape and type of ``src``.
        two_ctas: Whether the copy is one for products of two blocks. Both call this, and the one of even rank starts
            the copy in each of them, from and to its own memory; so it waits for what is copied in both before.

    Raises:
        UserError: An argument is of the wrong kind, or has another size.

    Source: PTX ISA, tcgen05.cp and layout of scale factors in tensor memory.
    """
    name = "tmem_copy"
    source = require_buffer(name, "src", src, slots=False).type
    target = require_buffer(name, "dst", dst, slots=False, storage=storage_kind.tmem).type
    if source.element_ty.primitive_bitwidth != target.element_ty.primitive_bitwidth:
        raise refuse(
            name, "the types of the elements differ", "dst", expected=source.element_ty, found=target.element_ty
        )
    pair = choice(name, "two_ctas", two_ctas, (False, True))
    if pair:
        remote_blocks(name, _semantic)
    if isinstance(target.layout, TensorMemoryScalesLayout):
        handle = scales_view(name, "src", src, target.shape, typed_builder(_semantic))
        start_copy(handle, dst.handle, pair, _semantic)
        return
    if source.shape != target.shape:
        raise refuse(name, "the shapes differ", "dst", expected=tuple(source.shape), found=tuple(target.shape))
    if not isinstance(source.layout, NVMMASharedLayout):
        raise refuse(
            name,
            "the buffer has no layout that the copy reads",
            "src",
            expected="an NVMMASharedLayout",
            found=source.layout,
            hint="leave out the layout of tlx.local_alloc, and make each row at least 32 bytes",
        )
    start_copy(src.handle, dst.handle, pair, _semantic)


def start_copy(source: Any, target: Any, pair: bool, semantic: Any) -> None:
    """Build a copy to tensor memory, in two blocks for a pair."""
    if pair:
        semantic.builder.create_tlx_pair_copy([source, target])
    else:
        typed_builder(semantic).create_tmem_copy(source, target)


def scales_view(name: str, argument: str, buffer: buffered_tensor, shape: list[int], builder: Any) -> Any:
    """Return the handle of a view of tiles of scales in shared memory as a matrix of a shape.

    Raises:
        UserError: They are swizzled, or have another shape.
    """
    source = buffer.type
    rows, columns = shape
    if rows % 128 or columns % 4:
        raise refuse(
            name,
            "scales are copied in tiles of 128 x 4",
            argument,
            expected="a shape of whole tiles",
            found=tuple(shape),
        )
    tiles = (rows // 128, columns // 4)
    known = [(*tiles, 32, 4, 4), (*tiles, 32, 16), (1, *tiles, 2, 256), (tiles[0], tiles[1] * 512)]
    if tuple(source.shape) not in known:
        expected = " or ".join(map(str, known))
        raise refuse(name, "the scales have another shape", argument, expected=expected, found=tuple(source.shape))
    layout = source.layout
    plain = (
        layout.swizzle_byte_width == 0
        if isinstance(layout, NVMMASharedLayout)
        else (isinstance(layout, SwizzledSharedLayout) and layout.max_phase == 1)
    )
    if not plain:
        raise refuse(
            name,
            "the scales are swizzled",
            argument,
            expected="a layout without swizzle",
            found=layout,
            hint="allocate them with four dimensions or more, and leave out the layout",
        )
    tiled = builder.create_memdesc_reshape(buffer.handle, [*tiles, 32, 4, 4])
    return builder.create_memdesc_reshape(builder.create_memdesc_trans(tiled, [0, 3, 2, 1, 4]), [rows, columns])
