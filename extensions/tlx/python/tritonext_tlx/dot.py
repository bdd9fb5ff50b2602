"""Matrix products that the tensor cores compute while the kernel goes on."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import NVMMASharedLayout
from triton.language.core import base_value

from tritonext.language import typed_builder

from . import mma5
from ._arguments import choice, predicate, unsupported
from .definition import BLACKWELL, HOPPER, constant, integer, op, refuse, target_of, tensor
from .memory import local_load
from .tasks import warps_here
from .types import buffered_tensor, require_buffer, storage_kind

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


@op(
    values={
        "pred": ("other than None", BLACKWELL),
        "mBarriers": ("other than none", BLACKWELL),
        "two_ctas": ("True", BLACKWELL),
    }
)
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
) -> tl.tensor | buffered_tensor:
    """Start ``A @ B + acc`` on the tensor cores, and return the accumulator it will write.

    Where the accumulator is a tensor, wait with :func:`async_dot_wait` before anything else uses it, and before a slot
    that is read is written again. On Hopper the product goes on meanwhile (``wgmma``); on other targets, whose products
    of registers do not, it is that of ``tl.dot``, over when the call returns.

    Where the accumulator is in tensor memory, which Blackwell has (``tcgen05.mma``), the product arrives at
    ``mBarriers`` when it is over: wait for one of them before anything else uses the accumulator or writes operands.
    Without barriers the call waits itself, unless ``force_async`` leaves that to :func:`tcgen05_commit`. Products that
    one task starts on one accumulator come in order.

    Args:
        A: One slot of shape M x K, or a tensor in registers where the accumulator is one; M a multiple of 64. For an
            accumulator in tensor memory M is 64 or 128, and the slot may be in tensor memory.
        B: One slot of shape K x N; N a multiple of 8.
        acc: The accumulator of shape M x N: a tensor, one slot in tensor memory, or None for a tensor of zeros.
        use_acc: Whether to add ``acc``; a scalar or a constant.
        pred: Condition; does nothing when false. For accumulators in tensor memory.
        mBarriers: Barriers to arrive at, once each. For accumulators in tensor memory.
        two_ctas: Whether this is one product of two blocks of a cluster, those whose ranks differ in the last bit, for
            accumulators in tensor memory. Both call this with 128 rows of ``A``, half of the columns of ``B``, which
            then has the shape (K, N / 2), N a multiple of 32, and their rows of ``acc``. The one of even rank starts
            the product, so it waits for the operands of both before, and its ``pred`` and ``use_acc`` count. The
            barriers of both are arrived at. What :func:`local_store` wrote needs :func:`fence_async_shared` before.
            With 64 rows of ``A``, in shared memory, ``acc`` has the shape (128, N / 2): row ``r`` is the left half of
            row ``r`` of the sum, and row ``64 + r`` its right half.
        force_async: Whether the call does not wait although it has no barriers. A product that writes registers never
            waits for itself where it can go on.
        input_precision: ``"tf32"`` for operands of 32-bit floats.
        out_dtype: Type of the accumulator when ``acc`` is None.

    Raises:
        UserError: The hardware has no such product.

    Source: PTX ISA, wgmma.mma_async and tcgen05.mma.
    """
    name = "async_dot"
    accumulator = constant(acc)
    if isinstance(accumulator, buffered_tensor) and accumulator.type.storage is storage_kind.tmem:
        return mma5.product(
            A, B, accumulator, use_acc, pred, mBarriers, two_ctas, force_async, input_precision, _semantic
        )
    target = target_of(_semantic)
    _check_unused(name, target, pred, mBarriers, two_ctas)
    choice(name, "force_async", force_async, (False, True))
    # Those that read slots as they are.
    direct = target in (*HOPPER, *BLACKWELL)
    if isinstance(A, buffered_tensor):
        left = require_buffer(name, "A", A, slots=False).type
        dtype, shape_a = left.element_ty, left.shape
    else:
        left, value = None, tensor(name, "A", A)
        dtype, shape_a = value.dtype, [int(size) for size in value.shape]
    right = require_buffer(name, "B", B, slots=False).type
    if direct:
        for argument, kind in (("A", left), ("B", right)):
            if kind is not None:
                _check_layout(name, argument, kind)
    shape = _check_operands(name, dtype, shape_a, right.element_ty, right.shape)
    if direct:
        _check_warps(name, _semantic)
        if target in BLACKWELL and shape[1] % 16:
            raise refuse(name, "the tensor cores have no such N", "B", expected="a multiple of 16", found=shape[1])
        if dtype.primitive_bitwidth != 16:
            _check_major(name, A, B, dtype)

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
    precision = _precision(name, input_precision, dtype)
    if not direct:
        return _synchronous(A, B, accumulator, constant(use_acc), precision, _semantic)

    operands = [A.handle, B.handle, accumulator.handle]
    flag = constant(use_acc)
    if flag is not None:
        operands.append(predicate(name, flag, _semantic, "use_acc"))
    handle = _semantic.builder.create_tlx_async_dot(operands)
    builder = typed_builder(_semantic)
    handle.set_attr("inputPrecision", builder.get_string_attr(precision))
    if dtype.is_fp8():
        # Not cut to K: at a limit that K reaches, stock Triton adds partial sums to the accumulator, used or not.
        limit = _semantic.builder.options.max_num_imprecise_acc_default
        handle.set_attr("maxNumImpreciseAcc", builder.get_int32_attr(limit))
    return tl.tensor(handle, accumulator.type)


def _check_unused(name: str, target: str, pred: Any, mBarriers: Any, two_ctas: Any) -> None:
    """Refuse what products of registers have not."""
    hopper = target in HOPPER
    other = "this is for an accumulator in tensor memory"
    hint = "warp-group MMA has no predicate; put the product into an if statement" if hopper else other
    unsupported(name, "pred", pred, None, hint=hint)
    hint = "warp-group MMA signals no barrier; arrive at it behind tlx.async_dot_wait" if hopper else other
    given = constant(mBarriers)
    empty = given is None or (isinstance(given, tuple | list | tl.tuple) and not len(given))
    unsupported(name, "mBarriers", () if empty else given, (), hint=hint)
    hint = "warp-group MMA belongs to one block; pairs are of Blackwell" if hopper else None
    unsupported(name, "two_ctas", two_ctas, False, hint=hint)


def _synchronous(A: Any, B: Any, acc: tl.tensor, use_acc: Any, precision: str, semantic: Any) -> tl.tensor:
    """Return the product where none of registers goes on: that of the language, of the same operands."""
    left, right = (
        local_load(item, _semantic=semantic) if isinstance(item, buffered_tensor) else item for item in (A, B)
    )
    if use_acc is not None:
        flag = tl.tensor(predicate("async_dot", use_acc, semantic, "use_acc"), tl.int1)
        acc = semantic.where(flag, acc, semantic.full(acc.shape, 0, acc.dtype))
    # More precision than asked for where the hardware has no less.
    allowed = semantic.builder.options.allowed_dot_input_precisions
    precision = precision if precision in allowed else "ieee"
    return tl.dot(left, right, acc, input_precision=precision, out_dtype=acc.dtype, _semantic=semantic)


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


def _check_operands(name: str, dtype: tl.dtype, shape_a: list[int], other: tl.dtype, shape_b: list[int]) -> list[int]:
    """Check types and sizes, and return the shape of the accumulator."""
    if dtype.is_ptr() or dtype not in _ACCUMULATORS:
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
    return [m, n]


def _check_warps(name: str, semantic: Any) -> None:
    warps = warps_here(semantic)
    if warps % 4:
        raise refuse(name, "a warp group has 4 warps", expected="num_warps a multiple of 4", found=warps)


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
        if isinstance(asked, base_value) or asked not in (None, *_PRECISIONS):
            raise refuse(
                name,
                "an argument has an unknown value",
                "input_precision",
                expected=repr(_PRECISIONS),
                found=repr(asked),
            )
        return "ieee"
    if isinstance(asked, base_value) or asked not in (None, "tf32"):
        raise refuse(
            name,
            "asynchronous products of 32-bit floats round to tf32",
            "input_precision",
            expected="'tf32'",
            found=repr(asked),
            hint="use tl.dot for more precision",
        )
    return "tf32"


@op()
def async_dot_wait(pendings: Any, inp: Any, _semantic: Any = None) -> tl.tensor:
    """Wait until at most ``pendings`` of the products started by this warp group are unfinished.

    Where products of registers are over when they are started, so is everything that this could wait for.

    Args:
        pendings: How many of the newest may go on, a constant.
        inp: The accumulator that :func:`async_dot` returned, a tensor; use the result in its place.

    Raises:
        UserError: An argument is of the wrong kind.
    """
    name = "async_dot_wait"
    count = integer(name, "pendings", pendings, least=0)
    if isinstance(inp, buffered_tensor) and inp.type.storage is storage_kind.tmem:
        hint = "give tlx.async_dot mBarriers and wait for one with tlx.barrier_wait"
        raise refuse(name, "barriers tell of the end of this product", "inp", expected="a tensor", found=inp, hint=hint)
    value = tensor(name, "inp", inp)
    if value.dtype.is_ptr():
        raise refuse(name, "pointers are no accumulator", "inp", expected="a tensor of numbers", found=value.type)
    if target_of(_semantic) not in HOPPER:
        return value
    (handle,) = typed_builder(_semantic).create_warpgroup_mma_wait([value.handle], count)
    return tl.tensor(handle, value.type)
