"""Steps that the units share: a shift, rounding to nearest even, the choice of result."""

from amaranth import *

from .format import EXPONENT_BITS, FRACTION_BITS, MAX_FIELD


def shift_right(word: Value, digit: Value, unit: int) -> tuple[Value, Value]:
    """``word >> digit * unit`` by a digit of radix 4, and whether a one is moved out.

    Two tables of 4 inputs and a multiplexer for each bit; a digit has 2 bits.
    """
    by = [word[n * unit :] for n in range(4)]
    moved = Mux(digit[1], Mux(digit[0], by[3], by[2]), Mux(digit[0], by[1], by[0]))
    lost = Cat(word[n * unit :][:unit].any() & (digit > n) for n in range(3)).any()
    return moved, lost


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
        Signed, 2 bits or more: added to ``field``. ``field + step`` is 0 to 254, or 255 if
        ``guard`` is 0; for all else see `unless_special`.

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
