"""Triton's interpreter, opened for simulators: another memory, another control flow, exact arithmetic of bfloat16.

The interpreter runs the front end's semantics on a builder whose values are NumPy arrays. Here that builder reads and
writes a memory it is given instead of addresses of the process, and what it cannot do is an error of the caller.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

__all__ = [
    "PAD_NAN",
    "SEMANTIC",
    "Builder",
    "Comparison",
    "Semantics",
    "TensorHandle",
    "Transformer",
    "bfloat16_bits",
    "float8_bits",
    "interpret_exactly",
    "interpreted",
    "numpy_dtype",
    "round_to_tf32",
    "scalar",
    "widen",
]

TensorHandle = interpreter.TensorHandle
Transformer = interpreter.ASTTransformer
Comparison = interpreter._InterpreterComparison
Semantics = TritonSemantic
numpy_dtype = interpreter._get_np_dtype
PAD_NAN = ir.PADDING_OPTION.PAD_NAN
SEMANTIC = interpreter.interpreter_semantic

# PTX of one instruction on 32-bit floats, which is computed as exactly as they hold: PTX ISA, floating-point
# instructions.
_INSTRUCTIONS = {
    f"{name}{mode}.f32 $0, $1": function
    for name, function in (
        ("cos.approx", np.cos),
        ("ex2.approx", np.exp2),
        ("lg2.approx", np.log2),
        ("rcp.approx", np.reciprocal),
        ("rsqrt.approx", lambda x: np.reciprocal(np.sqrt(x))),
        ("sin.approx", np.sin),
        ("sqrt.approx", np.sqrt),
        ("tanh.approx", np.tanh),
    )
    for mode in (("",) if name == "tanh.approx" else ("", ".ftz"))
}
_KNOWN_COMBINERS = (
    "_argmax_combine_tie_break_fast",
    "_argmax_combine_tie_break_left",
    "_argmin_combine_tie_break_fast",
    "_argmin_combine_tie_break_left",
    "_elementwise_max",
    "_elementwise_min",
    "_prod_combine",
    "_sum_combine",
)
# Patches of triton.language are global, so one simulation runs at a time.
_lock = threading.RLock()


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """Round 32-bit floats to bfloat16, to nearest even, and return the bits as ``uint16``."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    # Rounding a NaN could carry it to infinity.
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16).reshape(np.shape(values))


@functools.cache
def _float8_values(dtype: tl.dtype) -> np.ndarray:
    """Return the value of each of the 256 numbers of an 8-bit format: OCP 8-bit floating point specification."""
    codes = np.arange(256)
    width, bias = dtype.fp_mantissa_width, dtype.exponent_bias
    exponent, mantissa = codes >> width & (1 << 7 - width) - 1, codes & (1 << width) - 1
    values = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias - width), 0.0)
    normal = exponent > 0
    values[normal] = (1 + mantissa[normal] / (1 << width)) * 2.0 ** (exponent[normal] - bias)
    if dtype == tl.float8e5:
        values[exponent == 31] = np.where(mantissa[exponent == 31] == 0, np.inf, np.nan)
    else:
        values[codes & 127 == 127] = np.nan
    return np.where(codes < 128, values, -values).astype(np.float32)


