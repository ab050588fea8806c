"""Control values that concern several formats: saturation of 16-bit floats, flush to zero."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.control import Control
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from exact_formats import FP8_MODES, special_patterns

FLOATS = {
    Dtype.FP32: (8, 23),
    Dtype.BF16: (8, 7),
    Dtype.FP16: (5, 10),
    Dtype.FP8_EXP3: (3, 4),
    Dtype.FP8_EXP4: (4, 3),
    Dtype.FP8_EXP5: (5, 2),
}
"""Exponent and fraction bits."""

FLUSHING = Control(flush_to_zero=True)
every_float = pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.name)
sixteen_bits = pytest.mark.parametrize(
    ("dtype", "infinity", "nan"),
    [(Dtype.FP16, 0x7C00, 0x7E00), (Dtype.BF16, 0x7F80, 0x7FC0)],
    ids=["FP16", "BF16"],
)


def floats(*patterns):
    return np.array(patterns, np.uint32).view(np.float32)


def all_or_many(dtype) -> Any:
    """Every pattern of a short type; of FP32 each exponent with some fractions."""
    if dtype is not Dtype.FP32:
        return np.arange(1 << 8 * DTYPE_BYTES[dtype], dtype=f"<u{DTYPE_BYTES[dtype]}")
    fractions = np.array([0, 1, 0x40_0000, 0x7F_FFFF], np.uint32)
    return (np.arange(512, dtype=np.uint32)[:, np.newaxis] << 23 | fractions).ravel()


# --- saturation -----------------------------------------------------------------------------


@pytest.mark.parametrize("sis", [False, True])
@pytest.mark.parametrize("sns", [False, True])
@sixteen_bits
def test_infinity_overflow_and_nan_of_16_bit_floats(dtype, infinity, nan, sis, sns):
    control = Control(sis=sis, sns=sns)
    largest = infinity - 1
    bits = int(widen(np.array([largest], np.uint16), dtype).view(np.uint32)[0])
    half_ulp = 1 << (12 if dtype is Dtype.FP16 else 15)  # of the largest finite, in binary32
    stays = (bits, bits + half_ulp - 1)
    beyond = (bits + half_ulp, 0x7F7F_FFFF, 0x7F80_0000)
    over = largest if sis else infinity
    assert narrow(floats(*stays), dtype, control).tolist() == [largest] * 2
    assert narrow(floats(*beyond), dtype, control).tolist() == [over] * 3
    negative = floats(*(bits | 0x8000_0000 for bits in stays + beyond))
    assert narrow(negative, dtype, control).tolist() == [largest | 0x8000] * 2 + [over | 0x8000] * 3
    nans = floats(0x7F80_0001, 0x7FC0_0000, 0xFF80_0001, 0xFFFF_FFFF)
    assert narrow(nans, dtype, control).tolist() == [largest if sns else nan] * 4


@sixteen_bits
def test_saturation_changes_no_number(dtype, infinity, nan):
    codes = np.arange(1 << 16, dtype=np.uint16)
    finite = codes[(codes & 0x7FFF) < infinity]
    values = widen(finite, dtype)
    np.testing.assert_array_equal(narrow(values, dtype, Control(sis=True, sns=True)), finite)


UNTOUCHED = (
    *(Dtype.FP32, Dtype.FP32R, Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5),
    *(Dtype.INT8, Dtype.UINT8, Dtype.INT16, Dtype.UINT16, Dtype.INT32, Dtype.UINT32),
)


@pytest.mark.parametrize("dtype", UNTOUCHED, ids=lambda dtype: dtype.name)
def test_sis_and_sns_are_for_16_bit_floats(dtype):
    values = floats(*special_patterns())
    got = narrow(values, dtype, Control(sis=True, sns=True))
    np.testing.assert_array_equal(got, narrow(values, dtype))


@pytest.mark.parametrize("dtype", [Dtype.FP32, Dtype.FP32R, Dtype.FP16, Dtype.BF16])
def test_ocp_sat_is_for_fp8(dtype):
    values = floats(*special_patterns())
    got = narrow(values, dtype, Control(ocp_sat=True))
    np.testing.assert_array_equal(got, narrow(values, dtype))


# --- flush to zero --------------------------------------------------------------------------


@every_float
def test_subnormal_elements_are_read_as_zero(dtype):
    raw = all_or_many(dtype)
    exponent_bits, fraction_bits = FLOATS[dtype]
    exponent = raw >> fraction_bits & (1 << exponent_bits) - 1
    sign = raw.astype(np.uint32) >> exponent_bits + fraction_bits << 31
    want = np.where(exponent == 0, sign, widen(raw, dtype).view(np.uint32))
    np.testing.assert_array_equal(widen(raw, dtype, FLUSHING).view(np.uint32), want)


@every_float
def test_subnormal_results_are_stored_as_zero(dtype):
    raw = all_or_many(dtype)
    exponent_bits, fraction_bits = FLOATS[dtype]
    values = widen(raw, dtype)
    kept = narrow(values, dtype)
    exponent = kept >> fraction_bits & (1 << exponent_bits) - 1
    sign = raw & (1 << exponent_bits + fraction_bits)
    want = np.where(exponent == 0, sign, kept)
    np.testing.assert_array_equal(narrow(values, dtype, FLUSHING), want)


@pytest.mark.parametrize(
    ("dtype", "smallest_normal", "stored"),
    [
        (Dtype.FP16, 2.0**-14, 0x0400),
        (Dtype.FP8_EXP3, 2.0**-2, 0x10),
        (Dtype.FP8_EXP4, 2.0**-6, 0x08),
        (Dtype.FP8_EXP5, 2.0**-14, 0x04),
    ],
)
def test_a_result_is_flushed_if_it_is_subnormal_after_rounding(dtype, smallest_normal, stored):
    normal = np.float32(smallest_normal)
    just_below = np.nextafter(normal, np.float32(0))
    values = np.array([normal, just_below, normal / 2, -normal / 2], np.float32)
    sign = 1 << 8 * DTYPE_BYTES[dtype] - 1
    assert narrow(values, dtype, FLUSHING).tolist() == [stored, stored, 0, sign]


def test_fp32r_is_flushed_too():
    values = floats(0x0000_2000, 0x007F_E000, 0x807F_E000, 0x007F_FFFF, 0x0080_0000)
    got = narrow(values, Dtype.FP32R, FLUSHING).tolist()
    assert got == [0, 0, 0x8000_0000, 0x0080_0000, 0x0080_0000]


@pytest.mark.parametrize("dtype", [Dtype.INT8, Dtype.UINT16, Dtype.INT32, Dtype.UINT32])
def test_integers_are_not_flushed(dtype):
    raw: Any = np.arange(200, dtype=f"<u{DTYPE_BYTES[dtype]}")
    np.testing.assert_array_equal(widen(raw, dtype, FLUSHING), widen(raw, dtype))
    values = np.arange(-50, 150).astype(np.float32)
    np.testing.assert_array_equal(narrow(values, dtype, FLUSHING), narrow(values, dtype))


@pytest.mark.parametrize("mode", FP8_MODES, ids=lambda mode: mode.name)
def test_flush_to_zero_in_every_fp8_mode(mode):
    """The last exponent is not touched, whatever it stands for."""
    control = replace(mode.control, flush_to_zero=True)
    raw = np.arange(256, dtype=np.uint8)
    subnormal = raw & 0x7F < 1 << mode.fraction_bits
    want = np.where(subnormal, raw & 0x80, raw).astype(np.uint8)
    np.testing.assert_array_equal(
        widen(raw, mode.dtype, control).view(np.uint32),
        widen(want, mode.dtype, mode.control).view(np.uint32),
    )
