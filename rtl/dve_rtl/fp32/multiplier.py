"""Product of two binary32 numbers (batchnorm.md sections 8 and 9).

The significands are multiplied as they are, those of subnormal numbers with a hidden bit of 0, so
the multiplier blocks begin at once. Beside them the leading one of a subnormal factor is found. One
right shift of the product then does what commonly takes two, a normalisation of that factor before
and a denormalisation of the result after. Handling subnormal factors after the multiplication is
one of the ways that E. Schwarz, M. Schmookler and S. Trong compare (FPU implementations with
denormalized numbers, IEEE Transactions on Computers 54(7), 2005).

*Distance.* Let S be the sum of both exponent fields, 1 for a subnormal factor, and P the product of
48 bits. If both factors are normal then bit 47 of P goes with field S - 126, and bit 47 or 46
leads. If one is subnormal with its leading one at bit k of its fraction then bit k + 24 or k + 23
leads, in fields that are 23 - k less. If both are then the result is zero, below 2^-252. With ::

    place = k + 9, or 32 if both are normal        distance = max(place, limit)
    limit = 159 - S

the window of P is its bits distance + 15 down to distance - 10. Where ``place`` decides, the first
or second bit of the window leads. ``limit`` is the distance at which the first bit has field 1, the
least there is: where it decides, a result without that bit is subnormal. The offset 9 is chosen so
that ``~limit = S - 160`` has the low five bits of S.

*Exponent.* ``place - limit - 1 = place + ~limit`` is negative exactly if ``limit`` decides. If not,
then it is the field of the result minus 2 if the first bit of the window leads, and minus 1 if the
second does. Where ``limit`` decides or a factor is zero it is replaced by -1, the field minus 2 or
minus 1 again. The carry chain that rounds adds the rest (`rounding.round_in_place`).

*Sticky bit.* The or of all bits that a digit of the shift moves out below the window.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..target import Target
from .format import EXPONENT_BITS, MAX_FIELD, SIGNIFICAND_BITS, Float
from .product import REGISTERS, Product
from .rounding import round_in_place, shift_right, unless_special
from .staging import Stage, Stages, place_registers

STAGES = (
    Stage("unpack, add exponents", 4),
    Stage("multiply; find the leading one of each nibble, and the limit", 4),
    Stage("multiply; find the leading one of a subnormal factor", 4),
    Stage("add cross products; choose the distance", 4),
    Stage("add outer products; settle the exponent", 4),
    Stage("shift by multiples of 4", 4),
    Stage("shift by 0 to 3, normalise", 5),
    Stage("round to nearest even", 4),
)

WINDOW_BITS = 1 + SIGNIFICAND_BITS + 1
"""One more than a significand above, since either of the first two bits leads, and a guard bit."""

DIGITS = 3
"""A distance has three digits of radix 4: places are at most 32, and limits count up to 63."""

NIBBLES = 6


class Multiplier(wiring.Component):
    """``o = a * b``, rounded to nearest even; one operation per clock, never stalls.

    Subnormal operands and results are exact to the format's rule, signed zeros and infinities are
    IEEE 754's, every NaN result is the canonical NaN.

    Parameters
    ----------
    latency : int
        Clocks from operands to result, 1 to 8. Only moves registers; never changes a result.
    target : Target
        Which multiplier blocks the product uses.

    Members
    -------
    a, b : In(32)
        Factors, binary32 patterns.
    o : Out(32)
        Product of the factors ``latency`` clocks earlier, out of a register.

    Raises
    ------
    ValueError
        If ``latency`` is out of range.
    """

    a: In(32)
    b: In(32)
    o: Out(32)

    def __init__(self, *, latency: int, target: Target = Target.PORTABLE):
        self._target = target
        self._registers = place_registers(STAGES, latency)
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stages = Stages(m, self._registers)

        a, b = Float(self.a), Float(self.b)
        a_normal, b_normal = ~a.is_subnormal_or_zero(), ~b.is_subnormal_or_zero()
        m.submodules.product = product = Product(
            registers=self._registers[:REGISTERS], target=self._target
        )
        m.d.comb += [product.a.eq(a.significand()), product.b.eq(b.significand())]
        s = stages.close(
            sign=a.sign ^ b.sign,
            both_normal=a_normal & b_normal,
            # Of the factor that can be subnormal; if both are, any distance gives zero.
            fraction=Mux(a_normal, b.fraction, a.fraction),
            exponents=a.biased_exponent() + b.biased_exponent(),
            a_special=a.is_special(),
            b_special=b.is_special(),
            a_subnormal_or_zero=~a_normal,
            b_subnormal_or_zero=~b_normal,
            a_has_fraction=a.fraction.any(),
            b_has_fraction=b.fraction.any(),
        )

        # The place of a leading one is k + 9: its index when the fraction has 9 zeros below. The
        # two lowest nibbles are all zeros, which leaves six.
        a_zero = s.a_subnormal_or_zero & ~s.a_has_fraction
        b_zero = s.b_subnormal_or_zero & ~s.b_has_fraction
        bits = Cat(C(0, 1), s.fraction)
        pairs = [(bits[n : n + 2].any(), bits[n + 1]) for n in range(0, 4 * NIBBLES, 2)]
        nibbles = _leading(pairs)
        s = stages.close(
            sign=s.sign,
            both_normal=s.both_normal,
            zero=a_zero | b_zero,
            special=s.a_special | s.b_special,
            nan=(s.a_special & (s.a_has_fraction | b_zero))
            | (s.b_special & (s.b_has_fraction | a_zero)),
            found=Cat(found for found, _ in nibbles),
            indices=Cat(index for _, index in nibbles),
            # S - 160 = ~limit, from 2 - 160 to 510 - 160: signed, 10 bits.
            excess=Cat(s.exponents[:5], (s.exponents[5:] - 5)[:5]).as_signed(),
        )

        nibbles = [(C(0, 1), C(0, 2))] * (8 - NIBBLES)
        nibbles += [(s.found[n], s.indices[2 * n : 2 * n + 2]) for n in range(NIBBLES)]
        ((_, index),) = _leading(_leading(_leading(nibbles)))
        # From 58 on all of the product is below the window, so 63 stands for all more.
        limit = ~s.excess
        beyond = ~limit[-1] & limit[2 * DIGITS : -1].any()
        s = stages.close(
            sign=s.sign,
            zero=s.zero,
            special=s.special,
            nan=s.nan,
            excess=s.excess,
            place=Cat(Mux(s.both_normal, 0, index), s.both_normal),
            limit=limit[: 2 * DIGITS] | beyond.replicate(2 * DIGITS),
        )

        below = Signal(signed(10))  # from 0 - 158, of zeros, to 32 + 350
        m.d.comb += below.eq(s.place + s.excess)
        limited = below < 0
        s = stages.close(
            sign=s.sign,
            zero=s.zero,
            special=s.special,
            nan=s.nan,
            below=below,
            limited=limited,
            distance=Mux(limited, s.limit, s.place),
        )

        # The field is below + 1 or below + 2: from MAX_FIELD on the result is infinite.
        below = s.below[:-1]
        s = stages.close(
            sign=s.sign,
            special=s.special | (~s.limited & (below >= MAX_FIELD - 1)),
            infinite_if_first=below == MAX_FIELD - 2,
            nan=s.nan,
            below=below[:EXPONENT_BITS] | (s.limited | s.zero).replicate(EXPONENT_BITS),
            limited=s.limited,
            distance=s.distance,
        )

        # Bit 0 of the window is bit distance - 10 of the product.
        moved, lost_16 = shift_right(Cat(C(0, 10), product.o), s.distance[4:], 16)
        moved, lost_4 = shift_right(moved[: WINDOW_BITS + 15], s.distance[2:4], 4)
        s = stages.close(
            sign=s.sign,
            special=s.special,
            infinite_if_first=s.infinite_if_first,
            nan=s.nan,
            below=s.below,
            limited=s.limited,
            distance=s.distance[:2],
            moved=moved[: WINDOW_BITS + 3],
            lost_16=lost_16,
            lost_4=lost_4,
        )

        window, lost_1 = shift_right(s.moved, s.distance, 1)
        window = window[:WINDOW_BITS]
        first = window[-1]
        keep = first | s.limited
        s = stages.close(
            sign=s.sign & ~s.nan,
            special=s.special | (s.infinite_if_first & first),
            nan=s.nan,
            below=s.below,
            first=first,
            # Without the hidden bit.
            fraction=Mux(keep, window[2:-1], window[1:-2]),
            guard=Mux(keep, window[1], window[0]),
            sticky=s.lost_16 | s.lost_4 | lost_1 | (keep & window[0]),
        )

        step = Cat(~s.first, s.first, C(0, 1)).as_signed()  # 1 or 2
        rounded = round_in_place(s.below, s.fraction, s.guard, s.sticky, step)
        magnitude = unless_special(rounded, special=s.special, nan=s.nan)
        m.d.comb += self.o.eq(stages.close(o=Cat(magnitude, s.sign)).o)
        return m


def _leading(groups: list[tuple[Value, Value]]) -> list[tuple[Value, Value]]:
    """Join neighbours, the lower one first: is there a one, and the index of the highest."""
    return [
        (high | low, Cat(Mux(high, high_index, low_index), high))
        for (low, low_index), (high, high_index) in zip(groups[::2], groups[1::2], strict=True)
    ]
