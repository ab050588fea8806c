"""binary32 to storage format (isa_common.md 2.5).

BF16 and FP32R have binary32's sign and exponent, so rounding acts on the pattern: subnormals need
no extra case, and a carry reaches Inf by itself. FP16 is first brought into the place of BF16, the
upper half of the word: its exponent field is 112 less than binary32's, and where that would be less
than 1 the significand moves right instead. One carry chain then rounds all formats. It adds half of
the last place, and where the element was half way the last bit becomes 0, which undoes a wrong step
up.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from ..fp32.format import Float
from ..fp32.rounding import shift_right
from ..fp32.staging import Stage, Stages, place_registers
from ..payloads import DTYPE
from .control import ConverterControl

STAGES = (
    Stage("classify, find the distance to a subnormal FP16", 4),
    Stage("denormalise FP16", 3),
    Stage("choose what is rounded", 2),
    Stage("round to nearest even, put in place", 5),
)

HALF_BIAS_STEP = 127 - 15
"""112: binary32's field of an FP16 exponent is that much more."""

HALF_GUARD = 12
"""Bit of the binary32 fraction that is the guard bit of a normal FP16 element."""

SHORT_GUARD, ROUND_GUARD = 15, 9
"""Guard bit of what is kept in the upper half of a word, and in its upper 22 bits (FP32R)."""


class Narrow(wiring.Component):
    """Narrows one binary32 element per clock to its storage format.

    FP16, BF16 and FP32R (1/8/13 bits in a 32-bit container, the low 10 bits zero) are rounded
    to nearest even with gradual underflow; what rounds beyond the largest finite value becomes
    Inf of the same sign. FP32 passes. A NaN of any sign and payload becomes the canonical NaN of
    the format. The type may change with every element; for any other type ``o`` is unspecified.

    Latency ``latency`` clocks, initiation interval 1, no stall.

    Parameters
    ----------
    latency : int
        Clock cycles from ``i`` to ``o``, 1 to 4. Places registers only.

    Members
    -------
    dtype : In(4)
        Element type (isa_common.md 2.1).
    control : In(ConverterControl)
        Control values; no type that it converts depends on one yet.
    i : In(32)
        binary32 pattern.
    o : Out(32)
        Element, right-aligned; the upper half of a 16-bit element is zero.

    Raises
    ------
    ValueError
        If ``latency`` is out of range.
    """

    dtype: In(DTYPE)
    control: In(ConverterControl)
    i: In(32)
    o: Out(32)

    def __init__(self, *, latency: int):
        self._registers = place_registers(STAGES, latency)
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stages = Stages(m, self._registers)

        # FP16 has field e - 112; for e below 113 its field is 0 and its significand moves right by
        # 113 - e. From a distance of 12 on even the leading one is below the guard bit, and the
        # element vanishes: 100, where the distance is 13, is the boundary that takes the smallest
        # table. The hidden one that zero and subnormals do not have does no harm, for sticky
        # without guard rounds to zero. From 100 on, four bits of 113 - e are the distance.
        x = Float(self.i)
        e = x.exponent
        underflow = e < HALF_BIAS_STEP + 1
        distance = Cat(~e[0], e[1], e[1] ^ e[2], (e[1] | e[2]) ^ e[3])
        is_half = self.dtype == Dtype.FP16
        f = x.fraction
        s = stages.close(
            word=self.i,
            is_half=is_half,
            is_short=is_half | (self.dtype == Dtype.BF16),
            is_round=self.dtype == Dtype.FP32R,
            distance=Mux(underflow, distance, 0),
            vanishes=e < 100,
            # 143 = 127 + 16 is twice the binade of the largest finite element; below it, rounding
            # up to Inf is a carry into the exponent. Inf and NaN are here too.
            overflow=e >= 127 + 16,
            half_exponent=Mux(underflow, 0, Cat(e[:4], ~e[4])),
            special=x.is_special(),
            # Parts of the fraction with a one: below the guard bit of FP32R, and from there to the
            # ends of FP16's and BF16's.
            below_round=f[:ROUND_GUARD].any(),
            below_half=f[ROUND_GUARD:HALF_GUARD].any(),
            below_short=f[HALF_GUARD:SHORT_GUARD].any(),
            above_short=f[SHORT_GUARD:].any(),
        )

        # Denormalise FP16: hidden bit, 10 bits of fraction, guard bit.
        significand = Cat(s.word[HALF_GUARD:23], C(1, 1))
        coarse, lost_4 = shift_right(significand, s.distance[2:], 4)
        fine, lost_1 = shift_right(coarse, s.distance[:2], 1)
        short_sticky = s.below_round | s.below_half
        is_nan = s.special & (short_sticky | s.below_short | s.above_short)
        s = stages.close(
            word=s.word,
            is_half=s.is_half,
            is_short=s.is_short,
            is_round=s.is_round,
            half_exponent=s.half_exponent,
            half_fraction=Mux(s.vanishes, 0, fine[:-1]),
            infinite=s.is_half & s.overflow,
            is_nan=is_nan,
            round_sticky=s.below_round,
            short_sticky=short_sticky | Mux(s.is_half, lost_4 | lost_1 | s.vanishes, s.below_short),
        )

        # The upper half of the word, from the guard bit of the short formats on. But for FP16 the
        # exponent of a NaN or infinity is all ones already.
        half = Cat(
            Mux(s.infinite, Cat(C(0, 10), s.is_nan), s.half_fraction),
            s.half_exponent | s.infinite.replicate(5),
        )
        other = Cat(Mux(s.is_nan, 1 << 7, s.word[SHORT_GUARD:23]), s.word[23:31])
        upper = Mux(s.is_half, half, other)
        lower = Mux(s.is_nan, 0, s.word[:SHORT_GUARD])
        s = stages.close(
            upper=upper,
            lower=lower,
            sign=s.word[31] & ~s.is_nan,
            is_short=s.is_short,
            is_round=s.is_round,
            short_tie=upper[0] & ~s.short_sticky,
            round_tie=lower[ROUND_GUARD] & ~s.round_sticky & s.is_round,
        )

        # Half up, from the guard bit; bits 9 to 30 of the word.
        rounded = Cat(s.lower[ROUND_GUARD:], s.upper) + Cat(
            s.is_round, C(0, SHORT_GUARD - ROUND_GUARD - 1), s.is_short
        )
        short = rounded[SHORT_GUARD + 1 - ROUND_GUARD : 31 - ROUND_GUARD]
        long = rounded[1 : 31 - ROUND_GUARD]
        exact = Mux(s.is_round, 0, s.lower[: ROUND_GUARD + 1])
        o = Mux(
            s.is_short,
            Cat(short[0] & ~s.short_tie, short[1:], s.sign, C(0, 16)),
            Cat(exact, long[0] & ~s.round_tie, long[1:], s.sign),
        )
        m.d.comb += self.o.eq(stages.close(o=o).o)
        return m
