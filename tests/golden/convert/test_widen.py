"""Storage formats to binary32: 16-bit formats exhaustively, INT32 against SoftFloat."""

import ml_dtypes
import numpy as np
import pytest
import softfloatpy
from dve_golden.convert.widen import widen
from dve_golden.isa.enums import DTYPE_BYTES, Dtype

CANONICAL_NAN = 0x7FC0_0000
ALL_16_BIT = np.arange(1 << 16, dtype=np.uint16)


def bits_of(values):
    assert values.dtype == np.float32
    return values.view(np.uint32)


def decoded(codes, exponent_bits, fraction_bits):
    """Value of each code by the definition of a binary interchange format, in float64."""
    sign = np.where(codes >> (exponent_bits + fraction_bits), -1.0, 1.0)
    exponent = (codes >> fraction_bits & (1 << exponent_bits) - 1).astype(int)
    fraction = (codes & (1 << fraction_bits) - 1).astype(int)
    significand = np.where(exponent > 0, fraction + (1 << fraction_bits), fraction)
    bias = (1 << exponent_bits - 1) - 1
    values = sign * np.ldexp(
        significand.astype(float), np.maximum(exponent, 1) - bias - fraction_bits
    )
    special = exponent == (1 << exponent_bits) - 1
    return np.where(special, np.where(fraction > 0, np.nan, sign * np.inf), values)


@pytest.mark.parametrize(
    ("dtype", "exponent_bits", "fraction_bits"), [(Dtype.FP16, 5, 10), (Dtype.BF16, 8, 7)]
)
def test_every_16_bit_code_by_definition(dtype, exponent_bits, fraction_bits):
    value = decoded(ALL_16_BIT, exponent_bits, fraction_bits)
    want = value.astype(np.float32)  # exact: binary32 holds every value of both formats
    got = bits_of(widen(ALL_16_BIT, dtype))
    nan = np.isnan(value)
    np.testing.assert_array_equal(got[~nan], want.view(np.uint32)[~nan])
    np.testing.assert_array_equal(got[nan], CANONICAL_NAN)


@pytest.mark.parametrize(
    ("dtype", "second"), [(Dtype.FP16, np.float16), (Dtype.BF16, ml_dtypes.bfloat16)]
)
def test_every_16_bit_code_against_a_library(dtype, second):
    with np.errstate(invalid="ignore"):  # signalling NaN
        want = ALL_16_BIT.view(second).astype(np.float32)
    got = widen(ALL_16_BIT, dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    number = ~np.isnan(want)
    np.testing.assert_array_equal(bits_of(got)[number], want.view(np.uint32)[number])


def test_fp32_keeps_everything_but_nan_patterns():
    raw = np.array(
        [0, 0x8000_0000, 1, 0x8000_0001, 0x007F_FFFF, 0x7F7F_FFFF, 0x7F80_0000, 0xFF80_0000],
        np.uint32,
    )
    np.testing.assert_array_equal(bits_of(widen(raw, Dtype.FP32)), raw)
    nan = np.array([0x7F80_0001, 0xFF80_0001, 0x7FC1_2345, 0xFFFF_FFFF, 0x7FBF_FFFF], np.uint32)
    np.testing.assert_array_equal(bits_of(widen(nan, Dtype.FP32)), CANONICAL_NAN)


def test_int32_rounds_to_nearest_even():
    powers = [1 << k for k in range(31)]
    near = [p + d for p in powers for d in (-3, -2, -1, 0, 1, 2, 3)]
    ties = [(1 << 24) + k for k in range(9)] + [(1 << 30) + 32 * k for k in range(9)]
    random = np.random.default_rng(5).integers(-(1 << 31), 1 << 31, 2000).tolist()
    limits = [-(1 << 31), (1 << 31) - 1, (1 << 31) - 64, (1 << 31) - 65]
    values = [s * v for v in near + ties for s in (1, -1)] + random + limits
    raw = np.array(values, np.int32).view(np.uint32)
    want = [
        int.from_bytes(softfloatpy.i32_to_f32(softfloatpy.Int32.from_int(v)).to_bytes(), "big")
        for v in values
    ]
    np.testing.assert_array_equal(bits_of(widen(raw, Dtype.INT32)), np.array(want, np.uint32))


@pytest.mark.parametrize("dtype", [Dtype.FP32, Dtype.FP16, Dtype.BF16, Dtype.INT32])
def test_result_is_a_new_array_of_the_same_shape(dtype):
    raw = np.ones((3, 5), f"<u{DTYPE_BYTES[dtype]}")
    values = widen(raw[:, 1:4], dtype)
    assert values.shape == (3, 3)
    assert not np.shares_memory(values, raw)


def test_strangers_are_named():
    with pytest.raises(ValueError, match="FP32R is not a source format"):
        widen(np.zeros(1, np.uint32), Dtype.FP32R)
