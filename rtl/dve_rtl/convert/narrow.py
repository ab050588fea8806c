"""binary32 to storage format (isa_common.md 2.5)."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from ..fp32.staging import Stage, Stages, place_registers
from ..payloads import DTYPE

STAGES = (
    Stage("find the distance to FP16's range", 5),
    Stage("denormalise", 3),
    Stage("select the format, decide the rounding", 5),
    Stage("round", 6),
)

CANONICAL_NAN = {
    Dtype.FP32: 0x7FC00000,
    Dtype.FP32R: 0x7FC00000,
    Dtype.FP16: 0x7E00,
    Dtype.BF16: 0x7FC0,
}
HALF_INFINITY = 0x7C00


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
    i: In(32)
    o: Out(32)

    def __init__(self, *, latency: int):
        self._registers = place_registers(STAGES, latency)
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stages = Stages(m, self._registers)

        # How far FP16 must denormalise. An FP16 exponent is 112 less than the binary32 one, and
        # the least normal one is 1, i.e. 113 here; below that the significand moves right by
        # 113 - e. A distance of 11 puts its leading one into the guard position, and from 12 on
        # all of it is sticky.
        mantissa, exponent = self.i[:23], self.i[23:31]
        underflow = exponent < 113
        distance = Mux(exponent < 102, 12, (113 - exponent)[:4])
        s = stages.close(
            word=self.i,
            dtype=self.dtype,
            distance=Mux(underflow, distance, 0),
            # One less than the biased exponent: the leading one of the significand adds it.
            half_exponent=Mux(underflow, 0, exponent - 113)[:5],
            # 143 = 127 + 16 is twice the binade of the largest finite; below it, rounding up
            # to Inf is a carry into the exponent. Inf itself is here too.
            half_overflow=exponent >= 143,
            is_nan=exponent.all() & mantissa.any(),
        )

        # Denormalise for FP16. Twelve bits below the significand catch what is moved out. The
        # hidden one that binary32 zero and subnormals do not have does no harm: distance 12 makes
        # it sticky only, and sticky without guard rounds to zero.
        significand = Signal(36)
        m.d.comb += significand.eq(Cat(C(0, 12), s.word[:23], C(1, 1)) >> s.distance)
        s = stages.close(
            word=s.word,
            dtype=s.dtype,
            half_exponent=s.half_exponent,
            half_overflow=s.half_overflow,
            is_nan=s.is_nan,
            significand=significand,
        )

        # Keep the bits of the format, decide the direction. Exponent and mantissa of BF16 and
        # FP32R are a prefix of binary32's, so rounding acts on the pattern: subnormals need no
        # extra case, and a carry reaches Inf by itself.
        kept = Signal(31)
        guard = Signal()
        sticky = Signal()
        last = Signal()
        unit = Signal(11)  # weight of an increment in `kept`: bit 0, or bit 10 for FP32R
        canonical = Signal(31)
        with m.Switch(s.dtype):
            with m.Case(Dtype.FP16):
                m.d.comb += [
                    kept.eq((s.half_exponent << 10) + s.significand[25:]),
                    last.eq(s.significand[25]),
                    guard.eq(s.significand[24]),
                    sticky.eq(s.significand[:24].any()),
                    unit.eq(1),
                ]
            with m.Case(Dtype.BF16):
                m.d.comb += [
                    kept.eq(s.word[16:31]),
                    last.eq(s.word[16]),
                    guard.eq(s.word[15]),
                    sticky.eq(s.word[:15].any()),
                    unit.eq(1),
                ]
            with m.Case(Dtype.FP32R):
                m.d.comb += [
                    kept.eq(Cat(C(0, 10), s.word[10:31])),
                    last.eq(s.word[10]),
                    guard.eq(s.word[9]),
                    sticky.eq(s.word[:9].any()),
                    unit.eq(1 << 10),
                ]
            with m.Default():
                m.d.comb += kept.eq(s.word[:31])
        with m.Switch(s.dtype):
            for code, pattern in CANONICAL_NAN.items():
                with m.Case(code):
                    m.d.comb += canonical.eq(pattern)

        is_half = s.dtype == Dtype.FP16
        is_short = is_half | (s.dtype == Dtype.BF16)
        replaced = s.is_nan | (is_half & s.half_overflow)
        s = stages.close(
            kept=Mux(replaced, Mux(s.is_nan, canonical, HALF_INFINITY), kept),
            increment=Mux(~replaced & guard & (sticky | last), unit, 0),
            sign_low=s.word[31] & is_short & ~s.is_nan,
            sign_high=s.word[31] & ~is_short & ~s.is_nan,
        )

        # Round and put the sign in its place. A 16-bit result never reaches bit 15.
        magnitude = (s.kept + s.increment)[:31]
        s = stages.close(o=Cat(magnitude, s.sign_high) | (s.sign_low << 15))
        m.d.comb += self.o.eq(s.o)
        return m
