"""Storage format to binary32 (isa_common.md 2.5)."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from ..fp32.format import BIAS, CANONICAL_NAN
from ..fp32.staging import Stage, Stages, place_registers
from ..payloads import DTYPE

STAGES = (
    Stage("take the element apart", 6),
    Stage("normalise by 16 and 8", 6),
    Stage("normalise by 4, 2 and 1", 8),
    Stage("round", 6),
)

TOP_BIT_EXPONENT = BIAS + 31
"""Biased exponent of a 32-bit integer whose leading one is bit 31."""

HALF_UNIT_EXPONENT = TOP_BIT_EXPONENT - 25
"""The same for an integer in units of 2^-25; FP16 significands have units of 2^(e - 25)."""


class Widen(wiring.Component):
    """Widens one element per clock to binary32.

    FP32, FP16 and BF16 are exact, subnormals included; a NaN of any sign and payload becomes
    0x7FC00000. INT32 is rounded to nearest even. The type may change with every element; for
    any other type ``o`` is unspecified.

    Latency ``latency`` clocks, initiation interval 1, no stall.

    Parameters
    ----------
    latency : int
        Clock cycles from ``i`` to ``o``, 1 to 4. Places registers only.

    Members
    -------
    dtype : In(4)
        Element type (isa_common.md 2.1).
    i : In(32)
        Element, right-aligned; the upper half of a 16-bit element is zero.
    o : Out(32)
        binary32 pattern.

    Raises
    ------
    ValueError
        If ``latency`` is out of range.
    """

    dtype: In(DTYPE)
    i: In(32)
    o: Out(32)

    def __init__(self, *, latency: int):
        self._registers = place_registers(STAGES, latency)
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stages = Stages(m, self._registers)

        # Take the element apart. FP32 and BF16 are binary32 patterns already, and the Inf and NaN
        # of FP16 become one by moving the fields: those are passed around the normalisation.
        # Everything else is (-1)^sign * magnitude * 2^(exponent - TOP_BIT_EXPONENT).
        is_half = self.dtype == Dtype.FP16
        is_integer = self.dtype == Dtype.INT32
        half_mantissa, half_exponent, half_sign = self.i[:10], self.i[10:15], self.i[15]
        half_is_normal = half_exponent.any()

        integer = Mux(self.i[31], -self.i, self.i)[:32]
        # At most 133 + 30: the exponent 31 is passed around.
        half_scale = (HALF_UNIT_EXPONENT + Mux(half_is_normal, half_exponent, 1))[:8]
        pattern = Signal(32)
        with m.Switch(self.dtype):
            with m.Case(Dtype.BF16):
                m.d.comb += pattern.eq(self.i << 16)
            with m.Case(Dtype.FP16):
                m.d.comb += pattern.eq(Cat(C(0, 13), half_mantissa, C(0xFF, 8), half_sign))
            with m.Default():
                m.d.comb += pattern.eq(self.i)
        is_nan = pattern[23:31].all() & pattern[:23].any()
        s = stages.close(
            sign=Mux(is_half, half_sign, self.i[31]),
            magnitude=Mux(is_half, Cat(half_mantissa, half_is_normal), integer),
            exponent=Mux(is_half, half_scale, TOP_BIT_EXPONENT),
            around=~is_integer & (~is_half | half_exponent.all()),
            pattern=Mux(is_nan, CANONICAL_NAN, pattern),
        )

        # Move the leading one to bit 31. The distances are powers of two, so the decisions are
        # the bits of the leading-zero count. A zero magnitude stays recognisable by its bit 31.
        magnitude, coarse = self._shift_out_zeros(m, s.magnitude, (16, 8))
        s = stages.close(
            sign=s.sign,
            magnitude=magnitude,
            exponent=s.exponent,
            around=s.around,
            pattern=s.pattern,
            coarse=coarse,
        )
        magnitude, fine = self._shift_out_zeros(m, s.magnitude, (4, 2, 1))
        s = stages.close(
            sign=s.sign,
            magnitude=magnitude,
            # At least 133 + 1 - 31: no result is a binary32 subnormal.
            exponent=(s.exponent - Cat(fine, s.coarse))[:8],
            around=s.around,
            pattern=s.pattern,
        )

        # Round to 24 bits; only INT32 has bits below them. A carry out of the fraction increments
        # the exponent, which is the correct result.
        last, guard, sticky = s.magnitude[8], s.magnitude[7], s.magnitude[:7].any()
        nonzero = s.magnitude[31]
        truncated = Cat(s.magnitude[8:31], s.exponent & nonzero.replicate(8))
        rounded = (truncated + (guard & (sticky | last)))[:31]
        s = stages.close(o=Mux(s.around, s.pattern, Cat(rounded, s.sign)))
        m.d.comb += self.o.eq(s.o)
        return m

    @staticmethod
    def _shift_out_zeros(m, word, distances):
        """``word`` moved left by each distance whose bits at the top are all zero.

        Returns the word and the decisions, the one of the smallest distance lowest.
        """
        decisions = []
        for distance in distances:
            shift = ~word[32 - distance :].any()
            shifted = Signal(32, name=f"shifted_{distance}")
            m.d.comb += shifted.eq(Mux(shift, word << distance, word))
            word = shifted
            decisions.insert(0, shift)
        return word, Cat(decisions)
