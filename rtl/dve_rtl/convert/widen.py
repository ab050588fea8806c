"""Storage format to binary32 (isa_common.md 2.5).

All types go through one normalising shift of a word of 32 bits, by 16, 8, 4 and then 2 and 1, which
brings the hidden bit to bit 31 and the fraction to bits 30:8.

*Counted* types decide by the zeros that lead: INT32, and FP16 with its hidden bit in the place of
the lowest bit of its exponent. FP32 moves by 8 and BF16 by 24 whatever their bits; bit 31 is then
set, so that no zeros lead after that.

*Negative integers* are complemented, which is 1 less than their magnitude. Ones move in from the
right then, and the word stands for itself followed by ones without end, which rounding takes into
account. If the magnitude is a power of two then the leading one is a place lower than its own, and
the carry of rounding moves it up. The lower half is complemented late, in tables that have an input
left; until then zeros move in.

*Exponent.* With p = 31 - leading zeros, the field is 127 + p for INT32 and 103 + p for a subnormal
FP16. The five bits of p are the inverted decisions of the shift. Until the end the field is
128 + p, to which the carry chain that rounds adds -1 or -25, and 1 less if the word is all zeros:
then it stands for -1, as the integer 0 and FP16's are made zero. Other types keep their field, that
of FP16 112 more.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fp32.format import FRACTION_BITS
from ..fp32.rounding import round_in_place
from ..fp32.staging import Stage, Stages, place_registers
from ..payloads import DTYPE
from .control import ConverterControl

STAGES = (
    Stage("complement a negative integer, normalise by 16", 4),
    Stage("normalise by 8, find NaN", 4),
    Stage("normalise by 4", 3),
    Stage("normalise by 2 and 1", 3),
    Stage("round to nearest even", 4),
)


class Widen(wiring.Component):
    """Widens one element per clock to binary32.

    FP32, FP16 and BF16 are exact, subnormals included; a NaN of any sign and payload becomes
    0x7FC00000. INT32 is rounded to nearest even. The type may change with every element; for
    any other type ``o`` is unspecified.

    Latency ``latency`` clocks, initiation interval 1, no stall.

    Parameters
    ----------
    latency : int
        Clock cycles from ``i`` to ``o``, 1 to 5. Places registers only.

    Members
    -------
    dtype : In(4)
        Element type (isa_common.md 2.1).
    control : In(ConverterControl)
        Control values; no type that it converts depends on one yet.
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

        x = self.i
        # Single bits tell the types apart: BF16 is 0b0110, FP16 0b0111, INT32 0b1000, FP32 0b1010.
        is_half, is_short = self.dtype[0], self.dtype[2]
        is_integer = self.dtype[3] & ~self.dtype[1]
        negative = is_integer & x[31]
        by_16 = Mux(is_integer, ~(x[16:31] ^ x[31].replicate(15)).any(), is_short)
        s = stages.close(
            upper=Mux(by_16, x[:16], x[16:]) ^ negative.replicate(16),
            lower=Mux(by_16, 0, x[:16]),  # not complemented
            by_16=by_16,
            is_half=is_half,
            is_integer=is_integer,
            negative=negative,
        )

        # The upper half of the word is an FP16 element, or has sign and exponent of the other two.
        u = s.upper
        half_is_normal = s.is_half & u[10:15].any()
        is_counted = s.is_integer | s.is_half
        is_fixed = is_counted & ~half_is_normal  # the field follows from the zeros that lead
        leads = u[8:15].any() | (u[15] & ~s.is_half)
        by_8 = ~(is_counted & leads)
        digits = Cat(u[:10], u[10] | half_is_normal, u[11:] & ~s.is_half.replicate(5))
        moved = Cat(s.lower[8:] ^ s.negative.replicate(8), u[:8])
        upper = Mux(by_8, moved, digits)

        is_special = u[10:15].all() & (s.is_half | u[7:10].all())
        has_fraction = u[:7].any() | s.lower.any() | (s.is_half & u[7:10].any())
        nan = ~s.is_integer & is_special & has_fraction
        # e + 112 for e from 1 to 30: its four low bits stay, the highest one moves up over its own
        # complement. For 31 all are ones.
        half_field = Cat(u[10:14], (~u[14] | is_special).replicate(3), u[14])
        field = Mux(s.is_half, half_field, u[7:15])
        s = stages.close(
            upper=Cat(upper[:15], upper[15] | ~is_counted),
            lower=Cat(
                Mux(by_8, 0, s.lower[:8]),
                Mux(by_8, s.lower[:8], s.lower[8:]),
            ),
            negative=s.negative,
            sign=Mux(s.is_integer, s.negative, u[15]) & ~nan,
            nan=nan,
            is_fixed=is_fixed,
            is_integer=s.is_integer,
            # The low three bits of a counted field come with their decisions.
            field=Cat(field[:3], Mux(is_fixed, Cat(~by_8, ~s.by_16, C(0b100, 3)), field[3:])),
        )

        # At most seven bits can end below the guard bit, bit 7: the lowest of an integer that has
        # not moved by bytes. Whether a one is among them is found beside the move.
        by_4 = ~s.upper[12:].any()
        word = Cat(s.lower ^ s.negative.replicate(16), s.upper)
        below = Mux(by_4, Cat(C(0, 4), s.lower[:3]), s.lower[:7])
        s = stages.close(
            word=Mux(by_4, word[:28], word[4:]),  # bits 31:4
            below=Cat(below[:4].any(), below[4:]),
            negative=s.negative,
            sign=s.sign,
            nan=s.nan,
            is_fixed=s.is_fixed,
            is_integer=s.is_integer,
            field=Cat(s.field[:2], Mux(s.is_fixed, ~by_4, s.field[2]), s.field[3:]),
        )

        top = s.word[-4:]
        by_2 = ~top[2:].any()
        by_1 = ~Mux(by_2, top[1], top[3])
        by = [s.word[3 - n :][: FRACTION_BITS + 1] for n in range(4)]  # bits 30:7 after n places
        kept = Mux(by_2, Mux(by_1, by[3], by[2]), Mux(by_1, by[1], by[0]))
        guard = kept[0]
        rest = (
            s.below[0]
            | (s.below[1] & ~(by_2 & by_1))
            | (s.below[2] & ~by_2)
            | (s.below[3] & ~by_2 & ~by_1)
        )
        nonzero = top.any()
        s = stages.close(
            sign=s.sign,
            nan=s.nan,
            zero=s.is_fixed & ~nonzero & ~s.negative,
            field=Cat(Mux(s.is_fixed, Cat(~by_1, ~by_2), s.field[:2]), s.field[2:]),
            fraction=kept[1:],
            # Below the guard bit of a negative integer are its rest, complemented, and ones without
            # end. If all are ones then they make one more guard bit: of 0 half, of 1 the next
            # number, which is exact. Otherwise they are neither nothing nor half.
            guard=guard | (s.negative & ~rest),
            sticky=rest | (guard & s.negative),
            # -1, or -25 of FP16; 1 less if there is no one.
            step=Cat(
                s.is_fixed & nonzero,
                s.is_fixed.replicate(2),
                s.is_integer.replicate(2),
                s.is_fixed,
            ),
        )

        rounded = round_in_place(s.field, s.fraction, s.guard, s.sticky, s.step)
        o = Cat(
            Mux(s.nan, 1 << FRACTION_BITS - 1, rounded[:FRACTION_BITS]),
            Mux(s.zero, 0, rounded[FRACTION_BITS:]),
            s.sign,
        )
        m.d.comb += self.o.eq(stages.close(o=o).o)
        return m
