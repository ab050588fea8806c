"""FP8 in every mode: every code, every rounding boundary; fractions and `ml_dtypes`."""

from itertools import pairwise

import numpy as np
import pytest
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from exact_formats import FP8_MODES, around, special_patterns
from hypothesis import given
from hypothesis import strategies as st

every_mode = pytest.mark.parametrize("mode", FP8_MODES, ids=lambda mode: mode.name)
library_modes = pytest.mark.parametrize(
    "mode", [mode for mode in FP8_MODES if mode.library], ids=lambda mode: mode.name
)
ALL_CODES = np.arange(256, dtype=np.uint8)


def check(mode, patterns):
    """The golden converter gives the codes that fractions give."""
    patterns = np.array(patterns, np.uint32)
    got = narrow(patterns.view(np.float32), mode.dtype, mode.control)
    assert got.dtype == np.uint8
    np.testing.assert_array_equal(got, [mode.narrowed(int(bits)) for bits in patterns])


@every_mode
def test_every_code_is_its_number(mode):
    got = widen(ALL_CODES, mode.dtype, mode.control)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.view(np.uint32), [mode.widened(code) for code in range(256)])


@every_mode
def test_every_number_and_its_neighbours(mode):
    check(mode, list(around(mode.ladder)))


@every_mode
def test_every_midpoint_and_its_neighbours(mode):
    check(mode, list(around((low + high) / 2 for low, high in pairwise(mode.ladder))))


@every_mode
def test_special_patterns(mode):
    check(mode, special_patterns())


@every_mode
@given(patterns=st.lists(st.integers(0, 0xFFFF_FFFF), min_size=1))
def test_any_pattern(mode, patterns):
    check(mode, patterns)


@every_mode
def test_printed_bounds(mode):
    """The columns "largest finite", "min normal" and "min subnormal" of isa_common.md 2.6."""
    largest, normal, subnormal = {
        "E5M2": (57344, 2.0**-14, 2.0**-16),
        "E4M3, emax 8": (448, 2.0**-6, 2.0**-9),
        "E4M3, emax 7": (240, 2.0**-6, 2.0**-9),
        "E3M4": (15.5, 2.0**-2, 2.0**-6),
        "E3M4, extended": (30, 2.0**-2, 2.0**-6),
    }[mode.name.removesuffix(", ocp_sat")]
    codes = np.array([mode.largest, 1 << mode.fraction_bits, 1], np.uint8)
    got = widen(codes, mode.dtype, mode.control)
    np.testing.assert_array_equal(got, np.array([largest, normal, subnormal], np.float32))


@library_modes
def test_every_code_against_a_library(mode):
    want = ALL_CODES.view(mode.library).astype(np.float32)
    got = widen(ALL_CODES, mode.dtype, mode.control)
    np.testing.assert_array_equal(got, want)  # takes NaN as equal to NaN
    number = ~np.isnan(want)
    np.testing.assert_array_equal(got.view(np.uint32)[number], want.view(np.uint32)[number])


@library_modes
def test_every_upper_half_against_a_library(mode):
    """All signs, exponents and seven fraction bits; behind them nothing, little, half or all."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    patterns = np.concatenate([upper | low for low in (0, 1, 0x8000, 0xFFFF)])
    values = patterns.view(np.float32)
    with np.errstate(invalid="ignore"):  # signalling NaN
        library = values.astype(mode.library)
        fits = np.isfinite(library.astype(np.float32))
    want = np.where(
        np.isnan(values),
        mode.nan,
        np.where(fits, library.view(np.uint8), np.array(mode.overflow)[patterns >> 31]),
    )
    np.testing.assert_array_equal(narrow(values, mode.dtype, mode.control), want)


@every_mode
def test_widen_then_narrow_keeps_every_finite_code(mode):
    magnitude = np.arange(mode.largest + 1, dtype=np.uint8)
    for codes in (magnitude, np.bitwise_or(magnitude, np.uint8(0x80))):
        values = widen(codes, mode.dtype, mode.control)
        np.testing.assert_array_equal(narrow(values, mode.dtype, mode.control), codes)
