"""Special registers, votes, and facts about types."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from ._arguments import bounded, choice, predicate
from .definition import ALL, BLACKWELL, NVIDIA, constant, op, refuse, target_of, tensor

__all__ = [
    "clock64",
    "dtype_of",
    "get_fp8_format_name",
    "size_of",
    "stoch_round",
    "thread_id",
    "vote_ballot_sync",
]

# Places in the table of lib/IR/AsyncBuilders.cpp.
_THREAD = {"cuda": 0, "hip": 6}
_CLOCK = {"cuda": 3, "hip": 9}


def read_register(index: int, dtype: tl.dtype, semantic: Any) -> tl.tensor:
    """Return a special register of the target as a scalar."""
    builder = semantic.builder
    return tl.tensor(builder.create_tlx_read_register([builder.get_int32(index)]), dtype)


def _backend(semantic: Any) -> str:
    return target_of(semantic).partition(":")[0]


@op(targets=ALL)
def thread_id(axis: Any = 0, _semantic: Any = None) -> tl.tensor:
    """Return the index of the thread in its block, an int32 that differs between the threads of a scalar program.

    It counts from the first thread of the block in a task too.

    Args:
        axis: 0, 1 or 2, a constant. Triton lays threads along axis 0.

    Raises:
        UserError: There is no such axis.
    """
    index = choice("thread_id", "axis", axis, (0, 1, 2))
    return read_register(_THREAD[_backend(_semantic)] + index, tl.int32, _semantic)


@op(targets=ALL)
def clock64(_semantic: Any = None) -> tl.tensor:
    """Return the cycle counter of the processor that runs the block, an int64, read at this place."""
    return read_register(_CLOCK[_backend(_semantic)], tl.int64, _semantic)


@op(targets=NVIDIA)
def vote_ballot_sync(mask: Any, pred: Any, _semantic: Any = None) -> tl.tensor:
    """Return, to each thread of a warp, for which of its threads a condition holds: an int32 of one bit a thread.

    Args:
        mask: The threads that take part, a constant of one bit a thread; ``0xFFFFFFFF`` for all.
        pred: A scalar condition, which may differ between threads as :func:`thread_id` does.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "vote_ballot_sync"
    bits = bounded(name, "mask", mask, 1, 0xFFFFFFFF)
    condition = predicate(name, pred, _semantic)
    builder = _semantic.builder
    # A signed constant of the same bits.
    threads = builder.get_int32(bits - (bits >> 31 << 32))
    return tl.tensor(builder.create_tlx_vote_ballot([threads, condition]), tl.int32)


@op(targets=ALL)
def dtype_of(v: Any, _semantic: Any = None) -> tl.constexpr:
    """Return the type of the elements of a tensor, pointer, buffer or descriptor, as a constant.

    Raises:
        UserError: The argument has no elements.
    """
    dtype = getattr(v, "dtype", None)
    if not isinstance(dtype, tl.dtype):
        raise refuse("dtype_of", "an argument has no elements", "v", expected="a value", found=type(v).__name__)
    return tl.constexpr(dtype.element_ty if dtype.is_ptr() else dtype)


@op(targets=ALL)
def size_of(dtype: Any, _semantic: Any = None) -> tl.constexpr:
    """Return how many bytes an element of a type has, as a constant.

    Raises:
        UserError: The argument is no type of whole bytes.
    """
    kind = constant(dtype)
    if not isinstance(kind, tl.dtype) or kind.primitive_bitwidth % 8:
        raise refuse("size_of", "an argument is not a type of whole bytes", "dtype", expected="a type", found=kind)
    return tl.constexpr(kind.primitive_bitwidth // 8)


@op(targets=ALL)
def get_fp8_format_name(dtype: Any, _semantic: Any = None) -> tl.constexpr:
    """Return the name that scaled products have for a type of 8-bit floats, ``"e5m2"`` or ``"e4m3"``, as a constant.

    Raises:
        UserError: The argument is another type.
    """
    kind = constant(dtype)
    names = {tl.float8e5: "e5m2", tl.float8e4nv: "e4m3"}
    if not isinstance(kind, tl.dtype) or kind not in names:
        expected = "tl.float8e5 or tl.float8e4nv"
        raise refuse("get_fp8_format_name", "the type has no such name", "dtype", expected=expected, found=kind)
    return tl.constexpr(names[kind])


# PTX ISA, cvt.rs: how many elements one instruction converts, and how many random bits it takes of each.
_STOCHASTIC = {
    tl.float16: ("f16x2", 2),
    tl.bfloat16: ("bf16x2", 2),
    tl.float8e4nv: ("e4m3x4", 4),
    tl.float8e5: ("e5m2x4", 4),
}


@op(targets=BLACKWELL)
def stoch_round(src: Any, dst_ty: Any, rand_bits: Any, _semantic: Any = None) -> tl.tensor:
    """Round 32-bit floats up or down at random, with the odds that make the mean of the results the number.

    Args:
        src: Tensor of 32-bit floats, whose number of elements the threads divide by 2, or by 4 for 8-bit floats.
        dst_ty: ``tl.float16``, ``tl.bfloat16``, ``tl.float8e4nv`` or ``tl.float8e5``.
        rand_bits: Tensor of random 32-bit integers of the same shape, whose low 16 bits are used, or 8 for 8-bit
            floats.

    Raises:
        UserError: Types or shapes are others.
    """
    name = "stoch_round"
    value, bits = tensor(name, "src", src), tensor(name, "rand_bits", rand_bits)
    kind = constant(dst_ty)
    if value.dtype != tl.float32:
        raise refuse(name, "the types of the elements differ", "src", expected="fp32", found=value.dtype)
    if kind not in _STOCHASTIC:
        expected = ", ".join(map(str, _STOCHASTIC))
        raise refuse(name, "the target rounds to no such type", "dst_ty", expected=expected, found=kind)
    if not bits.dtype.is_int() or bits.dtype.primitive_bitwidth != 32:
        raise refuse(name, "the random bits are no tensor of 32-bit integers", "rand_bits", found=bits.dtype)
    if list(value.shape) != list(bits.shape):
        raise refuse(name, "the shapes differ", "rand_bits", expected=tuple(value.shape), found=tuple(bits.shape))
    suffix, pack = _STOCHASTIC[kind]
    # The result comes first; then the numbers, of which the first one is the lowest part of the result.
    numbers = [f"${1 + index}" for index in range(pack)]
    randoms = [f"${1 + pack + index}" for index in range(pack)]
    if pack == 2:
        gather = f"prmt.b32 r, {randoms[0]}, {randoms[1]}, 0x5410;"
        convert = f"cvt.rs.{suffix}.f32 $0, {numbers[1]}, {numbers[0]}, r;"
    else:
        gather = (
            f"prmt.b32 r, {randoms[0]}, {randoms[1]}, 0x0040; prmt.b32 s, {randoms[2]}, {randoms[3]}, 0x0040; "
            "prmt.b32 r, r, s, 0x5410;"
        )
        convert = f"cvt.rs.satfinite.{suffix}.f32 $0, {{{', '.join(reversed(numbers))}}}, r;"
    return tl.inline_asm_elementwise(
        f"{{ .reg .b32 r, s; {gather} {convert} }}",
        "=r," + ",".join(["r"] * (2 * pack)),
        [value, bits],
        kind,
        is_pure=True,
        pack=pack,
        _semantic=_semantic,
    )
