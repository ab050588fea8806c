"""Arithmetic by the definition of IEEE 754-2019, in integers, on whole arrays.

Every operation is the exact result, an integer times a power of two, rounded once by
`rounded`. Nothing here is taken from the golden model or the RTL. Patterns are uint32 arrays of
one dimension, right-aligned; the rules for NaN are those of isa_common.md 2.5: the result is
the canonical NaN.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Patterns = NDArray[np.uint32]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

EXACT_BITS = 53
"""Magnitudes are below 2^53: their binary64 is exact, and its exponent is their length."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A binary interchange format, or one of its layout.

    Parameters
    ----------
    exponent_bits, fraction_bits : int
        Fields.
    below : int
        Zero bits below the fraction in the container.
    has_infinity : bool
        If not, then the last exponent holds numbers, all but its last code, the only NaN.
    """

    exponent_bits: int
    fraction_bits: int
    below: int = 0
    has_infinity: bool = True

    @property
    def bias(self) -> int:
        return (1 << self.exponent_bits - 1) - 1

    @property
    def least_quantum(self) -> int:
        """Exponent of the smallest subnormal, the unit of all of them."""
        return 1 - self.bias - self.fraction_bits

    @property
    def sign(self) -> int:
        """Pattern of the sign bit."""
        return 1 << self.exponent_bits + self.fraction_bits + self.below

    @property
    def infinity(self) -> int:
        """The pattern after the largest number: infinity, or the NaN of a format without it."""
        if not self.has_infinity:
            return self.sign - (1 << self.below)
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits + self.below

    @property
    def largest(self) -> int:
        return self.infinity - (1 << self.below)

    @property
    def least_normal(self) -> int:
        return 1 << self.fraction_bits + self.below

    @property
    def nan(self) -> int:
        """The canonical NaN: the highest fraction bit alone is set, if there are several."""
        quiet = 1 << self.fraction_bits - 1 + self.below
        return self.infinity | quiet if self.has_infinity else self.infinity


BINARY32 = Format(exponent_bits=8, fraction_bits=23)
BINARY16 = Format(exponent_bits=5, fraction_bits=10)
BFLOAT16 = Format(exponent_bits=8, fraction_bits=7)
FP32R = Format(exponent_bits=8, fraction_bits=13, below=10)
E5M2 = Format(exponent_bits=5, fraction_bits=2)
E4M3 = Format(exponent_bits=4, fraction_bits=3)
E4M3_EXTENDED = replace(E4M3, has_infinity=False)
E3M4 = Format(exponent_bits=3, fraction_bits=4)
E3M4_EXTENDED = replace(E3M4, has_infinity=False)


@dataclass(frozen=True)
class Numbers:
    """Patterns taken apart: the finite ones are ``(-1)**negative * units * 2**exponent``."""

    negative: Flags
    units: Integers
    exponent: Integers
    infinite: Flags
    nan: Flags

    @property
    def zero(self) -> Flags:
        return self.units == 0


def decoded(patterns: Patterns, form: Format = BINARY32) -> Numbers:
    """What the patterns of a format stand for (3.4); units and exponent only if finite."""
    bits = patterns.astype(np.int64)
    field = bits >> form.fraction_bits + form.below & (1 << form.exponent_bits) - 1
    fraction = bits >> form.below & (1 << form.fraction_bits) - 1
    magnitude = bits & form.sign - 1
    special = magnitude >= form.infinity
    infinite = form.has_infinity & (magnitude == form.infinity)
    normal = field != 0
    return Numbers(
        negative=bits & form.sign != 0,
        units=fraction | normal.astype(np.int64) << form.fraction_bits,
        exponent=field - normal + form.least_quantum,
        infinite=infinite,
        nan=special & ~infinite,
    )


def rounded(magnitude: Integers, exponent: Integers, form: Format = BINARY32) -> Integers:
    """Patterns nearest to ``magnitude * 2**exponent``, ties to even; infinity beyond (4.3.1).

    Parameters
    ----------
    magnitude
        0 to 2^53 - 1.
    exponent
        Of the unit of ``magnitude``.
    """
    # Of zero this and what follows from it mean nothing.
    binade = np.frexp(magnitude.astype(np.float64))[1] - 1 + exponent
    quantum = np.maximum(binade - form.fraction_bits, form.least_quantum)
    # Beyond 62 places both directions say the same: nothing is left, or nothing was there.
    drop = np.clip(quantum - exponent, 0, 62)
    units = magnitude >> drop
    rest = magnitude - (units << drop)
    above_half = (rest << 1) + (units & 1) > (np.int64(1) << drop)  # or half, and odd
    units = (units << np.clip(exponent - quantum, 0, 62)) + above_half
    # The leading one of a normal number adds 1 to its exponent field; so does a carry.
    bits = ((quantum - form.least_quantum) << form.fraction_bits) + units << form.below
    return np.where(magnitude == 0, 0, np.minimum(bits, form.infinity))


def _result(bits: Integers, negative: Flags, nan: Flags, form: Format = BINARY32) -> Patterns:
    signed = bits | negative * np.int64(form.sign)
    return np.where(nan, form.nan, signed).astype(np.uint32)


CLEAR = 28
"""Exponents this far apart are as good as any further: see `add`."""


def add(a: Patterns, b: Patterns) -> Patterns:
    """``a + b``.

    The operand of smaller exponent is moved up to ``CLEAR`` below the other one if it is further
    below. That one is normal then, so in units of its last place the smaller one was, and is now,
    less than 2^24 / 2^28, and not zero if it was not: too little to matter for the rounding other
    than by its sign. Now both fit one integer of 24 + 28 + 1 bits.
    """
    x, y = decoded(a), decoded(b)
    top = np.maximum(x.exponent, y.exponent)
    base = np.maximum(np.minimum(x.exponent, y.exponent), top - CLEAR)
    total = sum(
        np.where(z.negative, -z.units, z.units) << np.maximum(z.exponent - base, 0) for z in (x, y)
    )
    assert isinstance(total, np.ndarray)
    infinite = x.infinite | y.infinite
    opposite = x.negative != y.negative
    # An exact zero is +0, unless both operands are negative (6.3).
    negative = np.where(total == 0, x.negative & y.negative, total < 0)
    negative = np.where(infinite, np.where(x.infinite, x.negative, y.negative), negative)
    bits = np.where(infinite, BINARY32.infinity, rounded(np.abs(total), base))
    return _result(bits, negative, x.nan | y.nan | (x.infinite & y.infinite & opposite))


def subtract(a: Patterns, b: Patterns) -> Patterns:
    """``a - b``, which is ``a + (-b)`` (5.4.1, 6.3)."""
    return add(a, b ^ np.uint32(BINARY32.sign))


def multiply(a: Patterns, b: Patterns) -> Patterns:
    """``a * b``."""
    x, y = decoded(a), decoded(b)
    infinite = x.infinite | y.infinite
    bits = np.where(
        infinite, BINARY32.infinity, rounded(x.units * y.units, x.exponent + y.exponent)
    )
    nan = x.nan | y.nan | (x.infinite & y.zero) | (y.infinite & x.zero)
    return _result(bits, x.negative != y.negative, nan)


def reciprocal(a: Patterns) -> Patterns:
    """``1 / a``; of a zero it is an infinity of its sign.

    The quotient has at least 27 bits, and one more tells whether anything follows: the tie of a
    24-bit result is one of them.
    """
    x = decoded(a)
    divisor = np.maximum(x.units, 1)
    quotient, remainder = np.divmod(np.int64(1 << 50), divisor)
    bits = rounded(quotient << 1 | (remainder != 0), -51 - x.exponent)
    bits = np.where(x.infinite, 0, np.where(x.zero, BINARY32.infinity, bits))
    return _result(bits, x.negative, x.nan)


def widened(elements: Patterns, form: Format, *, flush: bool = False) -> Patterns:
    """The same numbers in binary32; if told to flush, subnormal ones as zeros."""
    x = decoded(elements, form)
    bits = np.where(x.infinite, BINARY32.infinity, rounded(x.units, x.exponent))
    if flush:
        bits = np.where(elements & (form.sign - 1) < form.least_normal, 0, bits)
    return _result(bits, x.negative, x.nan)


def narrowed(
    patterns: Patterns,
    form: Format,
    *,
    saturates: bool = False,
    nan_saturates: bool = False,
    flush: bool = False,
) -> Patterns:
    """binary32 numbers rounded to another format; beyond its range infinity, or else NaN.

    Parameters
    ----------
    saturates
        Beyond the range is the largest number, with the sign.
    nan_saturates
        NaN becomes the largest number.
    flush
        A result that is subnormal becomes a zero of its sign.
    """
    x = decoded(patterns)
    bits = np.where(x.infinite, form.infinity, rounded(x.units, x.exponent, form))
    beyond = (bits == form.infinity) & ~x.nan
    if flush:
        bits = np.where(bits < form.least_normal, 0, bits)
    if saturates:
        bits = np.where(beyond, form.largest, bits)
    becomes_nan = beyond & (not saturates and not form.has_infinity)
    result = _result(bits, x.negative, x.nan | becomes_nan, form)
    return np.where(x.nan & nan_saturates, form.largest, result).astype(np.uint32)


@dataclass(frozen=True, kw_only=True)
class IntegerFormat:
    """Integers of so many bits, in two's complement if they are signed."""

    bits: int
    signed: bool

    @property
    def least(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def greatest(self) -> int:
        return (1 << self.bits - self.signed) - 1


def from_integers(elements: Patterns, form: IntegerFormat) -> Patterns:
    """Integers rounded to binary32; zero is +0."""
    integers = elements.astype(np.int64)
    integers -= (integers > form.greatest) * np.int64(1 << form.bits)
    bits = rounded(np.abs(integers), np.zeros_like(integers))
    return _result(bits, integers < 0, np.zeros(len(integers), bool))


def to_integers(patterns: Patterns, form: IntegerFormat, *, nearest_even: bool) -> Patterns:
    """binary32 numbers rounded to integers, then to the range; NaN is 0."""
    x = decoded(patterns)
    # The ends of the shifts are beyond the range, and below a half: 24 bits and 38, less 62.
    units = x.units << np.clip(x.exponent, 0, 38)
    drop = np.clip(-x.exponent, 0, 62)
    whole = units >> drop
    rest = units - (whole << drop)
    whole += nearest_even & ((rest << 1) + (whole & 1) > (np.int64(1) << drop))
    signed = np.where(x.negative, -whole, whole)
    signed = np.where(x.infinite, np.where(x.negative, form.least, form.greatest), signed)
    signed = np.where(x.nan, 0, np.clip(signed, form.least, form.greatest))
    return (signed & (1 << form.bits) - 1).astype(np.uint32)
