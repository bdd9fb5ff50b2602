"""Element types: how numbers lie in memory, and what NumPy computes with in their place.

Narrow floats that NumPy lacks are computed with as 32-bit floats that are rounded after each operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import triton.language as tl

from tritonext.interpret import bfloat16_bits, float8_bits, widen
from tritonext.testing.findings import UnsupportedOperation

__all__ = ["Element", "element"]

_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_NARROW = {"bf16": (tl.bfloat16, np.uint16), "f8E4M3FN": (tl.float8e4nv, np.uint8), "f8E5M2": (tl.float8e5, np.uint8)}
# Descriptors of integers name their sign; operations on values do, not types.
_INTEGER = re.compile(r"[su]?i(8|16|32|64)")


@dataclass(frozen=True)
class Element:
    """An element type.

    Attributes:
        name: As MLIR spells it; ``ptr`` for pointers.
        stored: What lies in memory.
        computed: What values are held as.
        pointee: What a pointer points to.
    """

    name: str
    stored: np.dtype
    computed: np.dtype
    pointee: Element | None = None

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return self.stored.itemsize

    @cached_property
    def is_float(self) -> bool:
        return self.computed.kind == "f"

    @cached_property
    def unsigned(self) -> np.dtype:
        """The unsigned type of the same width."""
        return np.dtype(f"u{self.computed.itemsize}")

    def decode(self, data: np.ndarray) -> np.ndarray:
        """Return the numbers that lie in memory as ``data``."""
        if self.name in _NARROW:
            return widen(data, _NARROW[self.name][0])
        return data.astype(self.computed)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return what lies in memory for numbers, rounded to nearest even; 8-bit floats saturate."""
        if self.name == "bf16":
            return bfloat16_bits(values)
        if self.name in _NARROW:
            return float8_bits(values, _NARROW[self.name][0])
        return np.asarray(values).astype(self.stored)

    def cast(self, values: np.ndarray) -> np.ndarray:
        """Return numbers rounded to this type, as they are computed with; integers wrap."""
        if self.name in _NARROW:
            return self.decode(self.encode(values))
        return np.asarray(values).astype(self.computed, copy=False)


@cache
def element(name: str, pointee: Element | None = None) -> Element:
    """Return an element type by MLIR's name for it.

    Raises:
        UnsupportedOperation: Numbers of this type are not simulated.
    """
    if name in _FLOATS:
        return Element(name, np.dtype(_FLOATS[name]), np.dtype(_FLOATS[name]))
    if name in _NARROW:
        return Element(name, np.dtype(_NARROW[name][1]), np.dtype(np.float32))
    if name in ("ptr", "index"):
        return Element(name, np.dtype(np.int64), np.dtype(np.int64), pointee)
    name = name.removeprefix("s").removeprefix("u")
    if name == "i1":
        return Element(name, np.dtype(np.int8), np.dtype(np.bool_))
    if (found := _INTEGER.fullmatch(name)) is not None:
        of = np.dtype(f"i{int(found[1]) // 8}")
        return Element(found[0].lstrip("su"), of, of)
    raise UnsupportedOperation(
        "the simulator does not know an element type",
        expected=", ".join((*_FLOATS, *_NARROW, "i1, i8, i16, i32, i64, index")),
        found=name,
    )
