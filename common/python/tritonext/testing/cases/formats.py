"""Element types by Triton's names, on arrays of NumPy, which has neither bfloat16 nor 8-bit floats."""

from __future__ import annotations

import numpy as np

from tritonext.testing import simulator

__all__ = ["decode", "encode", "epsilon", "rounded"]

# MLIR's name of each type, and the bits of fraction of a floating-point type.
_TYPES = {
    "fp64": ("f64", 52),
    "fp32": ("f32", 23),
    "fp16": ("f16", 10),
    "bf16": ("bf16", 7),
    "fp8e5": ("f8E5M2", 2),
    "fp8e4nv": ("f8E4M3FN", 3),
    "i1": ("i1", None),
    "i8": ("i8", None),
    "i16": ("i16", None),
    "i32": ("i32", None),
    "i64": ("i64", None),
}


def epsilon(dtype: str) -> float:
    """Return the distance from 1 to the next number of a floating-point type."""
    return 2.0 ** -_TYPES[dtype][1]


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return numbers as they lie in memory: of NumPy's type where it has one, else as bits."""
    return simulator.encode(values, _TYPES[dtype][0])


def decode(data: np.ndarray, dtype: str) -> np.ndarray:
    """Return the numbers that lie in memory, as float64 or int64."""
    return simulator.decode(data, _TYPES[dtype][0]).astype(np.int64 if _TYPES[dtype][1] is None else np.float64)


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return the nearest numbers of a type as float64 or int64."""
    return decode(encode(values, dtype), dtype)
