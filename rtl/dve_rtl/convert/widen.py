"""Storage format to binary32 (isa_common.md 2.5, 2.6).

All types go through one normalising shift of a word of 32 bits, by 16, 8, 4 and then 2 and 1, which
brings the hidden bit to bit 31 and the fraction to bits 30:8.

*FP8* elements first get the place of FP16: sign at the top, the fraction from bit 9 downwards, the
exponent field above it. As FP16 numbers they have their value times 2^-8 (FP8_EXP4) or 2^-12
(FP8_EXP3), subnormals included, because the bias of FP16 is greater by that; the exponent makes up
for it in the end. FP8_EXP5 has FP16's bias.

*Counted* types decide by the zeros that lead: integers, and FP16 with its hidden bit in the place
of the lowest bit of its exponent. FP32 moves by 8 and BF16 by 24 whatever their bits; bit 31 is
then set, so that no zeros lead after that.

*Negative integers* are complemented, which is 1 less than their magnitude. Ones move in from the
right then, and the word stands for itself followed by ones without end, which rounding takes into
account. If the magnitude is a power of two then the leading one is a place lower than its own, and
the carry of rounding moves it up. The lower half is complemented late, in tables that have an input
left; until then zeros move in.

*Exponent.* With p = 31 - leading zeros, the field is 127 + p for integers and 103 + p for a
subnormal FP16. The five bits of p are the inverted decisions of the shift. Until the end the field
is 128 + p, to which the carry chain that rounds adds a step of -1 or -25, and 1 less if the word is
all zeros: then it stands for -1, as the integer 0 and FP16's are made zero. A normal FP16 element
of field e has 112 + e: 128 + e, and a step of -16. The steps of FP8_EXP4 and FP8_EXP3 are 8 and 12
more. FP32 and BF16 keep their field.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from ..fp32.format import FRACTION_BITS
from ..fp32.rounding import round_in_place
from ..fp32.staging import Stage, Stages, place_registers
from ..payloads import DTYPE
from .control import ConverterControl

STAGES = (
    Stage("FP8 in the place of FP16, complement a negative integer, normalise by 16", 4),
    Stage("normalise by 8, find NaN", 4),
    Stage("normalise by 4", 3),
    Stage("normalise by 2 and 1", 3),
    Stage("round to nearest even", 4),
)


class Widen(wiring.Component):
    """Widens one element per clock to binary32.

    Floats are exact, subnormals included; a NaN of any sign and payload becomes 0x7FC00000.
    Integers are exact up to 2^24 and rounded to nearest even beyond. The type may change with
    every element; for INVALID, FP32R and the 64-bit types ``o`` is unspecified.

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
        Which codes of FP8_EXP4 and FP8_EXP3 are infinity or NaN, and whether a subnormal element
        counts as zero of its sign.
    i : In(32)
        Element, right-aligned; bits above its size are zero.
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

        x, dtype, control = self.i, self.dtype, self.control
        is_fp8 = dtype.matches(*_FP8)
        is_exp3, is_exp4, is_exp5 = (dtype == fp8 for fp8 in _FP8)
        is_integer = dtype.matches(*_INTEGERS)
        # Bits above the element are zero, also those of a negative integer.
        top = Mux(dtype == Dtype.INT32, x[31], Mux(dtype == Dtype.INT16, x[15], x[7]))
        negative = dtype.matches(*_SIGNED) & top
        extension = (negative & (dtype == Dtype.INT32)).replicate(16)
        by_16 = Mux(is_integer, ~(x[16:] ^ extension).any(), dtype != Dtype.FP32)
        code = Mux(is_exp5, Cat(C(0, 2), x[:7]), Mux(is_exp4, Cat(C(0, 1), x[:7]), x[:7]))
        short = Cat(Mux(is_fp8, 0, x[:6]), Mux(is_fp8, Cat(code, x[7]), x[6:16]))
        inverted = Cat(
            negative.replicate(8),
            (negative & (dtype != Dtype.INT8)).replicate(8),
        )
        s = stages.close(
            upper=Mux(by_16, short, x[16:]) ^ inverted,
            lower=Mux(by_16, 0, x[:16]),  # not complemented
            by_16=by_16,
            is_small=is_fp8 | (dtype == Dtype.FP16),
            is_exp3=is_exp3,
            is_exp4=is_exp4,
            # The last exponent of the type holds numbers, and its last code is the only NaN.
            is_extended=(is_exp3 & control.range_extension) | (is_exp4 & control.emax_e4m3_is_8),
            is_integer=is_integer,
            negative=negative,
        )

        # The upper half of the word is an element in the place of FP16 (`is_small`), or has sign
        # and exponent of another float.
        u = s.upper
        small_is_normal = s.is_small & u[10:15].any()
        is_counted = s.is_integer | s.is_small
        is_fixed = is_counted & ~small_is_normal  # the field follows from the zeros that lead
        leads = u[8:15].any() | (u[15] & ~s.is_small)
        by_8 = ~(is_counted & leads)
        digits = Cat(u[:10], u[10] | small_is_normal, u[11:] & ~s.is_small.replicate(5))
        moved = Cat(s.lower[8:] ^ s.negative.replicate(8), u[:8])
        upper = Mux(by_8, moved, digits)

        last_exponent = (
            u[10:13].all()
            & (u[13] | s.is_exp3)
            & (u[14] | s.is_exp3 | s.is_exp4)
            & (s.is_small | u[7:10].all())
        )
        # Of FP8 bits 7:9 or 6:9 are all of the fraction.
        last_code = u[7:10].all() & (u[6] | s.is_exp4)
        has_fraction = u[:7].any() | s.lower.any() | (s.is_small & u[7:10].any())
        is_last = last_exponent & ~s.is_integer
        nan = is_last & Mux(s.is_extended, last_code, has_fraction)
        is_special = is_last & (~s.is_extended | last_code)
        tiny = Mux(s.is_small, ~small_is_normal, ~u[7:15].any()) & ~s.is_integer
        flushed = tiny & control.flush_to_zero
        field = Mux(s.is_small, Cat(u[10:15], C(0b100, 3)), u[7:15]) | is_special.replicate(8)
        s = stages.close(
            upper=Cat(upper[:15], upper[15] | ~is_counted),
            lower=Cat(
                Mux(by_8, 0, s.lower[:8]),
                Mux(by_8, s.lower[:8], s.lower[8:]),
            ),
            negative=s.negative,
            sign=Mux(s.is_integer, s.negative, u[15]) & ~nan,
            nan=nan,
            flushed=flushed,
            has_no_fraction=nan | flushed,
            is_fixed=is_fixed,
            is_integer=s.is_integer,
            # The low three bits of a counted field come with their decisions.
            field=Cat(field[:3], Mux(is_fixed, Cat(~by_8, ~s.by_16, C(0b100, 3)), field[3:])),
            step=_step(
                is_integer=s.is_integer,
                is_fixed=is_fixed,
                is_normal=small_is_normal & ~is_special,
                is_exp3=s.is_exp3,
                is_exp4=s.is_exp4,
            ),
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
            flushed=s.flushed,
            has_no_fraction=s.has_no_fraction,
            is_fixed=s.is_fixed,
            field=Cat(s.field[:2], Mux(s.is_fixed, ~by_4, s.field[2]), s.field[3:]),
            step=s.step,
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
            has_no_fraction=s.has_no_fraction,
            zero=s.flushed | (s.is_fixed & ~nonzero & ~s.negative),
            field=Cat(Mux(s.is_fixed, Cat(~by_1, ~by_2), s.field[:2]), s.field[2:]),
            fraction=kept[1:],
            # Below the guard bit of a negative integer are its rest, complemented, and ones without
            # end. If all are ones then they make one more guard bit: of 0 half, of 1 the next
            # number, which is exact. Otherwise they are neither nothing nor half.
            guard=guard | (s.negative & ~rest),
            sticky=rest | (guard & s.negative),
            step=Cat(s.step[0] & nonzero, s.step[1:]),  # 1 less if there is no one
        )

        rounded = round_in_place(s.field, s.fraction, s.guard, s.sticky, s.step)
        o = Cat(
            Mux(s.has_no_fraction, Cat(C(0, FRACTION_BITS - 1), s.nan), rounded[:FRACTION_BITS]),
            Mux(s.zero, 0, rounded[FRACTION_BITS:]),
            s.sign,
        )
        m.d.comb += self.o.eq(stages.close(o=o).o)
        return m


_SIGNED = (Dtype.INT8, Dtype.INT16, Dtype.INT32)
_INTEGERS = (*_SIGNED, Dtype.UINT8, Dtype.UINT16, Dtype.UINT32)
_FP8 = (Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5)


def _step(*, is_integer, is_fixed, is_normal, is_exp3, is_exp4):
    """What the exponent field of a word with a one lacks until the end; signed, 6 bits."""
    of_fixed = Mux(is_exp3, C(-13, 6), Mux(is_exp4, C(-17, 6), C(-25, 6)))
    of_normal = Mux(is_exp3, C(-4, 6), Mux(is_exp4, C(-8, 6), C(-16, 6)))
    return Mux(is_integer, C(-1, 6), Mux(is_fixed, of_fixed, Mux(is_normal, of_normal, 0)))[:6]
