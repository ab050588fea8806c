"""binary32 to storage formats: every finite code, every midpoint and its two neighbours."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.enums import Dtype


@dataclass(frozen=True)
class Format:
    """A result format; ``shift`` is the weight of its last significand bit in the container."""

    dtype: Dtype
    exponent_bits: int
    fraction_bits: int
    shift: int
    nan: int

    @property
    def infinity(self):
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def sign(self):
        return 1 << (self.exponent_bits + self.fraction_bits) << self.shift


FORMATS = [
    Format(Dtype.FP16, 5, 10, 0, 0x7E00),
    Format(Dtype.BF16, 8, 7, 0, 0x7FC0),
    Format(Dtype.FP32R, 8, 13, 10, 0x7FC0_0000),
]
every_format = pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.dtype.name)


def ladder(fmt):
    """All non-negative values of a format in order, as float64.

    The last one stands for infinity: the value that would follow the largest finite one if the
    exponent had no bound, because that is where rounding decides about overflow.
    """
    code = np.arange(fmt.infinity + 1)
    exponent = code >> fmt.fraction_bits
    fraction = code & (1 << fmt.fraction_bits) - 1
    significand = np.where(exponent > 0, fraction + (1 << fmt.fraction_bits), fraction)
    bias = (1 << fmt.exponent_bits - 1) - 1
    return np.ldexp(significand.astype(float), np.maximum(exponent, 1) - bias - fmt.fraction_bits)


def check(fmt, values, codes):
    """``values`` narrow to ``codes``, counted along the ladder; so do the negated ones."""
    want = codes << fmt.shift
    for flip in (0, 0x8000_0000):
        signed = (values.view(np.uint32) ^ np.uint32(flip)).view(np.float32)
        got = narrow(signed, fmt.dtype).astype(np.int64)
        np.testing.assert_array_equal(got, want | (fmt.sign if flip else 0))


@every_format
def test_every_value_is_kept(fmt):
    values = ladder(fmt)[:-1].astype(np.float32)
    check(fmt, values, np.arange(fmt.infinity))
    check(fmt, np.array([np.inf], np.float32), np.array([fmt.infinity]))


@every_format
def test_midpoints_go_to_even_and_their_neighbours_to_the_nearer_value(fmt):
    values = ladder(fmt)
    exact = (values[:-1] + values[1:]) / 2
    middle = exact.astype(np.float32)
    np.testing.assert_array_equal(middle.astype(float), exact)  # binary32 holds every midpoint
    below = np.arange(fmt.infinity)
    check(fmt, middle, below + (below & 1))
    check(fmt, np.nextafter(middle, np.float32(0)), below)
    check(fmt, np.nextafter(middle, np.float32(np.inf)), below + 1)


@pytest.mark.parametrize("fmt", FORMATS[:2], ids=lambda fmt: fmt.dtype.name)
def test_widen_then_narrow_is_the_identity(fmt):
    codes = np.arange(1 << 16, dtype=np.uint16)
    values = widen(codes, fmt.dtype)
    got = narrow(values, fmt.dtype)
    np.testing.assert_array_equal(got, np.where(np.isnan(values), fmt.nan, codes))


@pytest.mark.parametrize(
    ("dtype", "second"), [(Dtype.FP16, np.float16), (Dtype.BF16, ml_dtypes.bfloat16)]
)
def test_random_patterns_against_a_library(dtype, second):
    values = np.random.default_rng(3).integers(0, 1 << 32, 200_000, np.uint32).view(np.float32)
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        want = values.astype(second).view(np.uint16)
    np.testing.assert_array_equal(narrow(values, dtype), want)


def test_every_boundary_of_bf16_against_a_library():
    """Every element with what decides its rounding behind it: little, half or more, all."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    behind = (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
    values = np.concatenate([upper | low for low in behind]).view(np.float32)
    values = values[~np.isnan(values)]
    want = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(narrow(values, Dtype.BF16), want)


@pytest.mark.parametrize(
    ("dtype", "nan"),
    [
        (Dtype.FP32, 0x7FC0_0000),
        (Dtype.FP32R, 0x7FC0_0000),
        (Dtype.BF16, 0x7FC0),
        (Dtype.FP16, 0x7E00),
    ],
)
def test_nan_is_canonical(dtype, nan):
    patterns = [0x7F80_0001, 0x7FC0_0000, 0x7FFF_FFFF, 0xFF80_0001, 0xFFC0_0000, 0xFFFF_FFFF]
    values = np.array(patterns, np.uint32).view(np.float32)
    np.testing.assert_array_equal(narrow(values, dtype), nan)
    np.testing.assert_array_equal(values.view(np.uint32), patterns)  # the argument is untouched


def test_fp32_is_kept():
    bits = np.array([0, 0x8000_0000, 1, 0x807F_FFFF, 0x7F7F_FFFF, 0xFF80_0000], np.uint32)
    got = narrow(bits.view(np.float32), Dtype.FP32)
    assert got.dtype.itemsize == 4
    np.testing.assert_array_equal(got, bits)


def test_strangers_are_named():
    with pytest.raises(ValueError, match="INT64 is not a result format"):
        narrow(np.zeros(1, np.float32), Dtype.INT64)
