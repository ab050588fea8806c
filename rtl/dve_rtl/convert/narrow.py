"""binary32 to storage format (isa_common.md 2.5, 2.6).

*One rounding position.* Every result is an integer: of an integer type its magnitude, of a float
the pattern below its sign, in which a carry out of the fraction gives the next exponent by itself.
The significand, with its hidden bit in the place of bit 31, moves right until the last bit that the
result keeps is bit 0. One carry chain then adds the exponent field, in its place, and what rounding
adds. Only FP32R, which is FP32 until then, is rounded elsewhere, at bit 10.

*Distance.* An integer, and a subnormal result of FP16 or FP8, is a multiple of a fixed power of
two: the distance is a constant minus the exponent field. Other floats move by a constant and have
no hidden bit. From a distance of 33 on nothing is left but the sticky bit; at 32 the hidden bit is
the guard bit. FP32, FP32R and BF16 have binary32's exponent: subnormals need no extra case.

*Exponent field.* That of FP16 and FP8 is the binary32 field modulo 32, 16 or 8 with its highest bit
inverted, because the bias of binary32 is greater by 112, 120 or 124.

*Overflow.* A number is beyond the largest finite if its field is greater than the largest, or equal
to it where the fraction rounds to infinity: all bits down to the guard bit are ones. Where the last
code of the largest exponent is NaN, the fraction is above the middle between the last two codes.

*Special results.* With the significand cleared, an exponent field of ones is infinity. The highest
fraction bit of a NaN stays set: it moves to the highest of the result, the quiet bit. The largest
finite is 1 less than infinity, so ones are added, which the cleared significand is when inverted.
So is a negative integer, with a carry where rounding adds nothing: -(v + up) = ~v + 1 - up. A
signed integer that saturates is the power of two beyond its largest, less 1 if it is positive.
"""

from collections.abc import Mapping
from typing import NamedTuple

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from ..fp32.format import BIAS, EXPONENT_BITS, FRACTION_BITS, MAX_FIELD, Float
from ..fp32.rounding import shift_right
from ..fp32.staging import Stage, Stages, place_registers
from ..payloads import DTYPE
from .control import ConverterControl

STAGES = (
    Stage("classify, find the distance", 4),
    Stage("find overflow, clear special results", 4),
    Stage("move by 8 and 16", 2),
    Stage("move by 4, 2 and 1, complement", 3),
    Stage("round, add the exponent", 5),
)


