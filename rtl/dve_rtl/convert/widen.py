"""Storage format to binary32 (isa_common.md 2.5)."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from ..payloads import DTYPE
from .cuts import Cuts, check_latency

CANONICAL_NAN = 0x7FC00000


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
    TypeError
        If ``latency`` is not an integer.
    ValueError
        If ``latency`` is out of range.
    """

    dtype: In(DTYPE)
    i: In(32)
    o: Out(32)

    def __init__(self, *, latency: int):
        self.latency = check_latency(latency)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        cuts = Cuts(m, self.latency)

        # Step 1: take the element apart. FP32 and BF16 are binary32 patterns already, and the
        # Inf and NaN of FP16 become one by moving the fields: those are passed around the
        # normalisation. Everything else is (-1)^sign * magnitude * 2^(exponent - 158), where
        # 158 = 127 + 31 is the biased exponent of a magnitude with its leading one in bit 31.
        is_half = self.dtype == Dtype.FP16
        is_integer = self.dtype == Dtype.INT32
        half_mantissa, half_exponent, half_sign = self.i[:10], self.i[10:15], self.i[15]

        sign = Mux(is_half, half_sign, self.i[31])
        magnitude = Mux(
            is_half,
            Cat(half_mantissa, half_exponent.any()),
            Mux(self.i[31], -self.i, self.i)[:32],
        )
        # An FP16 significand counts units of 2^(e - 25), e = 1 for subnormals: 158 - 25 = 133.
        # 133 + 30 fits eight bits; the exponent 31 goes around.
        half_base = 133 + Mux(half_exponent.any(), half_exponent, 1)
        exponent = Mux(is_half, half_base, 158)[:8]

        pattern = Signal(32)
        with m.Switch(self.dtype):
            with m.Case(Dtype.BF16):
                m.d.comb += pattern.eq(self.i << 16)
            with m.Case(Dtype.FP16):
                m.d.comb += pattern.eq(Cat(C(0, 13), half_mantissa, C(0xFF, 8), half_sign))
            with m.Default():
                m.d.comb += pattern.eq(self.i)
        is_nan = pattern[23:31].all() & pattern[:23].any()

        sign, magnitude, exponent, around, pattern = cuts.after(
            1,
            sign=sign,
            magnitude=magnitude,
            exponent=exponent,
            around=~is_integer & (~is_half | half_exponent.all()),
            pattern=Mux(is_nan, CANONICAL_NAN, pattern),
        )

        # Steps 2 and 3: move the leading one to bit 31. The shift distances are powers of two,
        # so the bits of the leading-zero count fall out of the decisions. A zero magnitude
        # shifts by 31 and stays recognisable by a zero in bit 31.
        magnitude, coarse = self._shift_out_zeros(m, magnitude, (16, 8))
        sign, magnitude, exponent, around, pattern, coarse = cuts.after(
            2,
            sign=sign,
            magnitude=magnitude,
            exponent=exponent,
            around=around,
            pattern=pattern,
            coarse=coarse,
        )
        magnitude, fine = self._shift_out_zeros(m, magnitude, (4, 2, 1))
        # Never below 133 + 1 - 31, so no binary32 subnormal arises here.
        exponent = (exponent - Cat(fine, coarse))[:8]
        sign, magnitude, exponent, around, pattern = cuts.after(
            3, sign=sign, magnitude=magnitude, exponent=exponent, around=around, pattern=pattern
        )

        # Step 4: round to 24 bits. Only INT32 has bits below them. A carry out of the mantissa
        # increments the exponent, which is the correct result.
        last, guard, sticky = magnitude[8], magnitude[7], magnitude[:7].any()
        truncated = Cat(magnitude[8:31], exponent & magnitude[31].replicate(8))
        rounded = (truncated + (guard & (sticky | last)))[:31]
        (result,) = cuts.after(4, result=Mux(around, pattern, Cat(rounded, sign)))
        m.d.comb += self.o.eq(result)
        return m

    @staticmethod
    def _shift_out_zeros(m: Module, word: Value, distances: tuple[int, ...]) -> tuple[Value, Value]:
        """``word`` moved left by each distance whose bits at the top are all zero.

        Returns the word and the decisions, the one of the smallest distance lowest.
        """
        decisions = []
        for distance in distances:
            shift = Signal(name=f"shift_{distance}")
            shifted = Signal(32, name=f"shifted_{distance}")
            m.d.comb += [
                shift.eq(~word[32 - distance :].any()),
                shifted.eq(Mux(shift, word << distance, word)),
            ]
            word = shifted
            decisions.insert(0, shift)
        return word, Cat(decisions)
