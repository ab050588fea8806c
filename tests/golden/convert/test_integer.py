"""Integers to binary32 and back: every 8- and 16-bit value, bounds, halves; SoftFloat."""

import numpy as np
import pytest
import softfloatpy
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.control import Control, IntegerRounding
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from exact_formats import RANGES, around, bits_of, float_of, special_patterns, to_integer
from hypothesis import given
from hypothesis import strategies as st

every_type = pytest.mark.parametrize("dtype", RANGES, ids=lambda dtype: dtype.name)
every_rounding = pytest.mark.parametrize("rounding", IntegerRounding, ids=lambda r: r.name)
short_types = pytest.mark.parametrize(
    "dtype", [d for d in RANGES if DTYPE_BYTES[d] < 4], ids=lambda dtype: dtype.name
)


def elements(integers, dtype):
    """Two's complement patterns of Python integers."""
    bits = 8 * DTYPE_BYTES[dtype]
    return np.array([value % (1 << bits) for value in integers], f"<u{bits // 8}")


def check(patterns, dtype, rounding):
    """The golden converter gives the integers that Python gives."""
    values = np.array(patterns, np.uint32).view(np.float32)
    got = narrow(values, dtype, Control(integer_rounding=rounding))
    assert got.dtype.itemsize == DTYPE_BYTES[dtype]
    assert got.dtype.kind == "u"
    want = elements([to_integer(int(bits), dtype, rounding) for bits in patterns], dtype)
    np.testing.assert_array_equal(got, want)


# --- to binary32 ----------------------------------------------------------------------------


@short_types
def test_every_short_integer_is_exact(dtype):
    low, high = RANGES[dtype]
    integers = range(low, high + 1)
    got = widen(elements(integers, dtype), dtype)
    assert got.dtype == np.float32
    assert got.tolist() == [float(value) for value in integers]


def test_uint32_rounds_to_nearest_even():
    powers = [1 << k for k in range(33)]
    near = {p + d for p in powers for d in range(-3, 4)}
    ties = {(1 << k) + (odd << k - 24) for k in range(24, 32) for odd in range(1, 12)}
    random = set(np.random.default_rng(6).integers(0, 1 << 32, 5000).tolist())
    integers = sorted(value for value in near | ties | random if 0 <= value < 1 << 32)
    want = [
        int.from_bytes(softfloatpy.ui32_to_f32(softfloatpy.UInt32.from_int(v)).to_bytes(), "big")
        for v in integers
    ]
    got = widen(elements(integers, Dtype.UINT32), Dtype.UINT32)
    np.testing.assert_array_equal(got.view(np.uint32), np.array(want, np.uint32))


# --- to integers ----------------------------------------------------------------------------


@every_rounding
@every_type
def test_special_patterns(dtype, rounding):
    check(special_patterns(), dtype, rounding)


@every_rounding
@every_type
def test_bounds_halves_and_their_neighbours(dtype, rounding):
    low, high = RANGES[dtype]
    near_bounds = [
        float_of(bits_of(float(np.float32(abs(bound)))) + ulps)
        for bound in (low, high)
        for ulps in range(-6, 7)
        if bound
    ]
    halves = [k / 2 for k in range(1200)]
    powers = [2.0**k for k in range(41)]
    beside_powers = [2.0**k + side for k in range(3, 23) for side in (-1.5, -0.5, 0.5, 1.5)]
    patterns = list(around(near_bounds + halves + powers + beside_powers))
    check(patterns, dtype, rounding)


@every_rounding
@short_types
def test_every_half_of_a_short_integer(dtype, rounding):
    low, high = RANGES[dtype]
    halves = np.arange(2 * low - 9, 2 * high + 10)
    floor = halves >> 1
    if rounding is IntegerRounding.NEAREST_EVEN:
        rounded = floor + (halves & floor & 1)
    else:
        rounded = floor + ((halves & 1) & (halves < 0))
    values = (halves / 2).astype(np.float32)
    got = narrow(values, dtype, Control(integer_rounding=rounding))
    np.testing.assert_array_equal(got, elements(np.clip(rounded, low, high).tolist(), dtype))


@every_rounding
@every_type
@given(patterns=st.lists(st.integers(0, 0xFFFF_FFFF), min_size=1))
def test_any_pattern(dtype, rounding, patterns):
    check(patterns, dtype, rounding)


@every_rounding
@pytest.mark.parametrize("dtype", [Dtype.INT32, Dtype.UINT32], ids=lambda dtype: dtype.name)
def test_numbers_in_range_against_softfloat(dtype, rounding):
    signed = dtype is Dtype.INT32
    convert = softfloatpy.f32_to_i32 if signed else softfloatpy.f32_to_ui32
    mode = {
        IntegerRounding.TOWARD_ZERO: softfloatpy.RoundingMode.MIN_MAG,
        IntegerRounding.NEAREST_EVEN: softfloatpy.RoundingMode.NEAR_EVEN,
    }[rounding]
    rng = np.random.default_rng(7)
    exponents = rng.integers(-3, 31 if signed else 32, 4000)
    values = np.ldexp(rng.integers(1 << 23, 1 << 24, 4000), exponents - 23).astype(np.float32)
    if signed:
        values *= rng.choice(np.array([-1, 1], np.float32), values.size)
    want = [
        convert(softfloatpy.Float32.from_bytes(int(bits).to_bytes(4, "big")), mode).to_int()
        for bits in values.view(np.uint32)
    ]
    got = narrow(values, dtype, Control(integer_rounding=rounding))
    np.testing.assert_array_equal(got, elements(want, dtype))


@every_type
def test_the_argument_is_untouched(dtype):
    values = np.array([np.nan, 1.5, -2.5, np.inf], np.float32)
    before = values.copy()
    narrow(values, dtype, Control(integer_rounding=IntegerRounding.NEAREST_EVEN))
    np.testing.assert_array_equal(values.view(np.uint32), before.view(np.uint32))
