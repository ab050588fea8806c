"""Conversions one number at a time, in fractions and integers, from the tables of the formats."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
from dve_golden.isa.control import Control, IntegerRounding
from dve_golden.isa.enums import Dtype

CANONICAL_NAN = 0x7FC0_0000
LARGEST_BINARY32 = 0x7F7F_FFFF
INFINITY = 0x7F80_0000


@dataclass(frozen=True)
class Fp8Mode:
    """A row of isa_common.md 2.6, codes as printed there.

    ``overflow`` is what becomes of numbers beyond ``largest``, by sign; codes of
    ``first_special`` and above are infinity or NaN. ``library`` is the type of `ml_dtypes` that
    has the same numbers.
    """

    name: str
    dtype: Dtype
    control: Control
    exponent_bits: int
    fraction_bits: int
    largest: int
    overflow: tuple[int, int]
    nan: int
    library: Any

    @property
    def has_infinity(self) -> bool:
        return self.nan != self.largest + 1

    def magnitude(self, code: int) -> Fraction:
        """The number of a code without sign, were there neither infinity nor NaN."""
        exponent, fraction = divmod(code, 1 << self.fraction_bits)
        significand = fraction + (1 << self.fraction_bits) if exponent else fraction
        bias = (1 << self.exponent_bits - 1) - 1
        return significand * Fraction(2) ** (max(exponent, 1) - bias - self.fraction_bits)

    @cached_property
    def ladder(self) -> list[Fraction]:
        """All finite magnitudes, and the one that would follow if the exponent had no bound."""
        return [self.magnitude(code) for code in range(self.largest + 2)]

    def widened(self, code: int) -> int:
        """The binary32 pattern of a code."""
        sign, code = code >> 7 << 31, code & 0x7F
        if code <= self.largest:
            return sign | bits_of(float(self.magnitude(code)))
        return sign | INFINITY if self.has_infinity and code == self.largest + 1 else CANONICAL_NAN

    def narrowed(self, bits: int) -> int:
        """The code that a binary32 pattern rounds to."""
        negative, magnitude = bits >> 31, bits & 0x7FFF_FFFF
        if magnitude > INFINITY:
            return self.nan
        if magnitude == INFINITY:
            return self.overflow[negative]
        value = Fraction(float_of(magnitude))
        below = min(bisect_right(self.ladder, value), len(self.ladder) - 1) - 1
        middle = (self.ladder[below] + self.ladder[below + 1]) / 2
        code = below + (value > middle or (value == middle and below % 2))
        return self.overflow[negative] if code > self.largest else negative << 7 | code


_SATURATING = Control(ocp_sat=True)
FP8_MODES = (
    Fp8Mode(
        *("E5M2", Dtype.FP8_EXP5, Control(), 5, 2, 0x7B, (0x7C, 0xFC), 0x7E),
        ml_dtypes.float8_e5m2,
    ),
    Fp8Mode(
        *("E5M2, ocp_sat", Dtype.FP8_EXP5, _SATURATING, 5, 2, 0x7B, (0x7B, 0xFB), 0x7E),
        ml_dtypes.float8_e5m2,
    ),
    Fp8Mode(
        *("E4M3, emax 8", Dtype.FP8_EXP4, Control(emax_e4m3=8), 4, 3, 0x7E, (0x7F, 0x7F), 0x7F),
        ml_dtypes.float8_e4m3fn,
    ),
    Fp8Mode(
        *("E4M3, emax 8, ocp_sat", Dtype.FP8_EXP4, Control(emax_e4m3=8, ocp_sat=True)),
        *(4, 3, 0x7E, (0x7E, 0xFE), 0x7F),
        ml_dtypes.float8_e4m3fn,
    ),
    Fp8Mode(
        *("E4M3, emax 7", Dtype.FP8_EXP4, Control(), 4, 3, 0x77, (0x78, 0xF8), 0x7C),
        ml_dtypes.float8_e4m3,
    ),
    Fp8Mode(
        *("E4M3, emax 7, ocp_sat", Dtype.FP8_EXP4, _SATURATING, 4, 3, 0x77, (0x77, 0xF7), 0x7C),
        ml_dtypes.float8_e4m3,
    ),
    Fp8Mode(
        *("E3M4", Dtype.FP8_EXP3, Control(), 3, 4, 0x6F, (0x70, 0xF0), 0x78),
        ml_dtypes.float8_e3m4,
    ),
    Fp8Mode(
        *("E3M4, ocp_sat", Dtype.FP8_EXP3, _SATURATING, 3, 4, 0x6F, (0x6F, 0xEF), 0x78),
        ml_dtypes.float8_e3m4,
    ),
    Fp8Mode(
        *("E3M4, extended", Dtype.FP8_EXP3, Control(range_extension=True)),
        *(3, 4, 0x7E, (0x7F, 0x7F), 0x7F),
        None,
    ),
    Fp8Mode(
        *("E3M4, extended, ocp_sat", Dtype.FP8_EXP3),
        Control(range_extension=True, ocp_sat=True),
        *(3, 4, 0x7E, (0x7E, 0xFE), 0x7F),
        None,
    ),
)

RANGES = {
    Dtype.INT8: (-0x80, 0x7F),
    Dtype.UINT8: (0, 0xFF),
    Dtype.INT16: (-0x8000, 0x7FFF),
    Dtype.UINT16: (0, 0xFFFF),
    Dtype.INT32: (-0x8000_0000, 0x7FFF_FFFF),
    Dtype.UINT32: (0, 0xFFFF_FFFF),
}


def to_integer(bits: int, dtype: Dtype, rounding: IntegerRounding) -> int:
    """The integer that a binary32 pattern becomes (isa_common.md 2.5)."""
    low, high = RANGES[dtype]
    value = float_of(bits)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    exact = Fraction(value)
    # Python rounds a fraction to nearest even.
    rounded = round(exact) if rounding is IntegerRounding.NEAREST_EVEN else math.trunc(exact)
    return max(low, min(high, rounded))


def float_of(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


def bits_of(value: float) -> int:
    """The pattern of a number that is a binary32."""
    single = np.float32(value)
    assert float(single) == value
    return int(single.view(np.uint32))


def around(values: Iterable[Fraction | float]) -> Iterator[int]:
    """Patterns of non-negative binary32 numbers and of their neighbours, with both signs."""
    for value in values:
        bits = bits_of(float(value))
        for near in (bits - 1, bits, bits + 1):
            if 0 <= near <= INFINITY:
                yield near
                yield near | 0x8000_0000


def special_patterns() -> list[int]:
    """Zeros, the ends of the subnormal and of the normal numbers, infinities and NaN."""
    magnitudes = (
        *(0, 1, 0x007F_FFFF, 0x0080_0000, 0x3F80_0000, LARGEST_BINARY32),
        *(INFINITY, INFINITY + 1, CANONICAL_NAN, 0x7FC1_2345, 0x7FFF_FFFF),
    )
    return [sign | bits for bits in magnitudes for sign in (0, 0x8000_0000)]
