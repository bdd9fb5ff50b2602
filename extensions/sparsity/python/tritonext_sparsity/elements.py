"""Element types at the level of their bits: NumPy alone holds what torch and the tensor cores compute with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tritonext.errors import UserError

__all__ = ["ELEMENTS", "Element", "element", "element_of"]


@dataclass(frozen=True)
class Element:
    """An element type of a sparse product.

    Attributes:
        name: As torch and ml_dtypes spell it.
        ptx: As PTX spells it; AMD's two types that PTX lacks have their LLVM names.
        bits: Width in memory and in registers.
        exponent: Bits of the exponent; 0 for integers.
        mantissa: Bits of the mantissa behind the leading one; 0 for integers.
        bias: Bias of the exponent.
        special: Which codes are no numbers. ``ieee``: infinities and NaN at the largest exponent. ``fn``: NaN at all
            ones, no infinities. ``fnuz``: NaN where negative zero would be, no infinities.
        signed: Whether there are negative values.

    Source: IEEE 754; OCP 8-bit Floating Point Specification 1.0; for ``fnuz``, CDNA3 ISA, "BF8 and FP8".
    """

    name: str
    ptx: str
    bits: int
    exponent: int = 0
    mantissa: int = 0
    bias: int = 0
    special: Literal["ieee", "fn", "fnuz"] = "ieee"
    signed: bool = True

    @property
    def is_float(self) -> bool:
        return self.exponent > 0

    @property
    def storage(self) -> np.dtype:
        """The unsigned type of NumPy that holds the bits of one element."""
        return np.dtype(f"uint{self.bits}")

    @property
    def group(self) -> int:
        """Columns of a sparse matrix in which at most half are kept: 4, and 2 for 32-bit elements."""
        return 2 if self.bits == 32 else 4

    @property
    def columns_per_byte(self) -> int:
        """Columns of a sparse matrix that a byte of metadata, two groups, describes."""
        return 2 * self.group

    @property
    def legal_codes(self) -> tuple[int, ...]:
        """Codes of metadata that may stand for a group, lowest first: two ordered positions of four, or one of two.

        Source: PTX ISA 9.1, 9.7.14.6.1, "Sparse matrix storage".
        """
        return (0x4, 0xE) if self.group == 2 else (0x4, 0x8, 0x9, 0xC, 0xD, 0xE)

    @property
    def multiplied(self) -> Element:
        """The type that tensor cores see: they read 19 bits of a 32-bit float."""
        return TF32 if self.name == "float32" else self

    def bits_of(self, array: np.ndarray) -> np.ndarray:
        """Return a view of the bits of ``array``.

        Raises:
            UserError: The elements of ``array`` are of another width.
        """
        if array.dtype.itemsize * 8 != self.bits:
            raise UserError(
                f"an array cannot hold elements of type {self.name}",
                expected=f"{self.bits} bits for each",
                found=array.dtype,
            )
        return np.ascontiguousarray(array).view(self.storage)

    def is_nonzero(self, array: np.ndarray) -> np.ndarray:
        """Return which elements are non-zero. Negative zeros are zeros; infinities and NaN are not."""
        bits = self.bits_of(array)
        if not self.is_float or self.special == "fnuz":
            return bits != 0
        return (bits & self.storage.type((1 << (self.bits - 1)) - 1)) != 0

    def magnitude(self, array: np.ndarray) -> np.ndarray:
        """Return integers that order elements by absolute value, NaN above all, to choose what pruning keeps."""
        bits = self.bits_of(array)
        if not self.is_float:
            return np.abs(self.decode(array))
        keys = (bits & self.storage.type((1 << (self.bits - 1)) - 1)).astype(np.int64)
        if self.special == "fnuz":
            keys[bits == 1 << (self.bits - 1)] = 1 << self.bits
        return keys

    def decode(self, array: np.ndarray) -> np.ndarray:
        """Return the values of bits: float64, or int64 of integers."""
        bits = self.bits_of(array)
        if not self.is_float:
            return bits.view(f"int{self.bits}" if self.signed else self.storage).astype(np.int64)
        wide = bits.astype(np.int64)
        fraction_bits = self.mantissa
        low = self.bits - 1 - self.exponent - fraction_bits
        sign = np.where(wide >> (self.bits - 1) & 1, -1.0, 1.0)
        exponent = wide >> (self.bits - 1 - self.exponent) & ((1 << self.exponent) - 1)
        fraction = wide >> low & ((1 << fraction_bits) - 1)
        significand = np.where(exponent == 0, fraction, fraction + (1 << fraction_bits)).astype(np.float64)
        values = sign * np.ldexp(significand, np.maximum(exponent, 1) - self.bias - fraction_bits)
        if self.special == "ieee":
            top = exponent == (1 << self.exponent) - 1
            values = np.where(top, np.where(fraction == 0, sign * np.inf, np.nan), values)
        elif self.special == "fn":
            values = np.where(
                (bits & self.storage.type((1 << (self.bits - 1)) - 1)) == (1 << (self.bits - 1)) - 1, np.nan, values
            )
        else:
            values = np.where(bits == 1 << (self.bits - 1), np.nan, values)
        return values

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return the bits of values, rounded to nearest even.

        What is too large becomes an infinity, or NaN where there is none. Integers that do not fit wrap.
        """
        if not self.is_float:
            return np.asarray(values, np.int64).astype(self.storage)
        values = np.asarray(values, np.float64)
        low = self.bits - 1 - self.exponent - self.mantissa
        finite = np.where(np.isfinite(values), np.abs(values), 0.0)
        _, exponent = np.frexp(finite)
        exponent = np.maximum(np.where(finite == 0, -self.bias, exponent.astype(np.int64) - 1), 1 - self.bias)
        significand = np.rint(np.ldexp(finite, self.mantissa - exponent))
        # A carry out of the significand and subnormal numbers are both right as the sum of the two fields.
        code = significand.astype(np.int64) + ((exponent + self.bias - 1) << self.mantissa)
        top = (1 << self.exponent) - 1 << self.mantissa
        infinity, nan = {
            "ieee": (top, top | 1 << (self.mantissa - 1)),
            "fn": (top | (1 << self.mantissa) - 1,) * 2,
            "fnuz": (1 << (self.exponent + self.mantissa),) * 2,
        }[self.special]
        code = np.where(np.isinf(values) | (code >= infinity), infinity, code)
        code = np.where(np.isnan(values), nan, code)
        negative = np.signbit(values) & ~np.isnan(values)
        if self.special == "fnuz":
            negative &= (code != 0) & (code != nan)
        return (np.where(negative, code | 1 << (self.exponent + self.mantissa), code) << low).astype(self.storage)


