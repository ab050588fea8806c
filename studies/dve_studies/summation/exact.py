"""Sums without any rounding, of as many binary32 numbers as memory holds.

Every finite binary32 number is an integer multiple of 2^-149, the smallest subnormal. In that
unit a sum is an integer, which Python holds exactly; it is rounded to binary32 once, directly,
because a detour through binary64 may round twice. A hardware accumulator of this kind is
Kulisch's; see the page for sources.
"""

import math
from collections.abc import Iterable

import numpy as np
from dve_golden.fp32.arithmetic import Floats
from numpy.typing import NDArray

UNIT_EXPONENT = -149
"""The unit of exact sums is 2 to this power."""

PRECISION = 24
"""Significand bits of binary32, the hidden one included."""

FRACTION = PRECISION - 1
_EXPONENT_CODES = 255
"""Exponent codes of finite numbers."""

LONGEST = 1 << 29
"""Terms of a sum: so many 24-bit significands fit the 53 bits that `numpy.bincount` adds in."""


def exact_sums(values: Floats) -> list[int]:
    """The exact sum of each row, in units of 2^-149.

    Significands of equal exponent are added first, as integers, and the 255 subtotals then in
    unbounded ones.

    Parameters
    ----------
    values
        [sums, n], finite, n at most 2^29.

    Raises
    ------
    ValueError
        If a value is an infinity or NaN, or a row is too long.
    """
    if not np.isfinite(values).all():
        raise ValueError("an exact sum needs finite terms")
    if values.shape[1] > LONGEST:
        raise ValueError(f"an exact sum takes at most {LONGEST} terms, got {values.shape[1]}")
    sums = []
    for row in values:
        significand, code = _decompose(row)
        subtotals = np.bincount(code, weights=significand, minlength=_EXPONENT_CODES)
        sums.append(sum(int(subtotals[c]) << _shift(c) for c in np.flatnonzero(subtotals).tolist()))
    return sums


def to_units(value: np.float32) -> int:
    """One finite number in units of 2^-149."""
    significand, code = _decompose(np.array([value], np.float32))
    return int(significand[0]) << _shift(int(code[0]))


def nearest(units: int) -> np.float32:
    """The binary32 number nearest to ``units`` times 2^-149, ties to even; infinity on overflow."""
    magnitude = abs(units)
    dropped = max(magnitude.bit_length() - PRECISION, 0)
    kept = magnitude >> dropped
    remainder, half = magnitude - (kept << dropped), 1 << dropped >> 1
    if dropped and (remainder > half or (remainder == half and kept & 1)):
        kept += 1
    # At most 25 significant bits, exponent within binary64: the only rounding was the one above.
    value = math.ldexp(-kept if units < 0 else kept, dropped + UNIT_EXPONENT)
    with np.errstate(over="ignore"):
        return np.float32(value)


def nearest_each(sums: Iterable[int]) -> Floats:
    """`nearest` of each sum."""
    return np.array([nearest(units) for units in sums], np.float32)


def ulp(units: int) -> int:
    """Unit in the last place of the binary32 number nearest to ``units``, itself in units."""
    magnitude = abs(units)
    # Rounding to 2^24 moves to the next binade, as in 0x1FFFFFF (25 bits) to 0x2000000 (26 bits).
    rounded = magnitude + (1 << max(magnitude.bit_length() - PRECISION, 0) >> 1)
    return 1 << max(rounded.bit_length() - PRECISION, 0)


def _decompose(row: Floats) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Signed integer significands, as binary64, and exponent codes."""
    bits = np.ascontiguousarray(row).view(np.uint32)
    code = (bits >> FRACTION & 0xFF).astype(np.int64)
    fraction = (bits & (1 << FRACTION) - 1).astype(np.float64)
    magnitude = fraction + np.where(code > 0, float(1 << FRACTION), 0.0)
    return np.where(bits >> 31 == 1, -magnitude, magnitude), code


def _shift(code: int) -> int:
    """Exponent of a significand in units: codes 0 (subnormal) and 1 share the lowest."""
    return max(code, 1) - 1
