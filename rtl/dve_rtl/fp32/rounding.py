"""Steps that the units share: leading zeros, rounding to nearest even, the choice of result."""

from amaranth import *
from amaranth.utils import ceil_log2

from .format import CANONICAL_NAN, EXPONENT_BITS, FRACTION_BITS, MAX_FIELD

ROUNDED_BITS = FRACTION_BITS + EXPONENT_BITS + 1
"""Fraction, exponent field and its overflow bit."""


def leading_zeros(m: Module, value):
    """Zeros above the most significant one of ``value``.

    A parallel-prefix OR fills all bits below the leading one in log2(width) levels of full-width
    operations; each bit of the count is then one OR over the positions that have it set.

    Returns
    -------
    Value
        The count; ``ceil_log2(len(value))`` zero bits if ``value`` is 0.
    """
    width = len(value)
    filled = value
    for level in range(ceil_log2(width)):
        spread = Signal(width, name=f"filled_{level}")
        m.d.comb += spread.eq(filled | (filled >> (1 << level)))
        filled = spread
    leading_one = Signal(width)
    m.d.comb += leading_one.eq(filled & ~(filled >> 1))

    def positions(bit: int) -> int:
        return sum(1 << (width - 1 - count) for count in range(width) if count >> bit & 1)

    return Cat((leading_one & positions(bit)).any() for bit in range(ceil_log2(width)))


def shift_right(word: Value, digit: Value, unit: int) -> tuple[Value, Value]:
    """``word >> digit * unit`` by a digit of radix 4, and whether a one is moved out.

    Two tables of 4 inputs and a multiplexer for each bit; a digit has 2 bits.
    """
    by = [word[n * unit :] for n in range(4)]
    moved = Mux(digit[1], Mux(digit[0], by[3], by[2]), Mux(digit[0], by[1], by[0]))
    lost = Cat(word[n * unit :][:unit].any() & (digit > n) for n in range(3)).any()
    return moved, lost


def round_nearest_even(exponent_below, significand, guard, sticky):
    """Round a significand and join it with its exponent field in one addition.

    The hidden bit of ``significand`` adds 1 to the field, so ``exponent_below`` is the field minus
    1 for a normalised significand and 0 for a subnormal one; a carry out of the fraction then
    gives the next binade, and the largest subnormal becomes the smallest normal, by itself.

    Parameters
    ----------
    exponent_below
        Exponent field minus 1, up to 9 bits.
    significand
        24 bits, hidden bit included.
    guard, sticky
        The first bit below the significand, and whether any bit below that is set.

    Returns
    -------
    Value
        ``ROUNDED_BITS`` wide; an exponent part of 255 or more means overflow.
    """
    round_up = guard & (sticky | significand[0])
    joined = Cat(C(0, FRACTION_BITS), exponent_below) + significand + round_up
    return joined[:ROUNDED_BITS]


def round_in_place(field, fraction, guard, sticky, step):
    """Round to nearest even and step the exponent field, in one carry chain without a table before.

    Half is rounded up, so that the carry in is the guard bit; where the number was half way, the
    last bit of the result must be 0, and setting it to 0 undoes a wrong step up. A carry out of the
    fraction gives the next binade, up to that of infinity, by itself.

    Parameters
    ----------
    field, fraction
        8 and 23 bits. A subnormal number has field 0.
    guard, sticky
        The first bit below the fraction, and whether any bit below that is set.
    step
        Signed, 2 bits or more: added to ``field``. ``field + step`` is 0 to 254.

    Returns
    -------
    Value
        31 bits.
    """
    steps = Cat(step, step[-1].replicate(EXPONENT_BITS - len(step)))
    rounded = Cat(fraction, field) + Cat(guard, C(0, FRACTION_BITS - 1), steps)
    last = Mux(guard, sticky & ~fraction[0], fraction[0])
    return Cat(last, rounded[1 : FRACTION_BITS + EXPONENT_BITS])


def unless_special(magnitude, *, special, nan):
    """31 bits: infinity if ``special``, canonical NaN if ``nan`` as well, else ``magnitude``.

    All but one bit are constants where ``special``: set and reset inputs of an output register.
    """
    return Mux(special, Cat(C(0, FRACTION_BITS - 1), nan, C(MAX_FIELD, EXPONENT_BITS)), magnitude)


def select_result(*, sign, rounded, zero, infinite, nan):
    """Pattern of the result: NaN before infinity before zero before the rounded number."""
    overflow = rounded[FRACTION_BITS:] >= MAX_FIELD
    magnitude = Mux(
        infinite | overflow,
        MAX_FIELD << FRACTION_BITS,
        Mux(zero, 0, rounded[: FRACTION_BITS + EXPONENT_BITS]),
    )
    return Mux(nan, CANONICAL_NAN, Cat(magnitude[: FRACTION_BITS + EXPONENT_BITS], sign))