_ALL = (
    Element("float16", "f16", 16, 5, 10, 15),
    Element("bfloat16", "bf16", 16, 8, 7, 127),
    Element("float32", "f32", 32, 8, 23, 127),
    Element("float8_e4m3fn", "e4m3", 8, 4, 3, 7, "fn"),
    Element("float8_e5m2", "e5m2", 8, 5, 2, 15),
    Element("float8_e4m3fnuz", "e4m3fnuz", 8, 4, 3, 8, "fnuz"),
    Element("float8_e5m2fnuz", "e5m2fnuz", 8, 5, 2, 16, "fnuz"),
    Element("int8", "s8", 8),
    Element("uint8", "u8", 8, signed=False),
)

TF32 = Element("float32", "tf32", 32, 8, 10, 127)
"""32-bit floats as tensor cores read them: the low 13 bits do not count."""

ELEMENTS: dict[str, Element] = {known.name: known for known in _ALL}
"""The element types of formats, by name."""

_BY_PTX = {known.ptx: known for known in _ALL} | {"tf32": TF32, "s32": Element("int32", "s32", 32)}


def element(name: str) -> Element:
    """Return the element type of that name, of torch or of PTX.

    Raises:
        UserError: There is none.
    """
    found = ELEMENTS.get(name) or _BY_PTX.get(name)
    if found is None:
        raise UserError("an element type is unknown", expected=", ".join(ELEMENTS), found=name)
    return found


def check_array(name: str, array: np.ndarray) -> None:
    """Check that an argument is an array of NumPy, in the byte order of this machine.

    Raises:
        UserError: It is not.
    """
    if not isinstance(array, np.ndarray):
        raise UserError(
            "an argument is not an array",
            where=f"argument {name}",
            expected="an array of NumPy",
            found=type(array).__name__,
        )
    if not array.dtype.isnative:
        raise UserError(
            "an array has the bytes of its elements in another order",
            where=f"argument {name}",
            expected=array.dtype.newbyteorder("=").str,
            found=array.dtype.str,
            hint='array.astype(array.dtype.newbyteorder("="))',
        )


def element_of(array: np.ndarray, dtype: str | None = None) -> Element:
    """Return the element type of an array: ``dtype``, or else the one that NumPy has for it.

    Args:
        array: The elements. Types that NumPy lacks come as unsigned integers of their width, or as types of ml_dtypes.
        dtype: Name of the type, needed where ``array`` holds bits.

    Raises:
        UserError: ``array`` is none. Or ``dtype`` is unknown, another type or width than that of the array, or not
            given and needed.
    """
    check_array("array", array)
    if dtype is None:
        if array.dtype.name not in ELEMENTS:
            raise UserError(
                "the element type of an array is unclear",
                expected=", ".join(ELEMENTS),
                found=array.dtype,
                hint="name it in dtype",
            )
        dtype = array.dtype.name
    known = element(dtype)
    known.bits_of(array[:0])
    if array.dtype.kind not in "iu" and array.dtype.name != known.name:
        raise UserError(
            "an array has elements of another type",
            expected=f"{known.name}, or its bits as integers",
            found=array.dtype,
            hint="convert them, or view them as integers where they are bits",
        )
    return known
