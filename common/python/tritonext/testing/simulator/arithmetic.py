"""Operations without side effects, on whole tensors: ``arith``, ``math``, and those of ``tt`` that compute or reshape.

Each takes the operation and the arrays of its operands, scalars being arrays without dimensions, and returns the array
of its result, or a tuple of them. Floats are computed in their own type, and narrow ones in 32 bits and rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tritonext.interpret import round_to_tf32
from tritonext.testing.findings import UnsupportedOperation

from .elements import Element
from .module import Operation

__all__ = ["PURE", "compare_floats", "multiply", "result_element"]

Function = Callable[..., Any]

PURE: dict[str, Function] = {}
"""The operations by name."""


def result_element(operation: Operation, index: int = 0) -> Element:
    """Return the element type of a result."""
    of = operation.results[index].type.element
    assert of is not None
    return of


def _operand_element(operation: Operation, index: int = 0) -> Element:
    of = operation.operands[index].type.element
    assert of is not None
    return of


def _operation(*names: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        PURE.update(dict.fromkeys(names, function))
        return function

    return register


def _elementwise(name: str, function: Function) -> None:
    def run(operation: Operation, *operands: np.ndarray) -> np.ndarray:
        return result_element(operation).cast(function(*operands))

    PURE[name] = run


def _unsigned(name: str, function: Function) -> None:
    """Register a function of integers without sign; its result has the bits of the result."""

    def run(operation: Operation, *operands: np.ndarray) -> np.ndarray:
        wide = [np.asarray(x).view(_operand_element(operation, i).unsigned) for i, x in enumerate(operands)]
        return np.asarray(function(*wide)).astype(wide[0].dtype).view(result_element(operation).computed)

    PURE[name] = run


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide integers, rounding toward zero."""
    floor = a // np.where(b == 0, 1, b)
    return floor + ((floor * b != a) & ((a < 0) != (b < 0)))


def _shift(function: Function) -> Function:
    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        bits = np.asarray(a).dtype.itemsize * 8
        inside = (b >= 0) & (b < bits) if np.asarray(b).dtype.kind == "i" else b < bits
        return np.where(inside, function(a, np.where(inside, b, 0)), np.zeros_like(a))

    return run


for _name, _function in {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "tt.precise_divf": np.divide,
    "tt.approx_divf": np.divide,
    "arith.remf": np.fmod,
    "arith.negf": np.negative,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.extf": lambda x: x,
    "arith.truncf": lambda x: x,
    "tt.fp_to_fp": lambda x: x,
    "arith.sitofp": lambda x: np.asarray(x).astype(np.float64) if np.asarray(x).dtype != bool else -1.0 * x,
    "arith.addi": lambda a, b: a ^ b if np.asarray(a).dtype == bool else a + b,
    "arith.subi": lambda a, b: a ^ b if np.asarray(a).dtype == bool else a - b,
    "arith.muli": lambda a, b: a & b if np.asarray(a).dtype == bool else a * b,
    "arith.divsi": _quotient,
    "arith.remsi": lambda a, b: a - _quotient(a, b) * b,
    "arith.floordivsi": lambda a, b: a // np.where(b == 0, 1, b),
    "arith.ceildivsi": lambda a, b: a // np.where(b == 0, 1, b) + (a % np.where(b == 0, 1, b) != 0),
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": _shift(np.left_shift),
    "arith.shrsi": lambda a, b: np.right_shift(a, np.minimum(b, np.asarray(a).dtype.itemsize * 8 - 1)),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.trunci": lambda x: x,
    "arith.index_cast": lambda x: x,
    "arith.select": lambda condition, a, b: np.where(condition, a, b),
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.sqrt": np.sqrt,
    "tt.precise_sqrt": np.sqrt,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.tanh": np.tanh,
    "math.erf": np.vectorize(math.erf, otypes=[np.float64]),
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.fma": lambda a, b, c: np.asarray(a, np.float64) * b + c,
    "tt.ptr_to_int": lambda x: x,
    "tt.int_to_ptr": lambda x: x,
}.items():
    _elementwise(_name, _function)

