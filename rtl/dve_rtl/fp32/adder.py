"""Sum and difference of two binary32 numbers (batchnorm.md sections 8 and 9).

The single-path algorithm (Ercegovac and Lang, Digital Arithmetic, 2004, chapter 8), arranged so
that no stage is deeper than a carry chain and a table, or four tables of 4 inputs.

*Order.* The operand of larger magnitude stays and the smaller one is aligned to it, so a difference
is never negative, and if there is an infinity or NaN at all, then the larger is one. The comparison
runs beside both differences of the exponent fields, in the form ``a - b - 1 = a + ~b``: this and
``b - a - 1`` are each other's complements but for 1, so that they give a - b, b - a and both less 1
without another addition. It is 1 less if only the smaller operand is subnormal: subnormal numbers
have field 0, but the exponent of field 1.

*Align.* The smaller significand keeps two more bits, guard and round; what moves out below them is
one sticky bit. That suffices: only a distance of 0 or 1 lets a difference lose more than one
leading bit, and then nothing was moved out.

*Normalise.* The 28 bits of the sum, its carry on top, move left by nibbles, then by bits. With the
carry as its hidden bit the field would be ``field + 1``, so moving by ``field`` places gives field
1, the least there is: what then has no hidden bit is subnormal, or zero. The limit costs no
comparison after the count of zeros. It is a nibble, known before the sum, at which the search for
the first nibble with a one stops in any case, and a place in that nibble.

*Round.* The last two places of the move are taken from the field in the carry chain that rounds
(`rounding.round_in_place`).
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .format import EXPONENT_BITS, FRACTION_BITS, SIGNIFICAND_BITS, Float
from .rounding import round_in_place, unless_special
from .staging import Stage, Stages, place_registers

STAGES = (
    Stage("compare magnitudes, subtract exponents", 4),
    Stage("order the operands, align by 8 and 16", 4),
    Stage("align by 4, 2 and 1", 4),
    Stage("add or subtract, find the zero nibbles", 5),
    Stage("count the leading zero nibbles, normalise by 16", 2),
    Stage("normalise by 8 and 4", 3),
    Stage("normalise by 2 and 1", 4),
    Stage("round to nearest even", 4),
)

EXTRA_BITS = 2
"""Guard and round bit."""

SUM_BITS = 1 + SIGNIFICAND_BITS + EXTRA_BITS + 1
"""Carry, significand, guard, round and sticky bit: 28."""

NIBBLE = 4

NIBBLES = SUM_BITS // NIBBLE
"""7."""


class Adder(wiring.Component):
    """``o = a + b`` or ``o = a - b``, rounded to nearest even; one operation per clock.

    Subnormals, signed zeros and infinities are IEEE 754's (an exact difference of equal numbers is
    +0), every NaN result is the canonical NaN.

    Parameters
    ----------
    latency : int
        Clocks from operands to result, 1 to 8. Only moves registers; never changes a result.

    Members
    -------
    a, b : In(32)
        Operands, binary32 patterns.
    subtract : In(1)
        Subtract ``b`` instead of adding it.
    o : Out(32)
        Result for the operands ``latency`` clocks earlier, out of a register.

    Raises
    ------
    ValueError
        If ``latency`` is out of range.
    """

    a: In(32)
    b: In(32)
    subtract: In(1)
    o: Out(32)

    def __init__(self, *, latency: int):
        self._registers = place_registers(STAGES, latency)
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stages = Stages(m, self._registers)

        a, b = Float(self.a), Float(self.b)
        a_tiny, b_tiny = a.is_subnormal_or_zero(), b.is_subnormal_or_zero()
        s = stages.close(
            a=a.magnitude(),
            b=b.magnitude(),
            a_sign=a.sign,
            b_sign=b.sign ^ self.subtract,
            swap=(a.magnitude() - b.magnitude())[-1],
            a_above=(a.exponent + ~b.exponent)[:EXPONENT_BITS],  # a - b - 1
            b_above=(b.exponent + ~a.exponent)[:EXPONENT_BITS],  # b - a - 1
            large_normal=~(a_tiny & b_tiny),
            small_normal=~(a_tiny | b_tiny),
            one_less=a_tiny ^ b_tiny,
            special=a.is_special() | b.is_special(),
            both_special=a.is_special() & b.is_special(),
        )

        large, small = Mux(s.swap, s.b, s.a), Mux(s.swap, s.a, s.b)
        distance = Signal(EXPONENT_BITS)
        m.d.comb += distance.eq(
            Mux(
                s.swap,
                Mux(s.one_less, s.b_above, ~s.a_above),
                Mux(s.one_less, s.a_above, ~s.b_above),
            )
        )
        significand = Cat(small[:FRACTION_BITS], s.small_normal)
        # 32 and more leave nothing but the sticky bit.
        by_8, by_16, by_32 = distance[3], distance[4], distance[5:].any()
        s = stages.close(
            sign=Mux(s.swap, s.b_sign, s.a_sign),
            difference=s.a_sign ^ s.b_sign,  # of magnitudes
            special=s.special,
            both_special=s.both_special,
            field=Cat(large[FRACTION_BITS] | ~s.large_normal, large[FRACTION_BITS + 1 :]),
            large=Cat(large[:FRACTION_BITS], s.large_normal),
            small=Mux(by_32, 0, Cat(C(0, EXTRA_BITS), significand) >> Cat(C(0, 3), by_8, by_16)),
            # Ones moved out by 8 or more, 16 or more, 24 or more, 32 or more; the two extra bits
            # take the first two places.
            lost=Cat(
                (significand[:6].any() & (by_8 | by_16 | by_32)) | (significand[22:].any() & by_32),
                (significand[6:14].any() & (by_16 | by_32))
                | (significand[14:22].any() & (by_8 & by_16 | by_32)),
            ),
            distance=distance[:3],
        )

        by_4 = Mux(s.distance[2], s.small >> 4, s.small)
        by_2 = Mux(s.distance[1], by_4 >> 2, by_4)
        by_1 = Mux(s.distance[0], by_2 >> 1, by_2)
        sticky = (
            s.lost.any()
            | (s.distance[2] & s.small[:4].any())
            | (s.distance[1] & by_4[:2].any())
            | (s.distance[0] & by_2[0])
        )
        nibble, far = s.field[2:5], s.field[5:].any()
        s = stages.close(
            sign=s.sign,
            difference=s.difference,
            nan=s.special & (s.large[:FRACTION_BITS].any() | (s.both_special & s.difference)),
            field=s.field,
            large=s.large,
            small=by_1 ^ s.difference.replicate(SIGNIFICAND_BITS + EXTRA_BITS),
            # Of the negative: the sticky bit stays, and without it the two's complement carries.
            sticky=sticky,
            carry=s.difference & ~sticky,
            # Normalising ends in nibble i, counted from the top, or before it.
            stop=Cat(~far & (nibble <= i) for i in range(NIBBLES)),
        )

        augend = Cat(C(1, 1), C(0, EXTRA_BITS), s.large)
        addend = Cat(s.carry, s.small, s.difference)
        total = Cat(s.sticky, (augend + addend)[1:SUM_BITS])
        nonzero = Cat(total[-NIBBLE * (i + 1) :][:NIBBLE].any() for i in range(NIBBLES))
        s = stages.close(
            sign=s.sign,
            difference=s.difference,
            nan=s.nan,
            field=s.field,
            sum=total,
            nonzero=nonzero,
            stop=s.stop,
            found=nonzero | s.stop,
        )

        count = Signal(3)
        m.d.comb += count.eq(_count(s.found))
        limited = C(0, 1)  # the move ends in the nibble of the limit
        for i in reversed(range(NIBBLES)):
            limited = s.stop[i] | (~s.nonzero[i] & limited)
        s = stages.close(
            sign=s.sign & ~(s.difference & ~s.nonzero.any()),
            # The larger operand is special, or its binade is the topmost and the sum is above it.
            special=s.field[1:].all() & (s.field[0] | s.sum[-1]),
            nan=s.nan,
            field=s.field,
            sum=Mux(count[2], s.sum << 16, s.sum)[:SUM_BITS],
            count=count,
            limit=s.field[:2] | (~limited).replicate(2),  # 3 is no limit
        )

        by_8 = Mux(s.count[1], s.sum << 8, s.sum)[:SUM_BITS]
        by_4 = Mux(s.count[0], by_8 << 4, by_8)[:SUM_BITS]
        s = stages.close(
            sign=s.sign,
            special=s.special,
            nan=s.nan,
            field=(s.field - (s.count << 2))[:EXPONENT_BITS],
            sum=by_4,
            limit=s.limit,
        )

        # Places to move: the zeros above the first one, at most `limit`.
        first, second, third = s.sum[-1], s.sum[-2], s.sum[-3]
        two = s.limit[1] & ~(first | second)
        one = ~first & Mux(s.limit[1], second | (s.limit[0] & ~third), s.limit[0])
        by_2 = Mux(two, s.sum << 2, s.sum)[:SUM_BITS]
        by_1 = Mux(one, by_2 << 1, by_2)[:SUM_BITS]
        hidden = by_1[-1]
        below = SUM_BITS - SIGNIFICAND_BITS  # 4: guard bit and three sticky ones
        s = stages.close(
            sign=s.sign & ~s.nan,
            special=s.special,
            nan=s.nan,
            field=Mux(hidden, s.field, 0),
            # 1 for the carry less 0 to 3 places: 01, 00, 11 and 10 in two's complement.
            step=Mux(hidden, Cat(~one, two), 0),
            fraction=by_1[below:-1],
            guard=by_1[below - 1],
            sticky=by_1[: below - 1].any(),
        )

        rounded = round_in_place(s.field, s.fraction, s.guard, s.sticky, s.step)
        magnitude = unless_special(rounded, special=s.special, nan=s.nan)
        m.d.comb += self.o.eq(stages.close(o=Cat(magnitude, s.sign)).o)
        return m


def _count(found):
    """Nibbles before the first that is found; 6 if none of the first six is.

    What the last nibble has is of no interest: if it is zero too, then the sum is zero.
    """
    return Cat(
        ~found[0] & (found[1] | (~found[2] & (found[3] | (~found[4] & found[5])))),
        ~found[:2].any() & (found[2] | found[3] | ~found[4:6].any()),
        ~found[:4].any(),
    )
