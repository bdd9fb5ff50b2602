"""Matrix products that the tensor cores compute while the kernel goes on."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout

from tritonext.language import typed_builder

from ._arguments import choice, unsupported
from .definition import HOPPER, constant, integer, op, refuse, tensor
from .tasks import warps_here
from .types import buffered_tensor, require_buffer

__all__ = ["async_dot", "async_dot_wait"]

# Types of the accumulator by types of the operands.
_ACCUMULATORS = {
    tl.float16: (tl.float32, tl.float16),
    tl.bfloat16: (tl.float32,),
    tl.float32: (tl.float32,),
    tl.float8e4nv: (tl.float32, tl.float16),
    tl.float8e5: (tl.float32, tl.float16),
    tl.int8: (tl.int32,),
}
# Bits of one operand that one instruction consumes along K.
_K_BITS = 256
_PRECISIONS = ("tf32", "ieee")


@op(targets=HOPPER)
def async_dot(
    A: Any,
    B: Any,
    acc: Any = None,
    use_acc: Any = None,
    pred: Any = None,
    mBarriers: Any = (),
    two_ctas: Any = False,
    force_async: Any = False,
    input_precision: Any = None,
    out_dtype: Any = tl.float32,
    _semantic: Any = None,
) -> tl.tensor:
    """Start ``A @ B + acc`` on the tensor cores of a warp group, and return the accumulator it will write.

    Wait with :func:`async_dot_wait` before anything else uses that, and before a slot that is read is written again.

    Args:
        A: One slot of shape M x K, or a tensor in registers; M a multiple of 64.
        B: One slot of shape K x N; N a multiple of 8.
        acc: The accumulator of shape M x N; zeros when None.
        use_acc: Whether to add ``acc``; a scalar or a constant.
        pred: Only None: warp-group MMA has no predicate.
        mBarriers: Only none: warp-group MMA ends at a wait, and signals no barrier.
        two_ctas: Only False: warp-group MMA belongs to one block.
        force_async: Either value. Products of warp groups never wait by themselves.
        input_precision: ``"tf32"`` for operands of 32-bit floats.
        out_dtype: Type of the accumulator when ``acc`` is None.

    Raises:
        UserError: The hardware has no such product.
    """
    name = "async_dot"
    unsupported(name, "pred", pred, None, hint="warp-group MMA has no predicate; put the product into an if statement")
    unsupported(
        name,
        "mBarriers",
        tuple(constant(mBarriers) or ()),
        (),
        hint="warp-group MMA signals no barrier; arrive at it behind tlx.async_dot_wait",
    )
    unsupported(name, "two_ctas", two_ctas, False, hint="warp-group MMA belongs to one block; pairs are of Blackwell")
    choice(name, "force_async", force_async, (False, True))
    if isinstance(A, buffered_tensor):
        left = require_buffer(name, "A", A, slots=False).type
        _check_layout(name, "A", left)
        dtype, shape_a = left.element_ty, left.shape
    else:
        value = tensor(name, "A", A)
        dtype, shape_a = value.dtype, [int(size) for size in value.shape]
    right = require_buffer(name, "B", B, slots=False).type
    _check_layout(name, "B", right)
    shape = _check_operands(name, dtype, shape_a, right.element_ty, right.shape, _semantic)
    if dtype.primitive_bitwidth != 16:
        _check_major(name, A, B, dtype)

    accumulator = constant(acc)
    if accumulator is None:
        kind = constant(out_dtype)
        _check_accumulator(name, "out_dtype", dtype, kind)
        accumulator = _semantic.full(shape, 0, kind)
    else:
        tensor(name, "acc", accumulator)
        found = [int(size) for size in accumulator.shape]
        if found != shape:
            raise refuse(name, "the accumulator has another shape", "acc", expected=tuple(shape), found=tuple(found))
        _check_accumulator(name, "acc", dtype, accumulator.dtype)

    operands = [A.handle, B.handle, accumulator.handle]
    flag = constant(use_acc)
    if flag is not None:
        operands.append(_semantic.cast(_semantic.to_tensor(flag), tl.int1).handle)
    handle = _semantic.builder.create_tlx_async_dot(operands)
    builder = typed_builder(_semantic)
    handle.set_attr("inputPrecision", builder.get_string_attr(_precision(name, input_precision, dtype)))
    if dtype.is_fp8():
        # Not cut to K: at a limit that K reaches, stock Triton adds partial sums to the accumulator, used or not.
        limit = _semantic.builder.options.max_num_imprecise_acc_default
        handle.set_attr("maxNumImpreciseAcc", builder.get_int32_attr(limit))
    return tl.tensor(handle, accumulator.type)


def _check_layout(name: str, argument: str, kind: Any) -> None:
    if not isinstance(kind.layout, NVMMASharedLayout):
        raise refuse(
            name,
            "the buffer has no layout that MMA reads",
            argument,
            expected="an NVMMASharedLayout",
            found=kind.layout,
            hint="leave out the layout of tlx.local_alloc, and make each row at least 32 bytes",
        )


def _check_operands(
    name: str, dtype: tl.dtype, shape_a: list[int], other: tl.dtype, shape_b: list[int], semantic: Any
) -> list[int]:
    """Check types and sizes, and return the shape of the accumulator."""
    if dtype not in _ACCUMULATORS:
        expected = ", ".join(map(str, _ACCUMULATORS))
        raise refuse(name, "the tensor cores do not take this type", "A", expected=expected, found=dtype)
    if dtype != other and not (dtype.is_fp8() and other.is_fp8()):
        raise refuse(name, "the types of the operands differ", "B", expected=dtype, found=other)
    if len(shape_a) != 2 or len(shape_b) != 2:
        found = f"{tuple(shape_a)} and {tuple(shape_b)}"
        raise refuse(name, "the operands are not matrices", expected="shapes (M, K) and (K, N)", found=found)
    (m, k), (other_k, n) = shape_a, shape_b
    if k != other_k:
        raise refuse(name, "the inner sizes differ", "B", expected=f"{k} x N", found=f"{other_k} x {n}")
    least = _K_BITS // dtype.primitive_bitwidth
    for argument, letter, size, step in (("A", "M", m, 64), ("B", "N", n, 8), ("A", "K", k, least)):
        if size % step:
            raise refuse(
                name, f"the tensor cores have no such {letter}", argument, expected=f"a multiple of {step}", found=size
            )
    warps = warps_here(semantic)
    if warps % 4:
        raise refuse(name, "a warp group has 4 warps", expected="num_warps a multiple of 4", found=warps)
    return [m, n]


def _check_major(name: str, a: Any, b: Any, dtype: tl.dtype) -> None:
    """Operands other than those of 16 bits have K as their contiguous dimension."""
    for argument, value, transposed in (("A", a, False), ("B", b, True)):
        if isinstance(value, buffered_tensor) and value.type.layout.transposed != transposed:
            raise refuse(
                name,
                f"the tensor cores read {dtype} with K contiguous only",
                argument,
                expected="K as the contiguous dimension of the buffer",
                found="the other dimension",
                hint=f"allocate it as {'(M, K)' if argument == 'A' else '(N, K)'} and pass "
                + ("it as it is" if argument == "A" else "tlx.local_trans of it"),
            )


def _check_accumulator(name: str, argument: str, dtype: tl.dtype, found: Any) -> None:
    known = _ACCUMULATORS[dtype]
    if found not in known:
        expected = " or ".join(map(str, known))
        raise refuse(name, f"no product of {dtype} has this type", argument, expected=expected, found=found)


def _precision(name: str, value: Any, dtype: tl.dtype) -> str:
    asked = constant(value)
    if dtype != tl.float32:
        if asked not in (None, *_PRECISIONS):
            raise refuse(
                name,
                "an argument has an unknown value",
                "input_precision",
                expected=repr(_PRECISIONS),
                found=repr(asked),
            )
        return "ieee"
    if asked not in (None, "tf32"):
        raise refuse(
            name,
            "asynchronous products of 32-bit floats round to tf32",
            "input_precision",
            expected="'tf32'",
            found=repr(asked),
            hint="use tl.dot for more precision",
        )
    return "tf32"


@op(targets=HOPPER)
def async_dot_wait(pendings: Any, inp: Any, _semantic: Any = None) -> tl.tensor:
    """Wait until at most ``pendings`` of the products started by this warp group are unfinished.

    Args:
        pendings: How many of the newest may go on, a constant.
        inp: The accumulator that :func:`async_dot` returned; use the result in its place.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "async_dot_wait"
    count = integer(name, "pendings", pendings, least=0)
    value = tensor(name, "inp", inp)
    (handle,) = typed_builder(_semantic).create_warpgroup_mma_wait([value.handle], count)
    return tl.tensor(handle, value.type)
