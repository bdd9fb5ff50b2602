"""Element types as bits: values, rounding, and what counts as zero."""

from __future__ import annotations

import numpy as np
import pytest

from tritonext.errors import UserError
from tritonext_sparsity.elements import ELEMENTS, element, element_of

FLOATS = [name for name, kind in ELEMENTS.items() if kind.is_float]


@pytest.mark.parametrize(("name", "native"), [("float16", np.float16), ("float32", np.float32)])
def test_types_of_numpy_agree_with_numpy(name, native):
    kind = element(name)
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << kind.bits, 20000).astype(kind.storage)
    with np.errstate(invalid="ignore"):
        expected = bits.view(native).astype(np.float64)
    np.testing.assert_array_equal(kind.decode(bits), expected)
    values = np.concatenate(
        [rng.standard_normal(5000) * 10.0 ** rng.integers(-9, 6, 5000), [0.0, -0.0, np.inf, -np.inf]]
    )
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(kind.encode(values), values.astype(native).view(kind.storage))


def test_bfloat16_is_the_upper_half_of_float32():
    kind = element("bfloat16")
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        expected = (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    np.testing.assert_array_equal(kind.decode(bits), expected)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("float8_e4m3fn", {0x01: 2.0**-9, 0x08: 2.0**-6, 0x38: 1.0, 0x7E: 448.0, 0xB9: -1.125, 0x80: -0.0}),
        ("float8_e5m2", {0x01: 2.0**-16, 0x3C: 1.0, 0x7B: 57344.0, 0x7C: np.inf, 0xFC: -np.inf}),
        ("float8_e4m3fnuz", {0x01: 2.0**-10, 0x40: 1.0, 0x7F: 240.0, 0xC0: -1.0}),
        ("float8_e5m2fnuz", {0x01: 2.0**-17, 0x40: 1.0, 0x7F: 57344.0, 0xC0: -1.0}),
        ("int8", {0x80: -128, 0xFF: -1, 0x7F: 127}),
        ("uint8", {0x80: 128, 0xFF: 255}),
    ],
)
def test_codes_of_eight_bits(name, values):
    kind = element(name)
    bits = np.array(list(values), np.uint8)
    np.testing.assert_array_equal(kind.decode(bits), np.array(list(values.values())))
    np.testing.assert_array_equal(kind.encode(np.array(list(values.values()))), bits)


@pytest.mark.parametrize("name", FLOATS)
def test_encoding_returns_every_number(name):
    kind = element(name)
    bits = (
        np.arange(1 << kind.bits, dtype=kind.storage)
        if kind.bits < 32
        else np.random.default_rng(2).integers(0, 1 << 32, 50000).astype(np.uint32)
    )
    values = kind.decode(bits)
    number = ~np.isnan(values)
    np.testing.assert_array_equal(kind.encode(values[number]), bits[number])
    assert np.isnan(kind.decode(kind.encode(np.array([np.nan])))).all()


@pytest.mark.parametrize("name", [name for name in FLOATS if ELEMENTS[name].bits < 32])
def test_encoding_takes_the_nearest_number_and_even_ones_of_ties(name):
    kind = element(name)
    positive = np.arange(1 << (kind.bits - 1), dtype=kind.storage)
    values = kind.decode(positive)
    finite = np.isfinite(values)
    positive, values = positive[finite], values[finite]
    middle = (values[:-1] + values[1:]) / 2
    even = np.where(positive[:-1] % 2 == 0, positive[:-1], positive[1:])
    np.testing.assert_array_equal(kind.encode(middle), even)
    np.testing.assert_array_equal(kind.encode(np.nextafter(middle, 0)), positive[:-1])
    np.testing.assert_array_equal(kind.encode(np.nextafter(middle, np.inf)), positive[1:])


@pytest.mark.parametrize("name", FLOATS)
def test_only_zeros_are_zero_and_nan_outranks_all(name):
    kind = element(name)
    values = kind.encode(np.array([0.0, 1.0, -2.0, np.nan, kind.decode(np.ones(1, kind.storage))[0]]))
    np.testing.assert_array_equal(kind.is_nonzero(values), [False, True, True, True, True])
    assert np.argsort(kind.magnitude(values)).tolist() == [0, 4, 1, 2, 3]
    negative_zero = np.array([1 << (kind.bits - 1)], kind.storage)
    assert kind.is_nonzero(negative_zero).item() == (kind.special == "fnuz"), "the code is NaN there"


def test_integers_have_no_negative_zero():
    assert element("int8").is_nonzero(np.array([-128], np.int8)).item()
    assert element("int8").magnitude(np.array([-128, 127], np.int8)).tolist() == [128, 127]


def test_types_are_named_where_numpy_has_none():
    assert element_of(np.zeros(1, np.float16)).name == "float16"
    assert element_of(np.zeros(1, np.uint16), "bfloat16").name == "bfloat16"
    with pytest.raises(UserError, match="the element type of an array is unclear"):
        element_of(np.zeros(1, np.uint16))
    with pytest.raises(UserError, match="an array cannot hold elements of type bfloat16"):
        element_of(np.zeros(1, np.uint8), "bfloat16")
    with pytest.raises(UserError, match="an element type is unknown"):
        element("float64")