for _name, _function in {
    "arith.divui": lambda a, b: a // np.where(b == 0, 1, b),
    "arith.remui": lambda a, b: a % np.where(b == 0, 1, b),
    "arith.ceildivui": lambda a, b: -(-a.astype(object) // np.where(b == 0, 1, b)),
    "arith.shrui": _shift(np.right_shift),
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
}.items():
    _unsigned(_name, _function)


@_operation("arith.constant")
def _constant(operation: Operation) -> np.ndarray:
    of = operation.results[0].type
    return np.broadcast_to(result_element(operation).cast(operation.attributes["value"]), of.shape)


@_operation("ub.poison")
def _poison(operation: Operation) -> np.ndarray:
    of = result_element(operation)
    return np.full(operation.results[0].type.shape, np.nan if of.is_float else -1).astype(of.computed)


@_operation("arith.extsi")
def _extend_signed(operation: Operation, x: np.ndarray) -> np.ndarray:
    to = result_element(operation)
    return to.cast(-np.asarray(x).astype(np.int8) if x.dtype == bool else x)


def _as_unsigned(operation: Operation, x: np.ndarray) -> np.ndarray:
    return x if x.dtype == bool else np.asarray(x).view(_operand_element(operation).unsigned)


@_operation("arith.extui", "arith.index_castui", "arith.uitofp")
def _extend_unsigned(operation: Operation, x: np.ndarray) -> np.ndarray:
    return result_element(operation).cast(_as_unsigned(operation, x))


@_operation("arith.trunci")
def _truncate(operation: Operation, x: np.ndarray) -> np.ndarray:
    to = result_element(operation)
    return (x & 1).astype(bool) if to.name == "i1" else to.cast(x)


@_operation("arith.fptosi", "arith.fptoui")
def _to_integer(operation: Operation, x: np.ndarray) -> np.ndarray:
    to = result_element(operation)
    info = np.iinfo(to.computed if operation.name == "arith.fptosi" else to.unsigned)
    whole = np.nan_to_num(np.trunc(np.asarray(x, np.float64)))
    # The largest integer of 64 bits is no float; the next smaller one is.
    largest = float(info.max) if info.bits < 64 else np.nextafter(float(info.max), 0)
    return np.clip(whole, float(info.min), largest).astype(info.dtype).view(to.computed)


@_operation("arith.bitcast", "tt.bitcast")
def _bitcast(operation: Operation, x: np.ndarray) -> np.ndarray:
    to = result_element(operation)
    return to.decode(_operand_element(operation).encode(x).view(to.stored))


_INTEGER_ORDERS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


@_operation("arith.cmpi")
def _compare_integers(operation: Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    predicate = operation.attributes["predicate"]
    if predicate < 6:
        if np.asarray(a).dtype == bool:
            a, b = -np.asarray(a).astype(np.int8), -np.asarray(b).astype(np.int8)
        return _INTEGER_ORDERS[predicate](a, b)
    a, b = _as_unsigned(operation, np.asarray(a)), _as_unsigned(operation, np.asarray(b))
    return _INTEGER_ORDERS[predicate - 4](a, b)


def compare_floats(predicate: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compare as ``arith.cmpf`` does: predicates 1 to 7 are false for NaN, 8 to 14 true."""
    orders = {1: np.equal, 2: np.greater, 3: np.greater_equal, 4: np.less, 5: np.less_equal, 6: np.not_equal}
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in (0, 15):
        return np.full(np.shape(unordered), predicate == 15)
    if predicate in (7, 14):
        return unordered if predicate == 14 else ~unordered
    return orders[predicate](a, b) & ~unordered if predicate < 7 else orders[predicate - 7](a, b) | unordered


@_operation("arith.cmpf")
def _compare_floats(operation: Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return compare_floats(operation.attributes["predicate"], a, b)


@_operation("arith.mulsi_extended", "arith.mului_extended")
def _multiply_extended(operation: Operation, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    of = result_element(operation)
    if operation.name == "arith.mului_extended":
        a, b = _as_unsigned(operation, np.asarray(a)), _as_unsigned(operation, np.asarray(b))
    product = np.asarray(a).astype(object) * np.asarray(b).astype(object)
    bits = of.bytes * 8
    mask = (1 << bits) - 1
    halves = (product & mask, (product >> bits) & mask)
    return tuple(np.asarray(half).astype(of.unsigned).view(of.computed) for half in halves)  # type: ignore[return-value]


@_operation("tt.mulhiui")
def _multiply_high(operation: Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    of = result_element(operation)
    product = _as_unsigned(operation, np.asarray(a)).astype(object) * _as_unsigned(operation, np.asarray(b))
    return np.asarray(product >> (of.bytes * 8)).astype(of.unsigned).view(of.computed)


@_operation("tt.clampf")
def _clamp(operation: Operation, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    # PROPAGATE_NAN::ALL is 0xFFFF; otherwise a NaN becomes the lower bound.
    clamped = np.minimum(np.maximum(x, low), high)
    if operation.attributes["propagateNan"] == 0xFFFF:
        return result_element(operation).cast(clamped)
    return result_element(operation).cast(np.where(np.isnan(x), low, clamped))


@_operation("tt.addptr")
def _add_pointer(operation: Operation, pointer: np.ndarray, offset: np.ndarray) -> np.ndarray:
    pointee = result_element(operation).pointee
    assert pointee is not None
    return pointer + np.asarray(offset).astype(np.int64) * pointee.bytes


# Shapes.


@_operation("tt.splat")
def _splat(operation: Operation, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, operation.results[0].type.shape)


@_operation("tt.unsplat")
def _unsplat(operation: Operation, x: np.ndarray) -> np.ndarray:
    return x.reshape(())


@_operation("tt.make_range")
def _make_range(operation: Operation) -> np.ndarray:
    return np.arange(operation.attributes["start"], operation.attributes["end"], dtype=np.int32)


@_operation("tt.expand_dims")
def _expand_dims(operation: Operation, x: np.ndarray) -> np.ndarray:
    return np.expand_dims(x, operation.attributes["axis"])


@_operation("tt.broadcast")
def _broadcast(operation: Operation, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, operation.results[0].type.shape)


@_operation("tt.reshape")
def _reshape(operation: Operation, x: np.ndarray) -> np.ndarray:
    return x.reshape(operation.results[0].type.shape)


@_operation("tt.trans")
def _transpose(operation: Operation, x: np.ndarray) -> np.ndarray:
    return x.transpose(operation.attributes["order"])


@_operation("tt.join")
def _join(operation: Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack((a, b), -1)


@_operation("tt.split")
def _split(operation: Operation, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x[..., 0], x[..., 1]


@_operation("tt.cat")
def _concatenate(operation: Operation, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate((a, b))


@_operation("ttg.convert_layout")
def _convert_layout(operation: Operation, x: np.ndarray) -> np.ndarray:
    return x


@_operation("tt.gather")
def _gather(operation: Operation, source: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.take_along_axis(source, index, operation.attributes["axis"])


@_operation("tt.histogram")
def _histogram(operation: Operation, x: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    bins = operation.results[0].type.shape[0]
    counted = x if mask is None else x[mask]
    return np.bincount(counted[(counted >= 0) & (counted < bins)], minlength=bins).astype(np.int32)


# Products.


def multiply(operation: Operation, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return ``a @ b + c`` as the tensor cores compute it, but with sums of 32-bit floats in another order.

    Integers are summed exactly. 32-bit floats are rounded to TF32, or as ``inputPrecision`` says.
    """
    of = result_element(operation)
    if not of.is_float:
        return of.cast((a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64) + c)
    if of.name == "f64":
        return a @ b + c
    precision = operation.attributes.get("inputPrecision", 0)
    if _operand_element(operation).name == "f32":
        if precision not in (0, 2):
            a, b = a.astype(np.float64), b.astype(np.float64)
        elif precision == 0:
            a, b = round_to_tf32(a), round_to_tf32(b)
    else:
        a, b = a.astype(np.float32), b.astype(np.float32)
    return of.cast(a @ b + c)


@_operation("tt.dot")
def _dot(operation: Operation, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return multiply(operation, a, b, c)


_PTX = {
    "cos.approx": np.cos,
    "ex2.approx": np.exp2,
    "lg2.approx": np.log2,
    "rcp.approx": np.reciprocal,
    "rsqrt.approx": lambda x: np.reciprocal(np.sqrt(x)),
    "sin.approx": np.sin,
    "sqrt.approx": np.sqrt,
    "tanh.approx": np.tanh,
}


@_operation("tt.elementwise_inline_asm")
def _inline_assembly(operation: Operation, *operands: np.ndarray) -> np.ndarray:
    code = operation.attributes["asm_string"].strip().rstrip(";")
    if code == "mov.b32 $0, $1":
        return operands[0]
    name = code.split(".f32")[0].removesuffix(".ftz")
    if len(operands) != 1 or not code.endswith("f32 $0, $1") or name not in _PTX:
        raise UnsupportedOperation(
            "the simulator does not know an instruction",
            where=operation,
            expected=", ".join(f"{known}.f32 $0, $1" for known in _PTX) + ", mov.b32 $0, $1",
            found=code,
        )
    return result_element(operation).cast(_PTX[name](operands[0]))


_LIBRARY: dict[str, Function] = {
    **{f"__nv_{name}f": getattr(np, name) for name in ("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "sqrt")},
    "__nv_rsqrtf": lambda x: 1 / np.sqrt(x),
    "__nv_erff": np.vectorize(math.erf, otypes=[np.float64]),
    "__nv_fabsf": np.abs,
    "__nv_fast_expf": np.exp,
    "__nv_fast_logf": np.log,
    "__nv_powf": np.power,
    "__nv_fmaf": lambda a, b, c: np.asarray(a, np.float64) * b + c,
}


@_operation("tt.extern_elementwise")
def _library(operation: Operation, *operands: np.ndarray) -> np.ndarray:
    function = _LIBRARY.get(operation.attributes["symbol"])
    if function is None:
        raise UnsupportedOperation(
            "the simulator does not know a function of a library",
            where=operation,
            expected=", ".join(_LIBRARY),
            found=operation.attributes["symbol"],
        )
    return result_element(operation).cast(function(*operands))
