"""Arithmetic by the definition of IEEE 754-2019, in integers, on whole arrays.

Every operation is the exact result, an integer times a power of two, rounded once by
`rounded`. Nothing here is taken from the golden model or the RTL. Patterns are uint32 arrays of
one dimension, right-aligned; the rules for NaN are those of isa_common.md 2.5: the result is
the canonical NaN.
"""

from dataclasses import dataclass

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
    """

    exponent_bits: int
    fraction_bits: int
    below: int = 0

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
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits + self.below

    @property
    def nan(self) -> int:
        """The canonical NaN: the highest fraction bit alone is set."""
        return self.infinity | 1 << self.fraction_bits - 1 + self.below


BINARY32 = Format(exponent_bits=8, fraction_bits=23)
BINARY16 = Format(exponent_bits=5, fraction_bits=10)
BFLOAT16 = Format(exponent_bits=8, fraction_bits=7)
FP32R = Format(exponent_bits=8, fraction_bits=13, below=10)


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
    special = field == (1 << form.exponent_bits) - 1
    normal = field != 0
    return Numbers(
        negative=bits & form.sign != 0,
        units=fraction | normal.astype(np.int64) << form.fraction_bits,
        exponent=field - normal + form.least_quantum,
        infinite=special & (fraction == 0),
        nan=special & (fraction != 0),
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


def widened(elements: Patterns, form: Format) -> Patterns:
    """The same numbers in binary32."""
    x = decoded(elements, form)
    bits = np.where(x.infinite, BINARY32.infinity, rounded(x.units, x.exponent))
    return _result(bits, x.negative, x.nan)


def from_int32(elements: Patterns) -> Patterns:
    """Integers in two's complement, rounded to binary32; zero is +0."""
    integers = elements.view(np.int32).astype(np.int64)
    bits = rounded(np.abs(integers), np.zeros_like(integers))
    return _result(bits, integers < 0, np.zeros(len(integers), bool))


def narrowed(patterns: Patterns, form: Format) -> Patterns:
    """binary32 numbers rounded to another format; beyond its range infinity."""
    x = decoded(patterns)
    bits = np.where(x.infinite, form.infinity, rounded(x.units, x.exponent, form))
    return _result(bits, x.negative, x.nan, form)
