"""Sum and difference of two binary32 numbers (batchnorm.md sections 8 and 9)."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .format import SIGNIFICAND_BITS, Float
from .rounding import leading_zeros, round_nearest_even, select_result
from .staging import Stage, Stages, place_registers

STAGES = (
    Stage("compare magnitudes", 5),
    Stage("order the operands, subtract exponents", 6),
    Stage("align the smaller", 6),
    Stage("add or subtract", 5),
    Stage("count leading zeros", 6),
    Stage("normalise", 6),
    Stage("round to nearest even", 6),
    Stage("select the result", 3),
)

EXTRA_BITS = 3
"""Guard, round and sticky bit: after losing up to one bit to cancellation (more only if the
alignment moved by at most one place, hence lost nothing), two and a sticky bit decide."""

SUM_BITS = SIGNIFICAND_BITS + EXTRA_BITS + 1
"""The aligned significands and a carry: 28."""


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
        b_sign = b.sign ^ self.subtract
        difference = a.sign ^ b_sign  # of magnitudes
        s = stages.close(
            a=self.a,
            b=self.b,
            sign=Mux(a.magnitude() < b.magnitude(), b_sign, a.sign),
            swap=a.magnitude() < b.magnitude(),
            difference=difference,
            exact_zero=difference & (a.magnitude() == b.magnitude()),
        )

        # The operand of larger magnitude stays in place, so the difference is never negative; and
        # if there is an infinity or NaN at all, then the larger is one.
        large = Float(Mux(s.swap, s.b, s.a))
        small = Float(Mux(s.swap, s.a, s.b))
        distance = Signal(8)
        m.d.comb += distance.eq(large.biased_exponent() - small.biased_exponent())
        s = stages.close(
            sign=s.sign & ~s.exact_zero,
            difference=s.difference,
            infinite=large.is_special(),
            nan=large.is_nan() | (small.is_special() & s.difference),
            exponent=large.biased_exponent(),
            large=large.significand(),
            small=small.significand(),
            # From 26 on only the sticky bit is left, so 31 stands for all more.
            shift=distance[:5] | distance[5:].any().replicate(5),
        )

        #           54 ......... 31  30     29     28 ........ 0
        # after     significand      guard  round  sticky
        # before    significand      all zero
        aligned = Signal(55)
        m.d.comb += aligned.eq(Cat(C(0, 31), s.small) >> s.shift)
        s = stages.close(
            sign=s.sign,
            difference=s.difference,
            infinite=s.infinite,
            nan=s.nan,
            exponent=s.exponent,
            large=s.large,
            small=Cat(aligned[:29].any(), aligned[29:]),
        )

        augend = Cat(C(0, EXTRA_BITS), s.large)
        s = stages.close(
            sign=s.sign,
            infinite=s.infinite,
            nan=s.nan,
            exponent=s.exponent,
            sum=Mux(s.difference, augend - s.small, augend + s.small)[:SUM_BITS],
        )

        s = stages.close(**vars(s), zero=~s.sum.any(), zeros=leading_zeros(m, s.sum))

        # With the carry bit as the hidden bit the field would be exponent + 1. Moving left by
        # `exponent` gives field 1, the last place a number can be moved to: what then has no
        # hidden bit is subnormal (or zero).
        shift = Signal(5)
        m.d.comb += shift.eq(Mux(s.zeros < s.exponent, s.zeros, s.exponent[:5]))
        normalised = Signal(SUM_BITS)
        m.d.comb += normalised.eq(s.sum << shift)
        below = SUM_BITS - SIGNIFICAND_BITS  # 4: guard bit and three sticky ones
        s = stages.close(
            sign=s.sign,
            infinite=s.infinite,
            nan=s.nan,
            zero=s.zero,
            exponent_below=(s.exponent - shift)[:8],
            significand=normalised[below:],
            guard=normalised[below - 1],
            sticky=normalised[: below - 1].any(),
        )

        s = stages.close(
            sign=s.sign,
            infinite=s.infinite,
            nan=s.nan,
            zero=s.zero,
            rounded=round_nearest_even(s.exponent_below, s.significand, s.guard, s.sticky),
        )

        m.d.comb += self.o.eq(stages.close(o=select_result(**vars(s))).o)
        return m