def float8_bits(values: np.ndarray, dtype: tl.dtype) -> np.ndarray:
    """Round to nearest even, and what is too large to the largest number, as the hardware does."""
    numbers = np.asarray(values, np.float64)
    known = _float8_values(dtype)[:128].astype(np.float64)
    known = known[np.isfinite(known)]
    size = np.minimum(np.abs(numbers), known[-1])
    above = np.clip(np.searchsorted(known, size), 1, len(known) - 1)
    below = above - 1
    up, down = known[above] - size, size - known[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    code = np.where(np.isnan(numbers), 127, code) | np.where(np.signbit(numbers), 128, 0)
    return code.astype(np.uint8)


_FLOAT8 = (tl.float8e4nv, tl.float8e5)


def widen(data: np.ndarray, dtype: tl.dtype) -> np.ndarray:
    """Return numbers as NumPy can compute with them: bfloat16 and 8-bit floats as 32-bit floats, others as they are."""
    if dtype == tl.bfloat16:
        return (np.asarray(data, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if dtype in _FLOAT8:
        return _float8_values(dtype)[np.asarray(data, np.uint8)]
    if dtype.is_fp8():
        return interpreter._convert_float(data, dtype, tl.float16, None).view(np.float16).astype(np.float32)
    return data


def round_to_tf32(data: np.ndarray) -> np.ndarray:
    """Round 32-bit floats to the 10 bits of mantissa of TF32."""
    return interpreter._round_f32_to_tf32(data)


def scalar(value: Any, dtype: tl.dtype) -> tl.tensor:
    """Return a scalar of a kernel."""
    return tl.tensor(TensorHandle(np.array([value], dtype=numpy_dtype(dtype)), dtype), dtype)


class _Results:
    """What stands for an operation with results."""

    def __init__(self, results: tuple[TensorHandle, ...]) -> None:
        self._results = results

    def get_result(self, index: int) -> TensorHandle:
        return self._results[index]


class Builder(interpreter.InterpreterBuilder):
    """Builder of a simulated kernel.

    Args:
        memory: Has ``load(addresses, mask, other, dtype)`` and ``store(addresses, values, mask)`` of NumPy arrays, and
            ``update(addresses, mask, dtype, function)`` that replaces elements one after another by
            ``function(index, old)`` and returns the old ones.
        unsupported: Makes the error for an operation, by its name, that cannot be simulated.
    """

    def __init__(self, memory: Any, unsupported: Callable[[str], Exception]) -> None:
        super().__init__()
        self.memory = memory
        self.unsupported = unsupported
        self.grid_idx = (0, 0, 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("create_"):
            raise self.unsupported(name.removeprefix("create_"))
        raise AttributeError(name)

    def create_masked_load(self, ptrs, mask, other, cache_policy, is_volatile):
        element = ptrs.get_element_ty()
        fill = None if other is None else other.data
        return TensorHandle(self.memory.load(ptrs.data, mask.data, fill, numpy_dtype(element)), element)

    def create_masked_store(self, ptrs, value, mask, cache_policy):
        data = np.asarray(value.data).astype(numpy_dtype(ptrs.get_element_ty()), copy=False)
        self.memory.store(ptrs.data, data, mask.data)

    def create_atomic_cas(self, ptr, cmp, val, sem, scope):
        element = ptr.get_element_ty()
        dtype = numpy_dtype(element)
        shape = np.shape(ptr.data)
        expected = np.broadcast_to(cmp.data, shape).reshape(-1)
        new = np.broadcast_to(val.data, shape).reshape(-1)
        old = self.memory.update(
            ptr.data, np.ones(shape, bool), dtype, lambda i, was: new[i] if was == expected[i] else was
        )
        return TensorHandle(old, element)

    def create_atomic_rmw(self, rmwOp, ptr, val, mask, sem, scope):
        element = ptr.get_element_ty()
        shape = np.shape(ptr.data)
        values = np.broadcast_to(widen(val.data, element), shape).reshape(-1)
        narrow = bfloat16_bits if element == tl.bfloat16 else None
        combine = _COMBINE.get(str(rmwOp).rpartition(".")[2])
        if combine is None or element.is_fp8():
            raise self.unsupported(f"atomic_rmw {rmwOp} of {element}")

        def replace(i: int, was: Any) -> Any:
            result = combine(widen(np.asarray(was), element), values[i])
            return narrow(result) if narrow else result

        old = self.memory.update(ptr.data, np.broadcast_to(mask.data, shape), numpy_dtype(element), replace)
        return TensorHandle(old, element)

    def create_atomic_poll(self, ptr, expected, timeout_ns, sem, scope):
        raise self.unsupported("atomic_poll")

    def create_inline_asm(self, inlineAsm, constraints, values, type, isPure, pack):
        function = _INSTRUCTIONS.get(" ".join(inlineAsm.split()).removesuffix(";"))
        if function is None or constraints.replace(" ", "") != "=f,f" or pack != 1:
            raise self.unsupported(f"inline_asm_elementwise of {inlineAsm.strip()!r}")
        (value,) = values
        if value.dtype.scalar != tl.float32:
            raise self.unsupported(f"inline_asm_elementwise of {inlineAsm.strip()!r} on {value.dtype.scalar}")
        return _Results((TensorHandle(function(value.data).astype(np.float32), tl.float32),))

    def create_extern_elementwise(self, libName, libPath, symbol, argList, retType, isPure):
        raise self.unsupported(f"extern_elementwise {symbol}")

    def cast_impl(self, src, dst_type):
        source, target = src.dtype.scalar, dst_type.scalar
        if target == tl.bfloat16 and source != tl.bfloat16:
            return TensorHandle(bfloat16_bits(src.data.astype(np.float32)), target)
        if source == tl.bfloat16 and target != tl.bfloat16:
            return TensorHandle(widen(src.data, source).astype(numpy_dtype(target)), target)
        return super().cast_impl(src, dst_type)

    def create_fp_to_fp(self, src, dst_type, rounding_mode):
        source, target = src.dtype.scalar, dst_type.scalar
        if rounding_mode == ir.ROUNDING_MODE.RTZ:
            return super().create_fp_to_fp(src, dst_type, rounding_mode)
        if target in _FLOAT8:
            return TensorHandle(float8_bits(widen(src.data, source), target), target)
        if source in _FLOAT8:
            wide = TensorHandle(widen(src.data, source), tl.float32)
            return wide if target == tl.float32 else self.cast_impl(wide, dst_type)
        if not source.is_fp8() and not target.is_fp8():
            return self.cast_impl(src, dst_type)
        return super().create_fp_to_fp(src, dst_type, rounding_mode)

    def binary_op(self, lhs, rhs, op):
        kind = lhs.dtype.scalar
        if not kind.is_ptr() and kind.is_fp8():
            raise self.unsupported(f"{op.__name__} of {kind}")
        if kind != tl.bfloat16:
            result = super().binary_op(lhs, rhs, op)
            # The interpreter leaves the type of the operands on a comparison, and a splat converts to that.
            return TensorHandle(result.data, tl.int1) if result.data.dtype == np.bool_ else result
        output = op(widen(lhs.data, kind), widen(rhs.data, kind))
        if output.dtype == np.bool_:
            return TensorHandle(output, tl.int1)
        return TensorHandle(bfloat16_bits(output), kind)

    def unary_op(self, arg, op):
        kind = arg.dtype.scalar
        if kind == tl.bfloat16:
            return TensorHandle(bfloat16_bits(op(widen(arg.data, kind))), kind)
        return super().unary_op(arg, op)

    def ternary_op(self, lhs, rhs, other, op):
        kind = other.dtype.scalar
        if kind == tl.bfloat16 and op is not np.where:
            return TensorHandle(bfloat16_bits(op(*(widen(value.data, kind) for value in (lhs, rhs, other)))), kind)
        return super().ternary_op(lhs, rhs, other, op)

    def create_fma(self, x, y, z):
        if z.dtype.scalar == tl.bfloat16:
            return self.ternary_op(x, y, z, lambda a, b, c: a * b + c)
        return super().create_fma(x, y, z)

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        left, right = widen(a.data, a.dtype.scalar), widen(b.data, b.dtype.scalar)
        total = np.float32 if d.dtype.scalar in (tl.float16, tl.bfloat16) else d.data.dtype
        product = np.matmul(left.astype(total), right.astype(total)) + widen(d.data, d.dtype.scalar)
        if d.dtype.scalar == tl.bfloat16:
            return TensorHandle(bfloat16_bits(product), tl.bfloat16)
        return TensorHandle(product.astype(d.data.dtype), d.dtype.scalar)


class _Exact(Builder):
    """The builder above on the memory of this process."""

    def __init__(self) -> None:
        super().__init__(None, lambda name: NotImplementedError(name))

    create_masked_load = interpreter.InterpreterBuilder.create_masked_load
    create_masked_store = interpreter.InterpreterBuilder.create_masked_store
    create_atomic_rmw = interpreter.InterpreterBuilder.create_atomic_rmw
    create_atomic_cas = interpreter.InterpreterBuilder.create_atomic_cas


def interpret_exactly() -> None:
    """Make launches under ``TRITON_INTERPRET`` compute exactly in bfloat16 and 8-bit floats, from now on."""
    interpreter.interpreter_builder = _Exact()
    interpreter.interpreter_semantic = TritonSemantic(interpreter.interpreter_builder)


_COMBINE = {
    "ADD": np.add,
    "FADD": np.add,
    "MIN": np.minimum,
    "UMIN": np.minimum,
    "MAX": np.maximum,
    "UMAX": np.maximum,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "XCHG": lambda old, new: new,
}


class _Scope:
    """Attributes that are to be put back; Triton's own scope leaves inherited ones behind as those of the heir."""

    def __init__(self) -> None:
        self._changes: list[tuple[Any, str, Any]] = []

    def set_attr(self, owner: Any, name: str, value: Any) -> None:
        self._changes.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def restore(self) -> None:
        while self._changes:
            owner, name, original = self._changes.pop()
            if original is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


_MISSING = object()


@contextlib.contextmanager
def interpreted(builder: Builder, function: Callable[[Any], Callable[..., Any]]) -> Iterator[TritonSemantic]:
    """Let ``triton.language`` compute with NumPy on ``builder`` until the end of the block.

    Args:
        builder: Builder of all values.
        function: Returns for a ``@triton.jit`` function what runs it; for the functions that reductions combine with.
    """

    def combiner(given: Any) -> Any:
        known = any(given is getattr(tl.standard, name, None) for name in _KNOWN_COMBINERS)
        return given if known else types.SimpleNamespace(fn=function(given))

    def constant(value: Any) -> Any:
        return value.value if isinstance(value, tl.constexpr) else value

    def checked(values: Any) -> Any:
        for value in values if isinstance(values, tuple) else (values,):
            if value.dtype.scalar == tl.bfloat16 or value.dtype.scalar.is_fp8():
                raise builder.unsupported(f"reduce or associative_scan of {value.dtype.scalar}")
        return values

    def reduce(input, axis, combine_fn, keep_dims=False, **_):
        run = interpreter.ReduceOps(constant(axis), combiner(combine_fn), constant(keep_dims))
        return run.apply(checked(input))

    def associative_scan(input, axis, combine_fn, reverse=False, **_):
        return interpreter.ScanOps(constant(axis), combiner(combine_fn), constant(reverse)).apply(checked(input))

    def steps(start, stop=None, step=1, **_):
        first, last = (0, start) if stop is None else (start, stop)
        return (scalar(i, tl.int32) for i in range(int(first), int(last), int(step)))

    semantic = TritonSemantic(builder)
    with _lock:
        scope = _Scope()
        try:
            scope.set_attr(interpreter, "interpreter_builder", builder)
            scope.set_attr(interpreter, "interpreter_semantic", semantic)
            for owner in (tl, tl.core, tl.tensor, tl.math, tl.core.tensor_descriptor_base):
                interpreter._patch_builtin(owner, builder, scope)
            interpreter._patch_lang_tensor(tl.tensor, scope)
            for owner in (tl, tl.core):
                interpreter._patch_lang_core(owner, scope)
                scope.set_attr(owner, "reduce", reduce)
                scope.set_attr(owner, "associative_scan", associative_scan)
                scope.set_attr(owner, "range", steps)
            yield semantic
        finally:
            scope.restore()
