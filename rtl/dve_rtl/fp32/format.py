"""Fields and classes of a binary32 pattern (IEEE 754-2019 section 3.4)."""

from amaranth import *
from amaranth.lib import data

SIGNIFICAND_BITS = 24
"""Significand with its hidden bit."""

FRACTION_BITS = SIGNIFICAND_BITS - 1

EXPONENT_BITS = 8

BIAS = 127

MAX_FIELD = 255
"""Exponent field of infinities and NaNs."""

CANONICAL_NAN = 0x7FC0_0000
"""The only NaN that leaves an arithmetic unit; payloads and signs of inputs are dropped."""


class Float(data.Struct):
    """A binary32 pattern taken apart."""

    fraction: FRACTION_BITS
    exponent: EXPONENT_BITS
    sign: 1

    def is_special(self):
        """Infinity or NaN."""
        return self.exponent.all()

    def is_subnormal_or_zero(self):
        return ~self.exponent.any()

    def is_zero(self):
        return ~self.magnitude().any()

    def is_nan(self):
        return self.is_special() & self.fraction.any()

    def magnitude(self):
        """Pattern without its sign; magnitudes of numbers order as unsigned integers."""
        return self.as_value()[: EXPONENT_BITS + FRACTION_BITS]

    def significand(self):
        """24 bits: the hidden bit above the fraction."""
        return Cat(self.fraction, self.exponent.any())

    def biased_exponent(self):
        """Exponent field, with 1 for subnormals: they share the scale of the smallest normals."""
        return Cat(self.exponent[0] | self.is_subnormal_or_zero(), self.exponent[1:])
