"""The 8-bit floats: which number each code is, and which code each number rounds to.

Both directions are tables. There are 256 codes; and no rounding to at most five significand bits
needs more of a binary32 than its upper 16 bits and whether anything follows them, so 65,536
entries decide every value (`narrow_fp8`).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dve_golden.fp32.arithmetic import CANONICAL_NAN, Floats
from dve_golden.isa.control import OCP_EMAX_E4M3, Control
from dve_golden.isa.enums import Dtype

SIGN = 0x80
LAST_CODE = 0x7F
"""Largest magnitude code; where the last exponent holds numbers, it is the only NaN."""


@dataclass(frozen=True)
class Format:
    """An 8-bit format with its control values applied (isa_common.md 2.6).

    Parameters
    ----------
    exponent_bits, fraction_bits
        Widths of the fields; they add up to seven.
    has_infinity
        The last exponent stands for infinity and NaN, as in IEEE 754. Otherwise it holds numbers,
        and `LAST_CODE` alone is NaN.
    saturates
        Infinity and overflow become the largest finite.
    """

    exponent_bits: int
    fraction_bits: int
    has_infinity: bool
    saturates: bool

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number, and of all subnormal ones."""
        return 2 - (1 << self.exponent_bits - 1)

    @property
    def beyond(self) -> int:
        """The code after the largest finite: infinity, or `LAST_CODE`."""
        return LAST_CODE ^ ((1 << self.fraction_bits) - 1) if self.has_infinity else LAST_CODE

    @property
    def nan(self) -> int:
        """The canonical NaN: quiet if there are several (isa_common.md 2.5)."""
        return self.beyond | 1 << self.fraction_bits - 1

    @property
    def overflow(self) -> NDArray[np.uint8]:
        """What infinity and overflow become, by sign: [2]."""
        if self.saturates:
            positive = self.beyond - 1
        elif self.has_infinity:
            positive = self.beyond
        else:
            return np.array([self.nan, self.nan], np.uint8)
        return np.array([positive, positive | SIGN], np.uint8)


def format_of(dtype: Dtype, control: Control) -> Format | None:
    """The format of an 8-bit float type; None for any other type."""
    saturates = control.ocp_sat
    match dtype:
        case Dtype.FP8_EXP3:
            return Format(3, 4, not control.range_extension, saturates)
        case Dtype.FP8_EXP4:
            return Format(4, 3, control.emax_e4m3 != OCP_EMAX_E4M3, saturates)
        case Dtype.FP8_EXP5:
            return Format(5, 2, True, saturates)
        case _:
            return None


def widen_fp8(codes: NDArray[np.unsignedinteger], form: Format) -> Floats:
    """The number that each code stands for, exactly; NaN is the canonical one."""
    return np.take(_numbers(form), codes)


def narrow_fp8(values: Floats, form: Format) -> NDArray[np.uint8]:
    """The code that each value rounds to, to nearest even with gradual underflow.

    The value is first rounded to odd at 16 bits: cut off, its last bit set if anything was lost.
    Those 16 bits have seven fraction bits, the formats at most four. So the last bit lies below
    the rounding bit, where it only says on which side of a tie the value is, and the second
    rounding gives what one alone would. Infinity stays infinity and NaN stays NaN.
    """
    bits = values.view(np.uint32)
    odd = bits >> 16 | ((bits & 0xFFFF) != 0)
    return np.take(_codes(form), odd)


@lru_cache
def _numbers(form: Format) -> Floats:
    """The number of each code, [256]."""
    code = np.arange(256)
    magnitude = code & LAST_CODE
    exponent = magnitude >> form.fraction_bits
    significand = magnitude & (1 << form.fraction_bits) - 1
    significand[exponent > 0] += 1 << form.fraction_bits
    scale = np.maximum(exponent, 1) - 1 + form.emin - form.fraction_bits
    numbers = np.ldexp(significand.astype(np.float32), scale)
    if form.has_infinity:
        numbers[magnitude == form.beyond] = np.inf
        nan = magnitude > form.beyond
    else:
        nan = magnitude == LAST_CODE
    numbers[code & SIGN > 0] *= -1
    numbers.view(np.uint32)[nan] = CANONICAL_NAN
    numbers.flags.writeable = False
    return numbers


@lru_cache
def _codes(form: Format) -> NDArray[np.uint8]:
    """The code of each binary32 whose lower half is zero, by its upper half: [65536]."""
    upper = np.arange(1 << 16, dtype=np.uint32)
    values = (upper << 16).view(np.float32).astype(np.float64)
    sign = upper >> 15
    finite = np.isfinite(values)
    magnitude = np.where(finite, np.abs(values), 0)
    # A number is significand * 2^(scale - fraction_bits), and its code counts the numbers below
    # it: 2^fraction_bits for each exponent from emin up to scale, and its significand within that.
    # A significand that rounds up to the next power of two so becomes the next exponent.
    scale = np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, form.emin)
    scale = np.maximum(scale, form.emin)
    significand = np.rint(np.ldexp(magnitude, form.fraction_bits - scale)).astype(np.int64)
    rounded = (scale - form.emin << form.fraction_bits) + significand
    fits = finite & (rounded < form.beyond)
    codes = np.where(fits, rounded | sign << 7, form.overflow[sign])
    codes = np.where(np.isnan(values), form.nan, codes).astype(np.uint8)
    codes.flags.writeable = False
    return codes
