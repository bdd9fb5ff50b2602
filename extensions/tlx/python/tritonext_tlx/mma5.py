"""Matrix products of Blackwell, which accumulate in tensor memory and signal barriers when they end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryScalesLayout

from tritonext.language import typed_builder

from . import tmem
from ._arguments import choice, predicate
from .barrier import require_barrier
from .cluster import remote_blocks
from .definition import BLACKWELL, constant, op, refuse
from .types import buffered_tensor, buffered_tensor_type, require_buffer, storage_kind

__all__ = ["async_dot_scaled", "product", "tcgen05_commit"]

# PTX ISA, tcgen05.mma: types of the accumulator by types of the operands, its rows, and bits of an operand that one
# instruction consumes along K.
_ACCUMULATORS = {
    tl.float16: (tl.float32, tl.float16),
    tl.bfloat16: (tl.float32,),
    tl.float32: (tl.float32,),
    tl.float8e4nv: (tl.float32, tl.float16),
    tl.float8e5: (tl.float32, tl.float16),
    tl.int8: (tl.int32,),
}
_ROWS = (64, 128)
_K_BITS = 256
# Those of operands of 16 bits, and of 8-bit floats, may lie either way.
_EITHER_MAJOR = (tl.float16, tl.bfloat16, tl.float8e4nv, tl.float8e5)
_FORMATS = {"e4m3": (tl.float8e4nv, tl.uint8), "e5m2": (tl.float8e5, tl.uint8), "e2m1": (tl.uint8, tl.int8)}
_SCALES = (tl.uint8, tl.int8)
_SCALED_ROWS = 128
_SCALE_BLOCK = 32
# PTX ISA, tcgen05.mma with .cta_group::2: N goes up in steps of 32. With half of 128 rows in each block, the right half
# of an accumulator lies in the upper 64 lanes (data path layout B).
_FOLDED_ROWS = 64
_LANES = 128
# What builds a product, and one with scales, of one block and of two.
_SINGLE = ("create_tcgen05_mma", "create_tcgen05_mma_scaled")
_PAIR = ("create_tlx_pair_dot", "create_tlx_pair_dot_scaled")
_PAIR_STEP = 32


def product(
    A: Any,
    B: Any,
    acc: buffered_tensor,
    use_acc: Any,
    pred: Any,
    mBarriers: Any,
    two_ctas: Any,
    force_async: Any,
    input_precision: Any,
    semantic: Any,
) -> buffered_tensor:
    """Do what :func:`async_dot` says for an accumulator in tensor memory.

    Raises:
        UserError: The hardware has no such product.
    """
    name = "async_dot"
    left = require_buffer(name, "A", A, slots=False, storage=None).type
    right = require_buffer(name, "B", B, slots=False).type
    total = require_buffer(name, "acc", acc, slots=False, storage=storage_kind.tmem).type
    _check_types(name, left.element_ty, right.element_ty, total)
    pair = choice(name, "two_ctas", two_ctas, (False, True))
    columns, sums = right.shape, total.shape
    if pair:
        sums = _pair_sums(name, left, total)
        _check_pair(name, left, right, sums, semantic)
        columns = [right.shape[0], 2 * right.shape[1]]
    _check_sizes(name, left.shape, columns, sums, _K_BITS // left.element_ty.primitive_bitwidth, pair=pair)
    for argument, kind, transposed in (("A", left, False), ("B", right, True)):
        _check_layout(name, argument, kind, transposed, kind.element_ty in _EITHER_MAJOR)
    if total.layout.col_stride != 32 // total.element_ty.primitive_bitwidth:
        raise refuse(
            name,
            "products write one element into each column of 32 bits",
            "acc",
            expected=f"a TensorMemoryLayout with col_stride={32 // total.element_ty.primitive_bitwidth}",
            found=total.layout,
            hint="pass the layout to tlx.local_alloc",
        )
    exact = () if left.element_ty == tl.float32 else ("ieee",)
    choice(name, "input_precision", input_precision, (None, "tf32", *exact))
    operands = [A.handle, B.handle, acc.handle]
    create = _PAIR if pair else _SINGLE
    start(name, create[0], operands, use_acc, pred, mBarriers, pair, force_async, semantic)
    return acc


def _pair_sums(name: str, left: buffered_tensor_type, total: buffered_tensor_type) -> list[int]:
    """Return the rows and columns of what each of two blocks adds up.

    Raises:
        UserError: The accumulator does not lie as the hardware has it.
    """
    if left.shape[:1] != [_FOLDED_ROWS]:
        return list(total.shape)
    if total.shape[:1] != [_LANES]:
        raise refuse(
            name,
            "the sums of 64 rows in each of two blocks lie in two halves of the lanes",
            "acc",
            expected=f"({_LANES}, N / 2), whose rows from 64 on are the right half",
            found=tuple(total.shape),
            hint="put what is loaded together by .reshape(2, 64, N // 2).permute(1, 0, 2).reshape(64, N)",
        )
    if left.storage is not storage_kind.smem:
        raise refuse(
            name,
            "products of 64 rows in each of two blocks read shared memory",
            "A",
            expected="a buffer in shared memory",
            found=left,
        )
    return [_FOLDED_ROWS, 2 * total.shape[1]]


def _check_pair(
    name: str, left: buffered_tensor_type, right: buffered_tensor_type, sums: list[int], semantic: Any
) -> None:
    """Refuse operands that two blocks do not share as the hardware has it."""
    remote_blocks(name, semantic)
    if len(right.shape) != 2 or len(sums) != 2 or 2 * right.shape[1] != sums[1]:
        raise refuse(
            name,
            "each block of a pair has half of the columns of B",
            "B",
            expected=f"K x {sums[-1] // 2}, for sums of {tuple(sums)}",
            found=tuple(right.shape),
        )
    for argument, kind in (("A", left), ("B", right)):
        if isinstance(kind.layout, NVMMASharedLayout) and not kind.layout.swizzle_byte_width:
            raise refuse(
                name, "products of two blocks read swizzled operands", argument, expected="a swizzle", found=kind.layout
            )


def start(
    name: str,
    create: str,
    operands: list[Any],
    use_acc: Any,
    pred: Any,
    mBarriers: Any,
    pair: bool,
    force_async: Any,
    semantic: Any,
) -> None:
    """Build a product with what all of them take.

    Raises:
        UserError: An argument is of the wrong kind or not supported.
    """
    given = constant(mBarriers)
    single = isinstance(given, tl.core.base_value) and not isinstance(given, tl.tuple)
    if given is not None and (single or not isinstance(given, Iterable)):
        found = f"a value of type {given.type}" if single else repr(given)
        raise refuse(name, "an argument is not a list of barriers", "mBarriers", expected="such as [bar]", found=found)
    barriers = [require_barrier(name, "mBarriers", item) for item in given or ()]
    for barrier in barriers:
        if barrier.type.per_thread:
            hint = "use a barrier of tlx.alloc_barriers"
            raise refuse(name, "a product arrives once", "mBarriers", expected="mbarrier", found=barrier, hint=hint)
    asynchronous = choice(name, "force_async", force_async, (False, True))
    flags = [predicate(name, constant(use_acc), semantic, "use_acc"), predicate(name, pred, semantic)]
    if pair:
        if not barriers and not asynchronous:
            raise refuse(
                name,
                "the other block cannot be told when a product that this one waits for is over",
                "mBarriers",
                expected="barriers, or force_async=True and tlx.tcgen05_commit",
                found="none",
            )
        getattr(semantic.builder, create)([*operands, *flags, *(barrier.handle for barrier in barriers)])
        return
    always = [predicate(name, None, semantic)] * len(barriers)
    builder = typed_builder(semantic)
    getattr(builder, create)(*operands, *flags, [barrier.handle for barrier in barriers], always, False, False)
    if asynchronous and not barriers:
        # The stock builder makes a product without barriers one that is waited for.
        semantic.builder.create_tlx_untrack_mma([semantic.builder.get_int32(0)])


def _check_types(name: str, left: tl.dtype, right: tl.dtype, total: buffered_tensor_type) -> None:
    if left not in _ACCUMULATORS:
        expected = ", ".join(map(str, _ACCUMULATORS))
        raise refuse(name, "the tensor cores do not take this type", "A", expected=expected, found=left)
    if left != right and not (left.is_fp8() and right.is_fp8()):
        raise refuse(name, "the types of the operands differ", "B", expected=left, found=right)
    if total.element_ty not in _ACCUMULATORS[left] or isinstance(total.layout, TensorMemoryScalesLayout):
        expected = " or ".join(map(str, _ACCUMULATORS[left]))
        raise refuse(name, f"no product of {left} has this type", "acc", expected=expected, found=total.element_ty)


def _check_sizes(
    name: str,
    a: list[int],
    b: list[int],
    total: list[int],
    k_step: int,
    scaled: tuple[int, int] | None = None,
    pair: bool = False,
) -> None:
    """Check the sizes of operands; those with scales have so many elements in one of their type along K."""
    packed = scaled or (1, 1)
    if len(a) != 2 or len(b) != 2:
        found = f"{tuple(a)} and {tuple(b)}"
        raise refuse(name, "the operands are not matrices", expected="shapes (M, K) and (K, N)", found=found)
    (m, k), (other, n) = (a[0], a[1] * packed[0]), (b[0] * packed[1], b[1])
    if k != other:
        raise refuse(name, "the inner sizes differ", "B", expected=f"{k} x N", found=f"{other} x {n}")
    if total != [m, n]:
        raise refuse(name, "the accumulator has another shape", "acc", expected=(m, n), found=tuple(total))
    rows = _ROWS if scaled is None else (_SCALED_ROWS,)
    if m not in rows:
        expected = " or ".join(map(str, rows))
        raise refuse(name, "the tensor cores have no such M", "A", expected=expected, found=m)
    step = _PAIR_STEP if pair else 16 if m == 128 else 8
    if n % step or not step <= n <= 256:
        raise refuse(name, "the tensor cores have no such N", "B", expected=f"a multiple of {step} up to 256", found=n)
    if k % k_step:
        raise refuse(name, "the tensor cores have no such K", "A", expected=f"a multiple of {k_step}", found=k)


def _check_layout(name: str, argument: str, kind: buffered_tensor_type, transposed: bool, either: bool) -> None:
    if argument == "A" and kind.storage is storage_kind.tmem:
        if isinstance(kind.layout, TensorMemoryScalesLayout) or kind.layout.col_stride != 1:
            expected = "a TensorMemoryLayout with col_stride=1"
            raise refuse(name, "products read packed elements", argument, expected=expected, found=kind.layout)
        return
    if not isinstance(kind.layout, NVMMASharedLayout):
        raise refuse(
            name,
            "the buffer has no layout that MMA reads",
            argument,
            expected="an NVMMASharedLayout",
            found=kind.layout,
            hint="leave out the layout of tlx.local_alloc, and make each row at least 32 bytes",
        )
    if not either and kind.layout.transposed != transposed:
        raise refuse(
            name,
            f"the tensor cores read {kind.element_ty} with K contiguous only",
            argument,
            expected="K as the contiguous dimension of the buffer",
            found="the other dimension",
            hint=f"allocate it as {'(M, K)' if argument == 'A' else '(N, K)'} and pass "
            + ("it as it is" if argument == "A" else "tlx.local_trans of it"),
        )


@op(targets=BLACKWELL)
def async_dot_scaled(
    A: Any,
    B: Any,
    acc: Any,
    A_scale: Any,
    A_format: Any,
    B_scale: Any,
    B_format: Any,
    use_acc: Any = None,
    pred: Any = None,
    mBarriers: Any = (),
    two_ctas: Any = False,
    force_async: Any = False,
    out_dtype: Any = tl.float32,
    _semantic: Any = None,
) -> buffered_tensor:
    """Start ``acc = (A * A_scale) @ (B * B_scale) + acc`` on the tensor cores, each 32 elements along K with one scale.

    Scales are powers of two in the format e8m0: the byte ``x`` stands for ``2 ** (x - 127)``.

    Args:
        A: One slot of shape (128, K), or (128, K / 2) with two elements of e2m1 in a byte.
        B: One slot of shape (K, N), or (K / 2, N) with two elements of e2m1 in a byte; K contiguous.
        acc: One slot in tensor memory, of shape (128, N) and ``tl.float32``.
        A_scale: One slot of ``tl.uint8`` in tensor memory, of shape (128, K / 32), or in shared memory, in the order
            that :func:`tmem_copy` reads.
        A_format: ``"e4m3"``, ``"e5m2"`` or ``"e2m1"``. Where it is e2m1 and the other format is not, the buffer has a
            layout with ``fp4_padded=True``.
        B_scale: As ``A_scale``, for N rows.
        B_format: As ``A_format``.
        use_acc: As of :func:`async_dot`.
        pred: As of :func:`async_dot`.
        mBarriers: As of :func:`async_dot`.
        two_ctas: As of :func:`async_dot`: both blocks call this with 128 rows of ``A`` and their scales, half of the
            columns of ``B``, but the scales of all N columns. Scales in shared memory are copied in both blocks.
        force_async: As of :func:`async_dot`.
        out_dtype: Only ``tl.float32``.

    Returns:
        ``acc``.

    Raises:
        UserError: The hardware has no such product.

    Source: PTX ISA, tcgen05.mma with ``.block_scale``; OCP Microscaling Formats 1.0.
    """
    name = "async_dot_scaled"
    left = require_buffer(name, "A", A, slots=False).type
    right = require_buffer(name, "B", B, slots=False).type
    total = require_buffer(name, "acc", acc, slots=False, storage=storage_kind.tmem).type
    choice(name, "out_dtype", out_dtype, (tl.float32,))
    pair = choice(name, "two_ctas", two_ctas, (False, True))
    columns = right.shape
    if pair:
        _check_pair(name, left, right, list(total.shape), _semantic)
        columns = [right.shape[0], 2 * right.shape[1]]
    formats = [
        choice(name, f"{letter}_format", value, tuple(_FORMATS)) for letter, value in (("A", A_format), ("B", B_format))
    ]
    packed = tuple(2 if item == "e2m1" else 1 for item in formats)
    for letter, kind, format_ in (("A", left, formats[0]), ("B", right, formats[1])):
        if kind.element_ty not in _FORMATS[format_]:
            expected = " or ".join(map(str, _FORMATS[format_]))
            raise refuse(
                name, f"elements of {format_} have another type", letter, expected=expected, found=kind.element_ty
            )
        _check_layout(name, letter, kind, letter == "B", either=False)
        padded = format_ == "e2m1" and formats[0] != formats[1]
        if kind.layout.fp4_padded != padded:
            raise refuse(
                name,
                f"elements of {format_} lie otherwise beside those of {formats[letter == 'A']}",
                letter,
                expected=f"an NVMMASharedLayout with fp4_padded={padded}",
                found=kind.layout,
                hint="pass the layout to tlx.local_alloc",
            )
    if total.element_ty != tl.float32:
        raise refuse(name, "scaled products have another type", "acc", expected=tl.float32, found=total.element_ty)
    _check_sizes(name, left.shape, columns, total.shape, 64 if packed == (2, 2) else 32, packed, pair)
    k = left.shape[1] * packed[0]
    scales = [
        _scales(name, argument, value, [rows, k // _SCALE_BLOCK], pair, _semantic)
        for argument, value, rows in (("A_scale", A_scale, left.shape[0]), ("B_scale", B_scale, columns[1]))
    ]
    if pair:
        kinds = [_semantic.builder.get_int32(list(_FORMATS).index(item)) for item in formats]
    else:
        kinds = [_semantic._str_to_fp_type(item) for item in formats]
    operands = [A.handle, B.handle, acc.handle, *scales, *kinds]
    create = _PAIR if pair else _SINGLE
    start(name, create[1], operands, use_acc, pred, mBarriers, pair, force_async, _semantic)
    return acc


def _scales(name: str, argument: str, value: Any, shape: list[int], pair: bool, semantic: Any) -> Any:
    """Return the handle of scales in tensor memory, those in shared memory copied there, of two blocks in both.

    Raises:
        UserError: They are none, or of another shape.
    """
    kind = require_buffer(name, argument, value, slots=False, storage=None).type
    if kind.element_ty not in _SCALES:
        raise refuse(name, "scales are bytes", argument, expected="tl.uint8", found=kind.element_ty)
    if kind.storage is storage_kind.tmem:
        if kind.shape != shape:
            raise refuse(
                name, "the scales have another shape", argument, expected=tuple(shape), found=tuple(kind.shape)
            )
        return value.handle
    layout = TensorMemoryScalesLayout()
    builder = typed_builder(semantic)
    source = tmem.scales_view(name, argument, value, shape, builder)
    type_ = builder.get_tensor_mem_desc_ty(kind.element_ty.to_ir(builder), shape, layout._to_ir(builder), shape)
    handle = builder.create_tmem_alloc(type_, None)
    # Copies and products of one task come in order, so the next ones may use the same columns.
    tmem.start_copy(source, handle, pair, semantic)
    return handle


@op(targets=BLACKWELL)
def tcgen05_commit(mBarrier: Any, two_ctas: Any = False, _semantic: Any = None) -> None:
    """Arrive once at a barrier when all products and copies to tensor memory that this task has started are over.

    Give it another barrier than those of :func:`async_dot`, which arrives too.

    Args:
        mBarrier: The barrier.
        two_ctas: Whether the products are those of two blocks. Both call this, and their barriers at this place are
            arrived at when the products that the block of even rank started are over.

    Raises:
        UserError: An argument is of the wrong kind or not supported.

    Source: PTX ISA, tcgen05.commit.
    """
    name = "tcgen05_commit"
    barrier = require_barrier(name, "mBarrier", mBarrier)
    if barrier.type.per_thread:
        hint = "use a barrier of tlx.alloc_barriers"
        raise refuse(name, "a commit arrives once", "mBarrier", expected="mbarrier", found=barrier, hint=hint)
    if choice(name, "two_ctas", two_ctas, (False, True)):
        remote_blocks(name, _semantic)
        _semantic.builder.create_tlx_pair_commit([barrier.handle, predicate(name, None, _semantic)])
        return
    typed_builder(_semantic).create_tcgen05_commit(barrier.handle, predicate(name, None, _semantic), [])
