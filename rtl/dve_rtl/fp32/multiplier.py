"""Product of two binary32 numbers (batchnorm.md sections 8 and 9)."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..target import Target
from .format import BIAS, FRACTION_BITS, SIGNIFICAND_BITS, Float
from .product import Product
from .rounding import leading_zeros, round_nearest_even, select_result
from .staging import Stage, Stages, place_registers

STAGES = (
    Stage("unpack, add exponents", 3),
    Stage("count leading zeros of a subnormal", 6),
    Stage("normalise", 5),
    Stage("multiply the significands", 7),
    Stage("add the partial products of multiplier blocks", 6),
    Stage("normalise or denormalise the product", 6),
    Stage("round to nearest even", 6),
    Stage("select the result", 3),
)

NORMALISE, MULTIPLY, ADD = 2, 3, 4
"""Stages whose registers are the input, pipeline and output registers of the product."""


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

        # Unpack. At most one operand needs normalising: the product of two subnormals is below
        # 2^-252 and rounds to zero wherever its leading one is.
        a, b = Float(self.a), Float(self.b)
        swap = b.is_subnormal_or_zero()
        zero = a.is_zero() | b.is_zero()
        infinite = a.is_infinite() | b.is_infinite()
        s = stages.close(
            sign=a.sign ^ b.sign,
            small=Mux(swap, b.significand(), a.significand()),
            large=Mux(swap, a.significand(), b.significand()),
            exponents=a.biased_exponent() + b.biased_exponent(),
            zero=zero,
            infinite=infinite,
            nan=a.is_nan() | b.is_nan() | (zero & infinite),
        )

        s = stages.close(**vars(s), zeros=leading_zeros(m, s.small))

        # Both significands are now 1.x (23 fraction bits), so their product has its leading one at
        # bit 47 or 46. `field` is the exponent field that goes with bit 47:
        # e_a + e_b - zeros - 127 + 1, from 1 + 1 - 23 - 126 = -147 to 254 + 254 - 126 = 382.
        field = Signal(signed(10))
        m.d.comb += field.eq(s.exponents - s.zeros - (BIAS - 1))
        normalised = (s.small << s.zeros)[:SIGNIFICAND_BITS]
        m.submodules.product = product = Product(
            input_register=self._registers[NORMALISE],
            pipeline_register=self._registers[MULTIPLY],
            output_register=self._registers[ADD],
            target=self._target,
        )
        m.d.comb += [product.a.eq(normalised), product.b.eq(s.large)]
        s = stages.close(sign=s.sign, zero=s.zero, infinite=s.infinite, nan=s.nan, field=field)

        # Beside the product: how far it moves right from the position in which bit 46 is the
        # hidden bit. With bit 47 as the hidden bit that is 1; a field below 1 is raised to 1 by
        # 1 - field more. From 26 on only the sticky bit is left, so 31 stands for all more.
        has_room = s.field >= 2
        shortfall = (2 - s.field)[:8]
        shift = Mux(s.field < 1, shortfall[:5] | shortfall[5:].any().replicate(5), 1)
        s = stages.close(
            sign=s.sign,
            zero=s.zero,
            infinite=s.infinite,
            nan=s.nan,
            has_room=has_room,
            # Field minus 1 if bit 46 leads; a subnormal result has 0 (see round_nearest_even).
            exponent_below=Mux(has_room, s.field - 2, 0)[:9],
            shift=shift,
        )
        s = stages.close(**vars(s))

        #           57  56 ........ 33  32     31 ........ 0
        # after     0   significand     guard  sticky             (and 22 low product bits)
        # before    47  46 ........ 23  22     all zero
        top = product.o[2 * SIGNIFICAND_BITS - 1]
        kept = 2 * FRACTION_BITS - SIGNIFICAND_BITS  # 22: bits below the guard bit at shift 0
        shift = Signal(5)
        m.d.comb += shift.eq(s.shift ^ (s.has_room & ~top))  # 1 becomes 0
        aligned = Signal(58)
        m.d.comb += aligned.eq(Cat(C(0, 32), product.o[kept:]) >> shift)
        s = stages.close(
            sign=s.sign,
            zero=s.zero,
            infinite=s.infinite,
            nan=s.nan,
            exponent_below=(s.exponent_below + (s.has_room & top))[:9],
            significand=aligned[33:57],
            guard=aligned[32],
            sticky=aligned[:32].any() | product.o[:kept].any(),
        )

        s = stages.close(
            sign=s.sign,
            zero=s.zero,
            infinite=s.infinite,
            nan=s.nan,
            rounded=round_nearest_even(s.exponent_below, s.significand, s.guard, s.sticky),
        )

        m.d.comb += self.o.eq(stages.close(o=select_result(**vars(s))).o)
        return m