class Narrow(wiring.Component):
    """Narrows one binary32 element per clock to its storage format.

    Floats are rounded to nearest even with gradual underflow; FP32R has 1/8/13 bits in a 32-bit
    container, the low 10 bits zero; FP32 passes. Integers are rounded as the control values say,
    then saturated. Overflow, infinity and NaN become what isa_common.md 2.5 and 2.6 say; no NaN
    keeps sign or payload. The type may change with every element; for INVALID and the 64-bit types
    ``o`` is unspecified.

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
    i : In(32)
        binary32 pattern.
    o : Out(32)
        Element, right-aligned; bits above its size are unspecified.

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
        control = self.control

        x, dtype = Float(self.i), self.dtype
        e, f = x.exponent, x.fraction
        is_small = dtype.matches(*_SMALL)
        is_exp3, is_exp4 = dtype == Dtype.FP8_EXP3, dtype == Dtype.FP8_EXP4
        is_integer = dtype.matches(*_INTEGERS)
        extended = (is_exp3 & control.range_extension) | (is_exp4 & control.emax_e4m3_is_8)
        # Subnormal results of a small type have fields below 113, 121 or 125: 0b01110000 and the
        # bits that its own exponent lacks are the last of them.
        in_last = ~e[7] & e[4:7].all() & (e[3] | ~(is_exp3 | is_exp4)) & (e[2] | ~is_exp3)
        ends = e[:2].any() | (e[2] & ~is_exp3) | (e[3] & ~(is_exp3 | is_exp4))
        underflows = is_small & ~e[7] & ~(in_last & ends)
        moves = is_integer | underflows
        distance = (_constant(dtype, _BASES, EXPONENT_BITS) - e)[:EXPONENT_BITS]
        ones = {bits: f[FRACTION_BITS - bits :].all() for bits in range(FRACTION_BITS)}
        below_round = f[: ROUND_BIT - 1].any()
        # Of an extended type all ones are NaN: above the middle between it and the largest finite.
        above_exp4 = f[21:].all() & (f[20] | (f[19] & f[:19].any()))
        above_exp3 = f[20:].all() & (f[19] | (f[18] & f[:18].any()))
        to_infinity = Mux(
            extended,
            Mux(is_exp3, above_exp3, above_exp4),
            _value(dtype, {form: ones[bits] for form, bits in _OVERFLOW_ONES.items()})
            & (control.nearest_even | ~is_integer),
        )
        to_normal = Mux(is_small, in_last, x.is_subnormal_or_zero()) & _value(
            dtype, {form: ones[bits] for form, bits in _NORMAL_ONES.items()}
        )
        largest = _constant(dtype, _LARGEST, EXPONENT_BITS) | extended  # 134 and 130 are even
        s = stages.close(
            e=e,
            f=f,
            sign=x.sign,
            has_fraction=f.any(),
            nan=x.is_nan(),
            dtype=dtype,
            is_small=is_small,
            is_integer=is_integer,
            extended=extended,
            moves=moves,
            underflows=underflows,
            distance=Mux(moves, distance, _constant(dtype, _DISTANCES, EXPONENT_BITS)),
            is_above=(e + ~largest)[EXPONENT_BITS],
            is_largest=e == largest,
            to_infinity=to_infinity,
            flushed=Mux(is_small, underflows, x.is_subnormal_or_zero() & ~is_integer)
            & ~to_normal
            & control.flush_to_zero,
            round_up=(dtype == Dtype.FP32R) & f[ROUND_BIT - 1] & (f[ROUND_BIT] | below_round),
        )

        is_signed = s.dtype.matches(*_SIGNED)
        is_short = s.dtype.matches(Dtype.FP16, Dtype.BF16)
        overflows = s.is_above | (s.is_largest & s.to_infinity)
        is_zero = s.flushed | (s.is_integer & ~is_signed & s.sign)
        cleared = overflows | is_zero
        saturates = Mux(
            s.nan,
            is_short & control.sns,
            Mux(
                s.is_integer,
                ~s.sign,
                Mux(is_short, control.sis, control.ocp_sat & s.is_small),
            ),
        )
        field = Cat(
            s.e[:2],
            s.e[2] ^ (s.dtype == Dtype.FP8_EXP3),
            s.e[3] ^ (s.dtype == Dtype.FP8_EXP4),
            s.e[4] ^ (s.dtype.matches(Dtype.FP16, Dtype.FP8_EXP5)),
            s.e[5:],
        )
        negative = s.sign & is_signed & ~cleared
        far = s.distance[5:].any()
        s = stages.close(
            dtype=s.dtype,
            fraction=Cat(
                Mux(cleared | (s.dtype == Dtype.FP32R), 0, s.f[:ROUND_BIT]),
                Mux(cleared, 0, s.f[ROUND_BIT:-1]),
                Mux(cleared, s.nan & ~s.is_integer & ~s.extended & ~saturates, s.f[-1]),
            ),
            hidden=s.moves & ~cleared,
            has_fraction=s.has_fraction,
            distance=s.distance[:5],
            far=far,
            is_32=~s.distance[6:].any() & ~s.distance[:5].any() & ~cleared,  # if it is far
            field=Mux(s.underflows, 0, field | overflows.replicate(EXPONENT_BITS)),
            # An integer type has the power of two above its largest in the place of the sign.
            top=Mux(
                s.is_integer,
                is_signed & overflows & ~s.nan,
                s.sign & ~s.nan & ~(s.extended & overflows & ~control.ocp_sat),
            ),
            last_code=s.extended & overflows,
            negative=negative,
            inverts=negative | (overflows & saturates & ~is_zero),
            rounds=~s.is_integer | control.nearest_even,
            round_up=s.round_up & ~cleared,
        )

        # Guard bit first, then the 32 bits of the result.
        word = Cat(C(0, 33 - 1 - FRACTION_BITS), s.fraction, s.hidden)
        coarse, lost = shift_right(word, s.distance[3:5], 8)
        s = stages.close(
            word=Cat(Mux(s.far, s.is_32, coarse[0]), Mux(s.far, 0, coarse[1:])),
            distance=s.distance[:3],
            sticky=Mux(s.far, s.has_fraction, lost),
            addend=_addend(s),
            negative=s.negative,
            inverts=s.inverts,
            rounds=s.rounds,
        )

        fine, lost = shift_right(s.word, s.distance[1:3], 2)
        last = Mux(s.distance[0], fine[1:], fine)
        s = stages.close(
            value=last[1:33] ^ s.inverts.replicate(32),
            odd=last[1],
            guard=last[0] & s.rounds,
            sticky=s.sticky | lost | (s.distance[0] & fine[0]),
            addend=s.addend,
            negative=s.negative,
        )

        up = s.guard & (s.odd | s.sticky)
        carry = up ^ s.negative
        m.d.comb += self.o.eq(stages.close(o=(s.value + s.addend + carry)[:32]).o)
        return m


class _Float(NamedTuple):
    exponent: int
    fraction: int

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1


ROUND_BIT = 10
"""Last fraction bit of FP32R in its container."""

_SMALL = {
    Dtype.FP16: _Float(5, 10),
    Dtype.FP8_EXP5: _Float(5, 2),
    Dtype.FP8_EXP4: _Float(4, 3),
    Dtype.FP8_EXP3: _Float(3, 4),
}
"""Bits of exponent and fraction; `_WIDE` has the exponent of binary32."""

_WIDE = {
    Dtype.BF16: _Float(8, 7),
    Dtype.FP32R: _Float(8, 13),
    Dtype.FP32: _Float(8, 23),
}

_FLOATS = _SMALL | _WIDE

_SIGNED = {Dtype.INT8: 7, Dtype.INT16: 15, Dtype.INT32: 31}
"""Bits of a magnitude."""

_INTEGERS = _SIGNED | {Dtype.UINT8: 8, Dtype.UINT16: 16, Dtype.UINT32: 32}

_OF_8_BITS = (Dtype.INT8, Dtype.UINT8, Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5)
_OF_16_BITS = (Dtype.INT16, Dtype.UINT16, Dtype.FP16, Dtype.BF16)

_BASES = dict.fromkeys(_INTEGERS, BIAS + 31) | {
    dtype: BIAS + 31 - (form.bias - 1 + form.fraction) for dtype, form in _SMALL.items()
}
"""Field of a number whose hidden bit is bit 31 of the result, in units of the result."""

_DISTANCES = {
    dtype: 31 - (FRACTION_BITS if dtype == Dtype.FP32R else form.fraction)
    for dtype, form in _FLOATS.items()
}
"""From the hidden bit at bit 31 to its place above the fraction of a float."""

_LARGEST = {
    **{dtype: BIAS + bits - 1 for dtype, bits in _INTEGERS.items()},
    **{dtype: BIAS + form.bias for dtype, form in _SMALL.items()},
    **dict.fromkeys(_WIDE, MAX_FIELD - 1),
}
"""Field of the largest finite, if the type is not extended."""

_OVERFLOW_ONES = {
    **{dtype: bits for dtype, bits in _INTEGERS.items() if bits < FRACTION_BITS},
    **{dtype: form.fraction + 1 for dtype, form in _FLOATS.items() if form.fraction < 10 + 1},
}
"""Fraction bits down to the guard bit; there is none of FP32 and of integers of 32 bits, and FP32R
reaches infinity by a carry."""

_NORMAL_ONES = {
    **{dtype: form.fraction for dtype, form in _SMALL.items()},
    Dtype.BF16: 7 + 1,
    Dtype.FP32R: 13 + 1,
}
"""The same of the binade below the smallest normal: there a fraction has a bit less, but in that of
binary32, which has no hidden bit."""


def _constant(dtype, table: Mapping[Dtype, int], width: int):
    """The entry of the type, 0 of a type that has none; a table of 4 inputs for each bit."""
    return Cat(
        dtype.matches(*(entry for entry, value in table.items() if value >> bit & 1))
        for bit in range(width)
    )


def _value(dtype, table: Mapping[Dtype, Value]):
    """The same for entries that are no constants."""
    chosen = C(0, 1)
    for entry, value in table.items():
        chosen |= Mux(dtype == entry, value, 0)
    return chosen


def _addend(s):
    """What the carry chain adds to the word: exponent field, sign and the like in their places."""
    placed = {
        dtype: Cat(
            C(0, FRACTION_BITS if dtype == Dtype.FP32R else form.fraction), s.field[: form.exponent]
        )
        for dtype, form in _FLOATS.items()
    }
    is_8, is_16 = s.dtype.matches(*_OF_8_BITS), s.dtype.matches(*_OF_16_BITS)
    top = Mux(is_8, 1 << 7, Mux(is_16, 1 << 15, 1 << 31)) & s.top.replicate(32)
    return (
        _value(s.dtype, placed) | top | s.last_code.replicate(4) | Cat(C(0, ROUND_BIT), s.round_up)
    )
