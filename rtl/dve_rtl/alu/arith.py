"""Operators on binary32 that choose one operand, compare both, or combine their truth values.

Of two magnitudes one subtraction finds the smaller one; with the signs it gives the order. Nothing
here rounds: operators that do are the fp32 units' (isa_common.md 6.1, 6.3).
"""

from amaranth import *
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.operators import AluOp

from ..fp32.format import BIAS, FRACTION_BITS, Float
from ..fp32.staging import Stage, Stages, place_registers

STAGES = (
    Stage("clear signs, compare magnitudes", 5),
    Stage("order, decide", 3),
    Stage("choose", 2),
)

ONE = BIAS << FRACTION_BITS
"""The truth value 1.0; the other one is +0."""


class Choice(enum.Enum, shape=2):
    """Which operand is the result.

    A NaN is neither larger nor smaller than a number, so that the number is chosen, and +0 is
    larger than -0: maxNum and minNum of IEEE 754-2008 (isa_common.md 6.3).
    """

    FIRST = 0
    SECOND = 1
    LARGER = 2
    SMALLER = 3


class Facts(data.Struct):
    """What can be true of two operands: of the first four one is, and one or none of the others."""

    less: 1  # the first is less than the second
    equal: 1  # as numbers: zeros of both signs are
    greater: 1
    unordered: 1  # there is a NaN
    both: 1  # both operands are true, that is not zero; NaN is true
    one: 1  # just one is


class ArithControl(data.Struct):
    """What an `Arith` does; constant while elements are in it."""

    magnitudes: 1  # of both operands, instead of the operands
    with_zero: 1  # +0 instead of the second operand
    choice: Choice
    is_truth: 1  # the result is whether one of `facts` is true, not the chosen operand
    facts: Facts


def _truth(*facts: str) -> dict[str, object]:
    return {"is_truth": 1, "facts": dict.fromkeys(facts, 1)}


OPERATORS: dict[AluOp, dict[str, object]] = {
    AluOp.BYPASS: {"choice": Choice.FIRST},
    AluOp.MAX: {"choice": Choice.LARGER},
    AluOp.MIN: {"choice": Choice.SMALLER},
    AluOp.ABSOLUTE_VALUE: {"choice": Choice.FIRST, "magnitudes": 1},
    AluOp.ABS_MAX: {"choice": Choice.LARGER, "magnitudes": 1},
    AluOp.ABS_MIN: {"choice": Choice.SMALLER, "magnitudes": 1},
    AluOp.RE_LU: {"choice": Choice.LARGER, "with_zero": 1},
    AluOp.LOGICAL_AND: _truth("both"),
    AluOp.LOGICAL_OR: _truth("both", "one"),
    AluOp.LOGICAL_XOR: _truth("one"),
    AluOp.IS_EQ: _truth("equal"),
    AluOp.IS_NE: _truth("less", "greater", "unordered"),
    AluOp.IS_GT: _truth("greater"),
    AluOp.IS_GE: _truth("greater", "equal"),
    AluOp.IS_LE: _truth("less", "equal"),
    AluOp.IS_LT: _truth("less"),
}
"""Control of each operator that this unit computes."""

SECOND = {"choice": Choice.SECOND}
"""Control that passes the second operand."""


class Arith(wiring.Component):
    """One operation per clock.

    Parameters
    ----------
    latency : int
        Clocks from operands to result, 1 to 3. Only moves registers; never changes a result.

    Members
    -------
    control : In(ArithControl)
    a, b : In(32)
        Operands, binary32 patterns. A NaN is the canonical one, as widening gives it.
    o : Out(32)
        Result for the operands ``latency`` clocks earlier, out of a register.

    Raises
    ------
    ValueError
        If ``latency`` is out of range.
    """

    control: In(ArithControl)
    a: In(32)
    b: In(32)
    o: Out(32)

    def __init__(self, *, latency: int):
        self._registers = place_registers(STAGES, latency)
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stages = Stages(m, self._registers)
        control = self.control
        a = Float(self.a)
        b = Float(Mux(control.with_zero, 0, self.b))
        keep_sign = ~control.magnitudes
        s = stages.close(
            a=a.magnitude(),
            b=b.magnitude(),
            a_sign=a.sign & keep_sign,
            b_sign=b.sign & keep_sign,
            a_nan=_is_canonical_nan(a),
            b_nan=_is_canonical_nan(b),
            below=a.magnitude() < b.magnitude(),
            same=a.magnitude() == b.magnitude(),
            a_true=~a.is_zero(),
            b_true=~b.is_zero(),
        )

        signs_differ = s.a_sign ^ s.b_sign
        # With -0 below +0.
        a_below = Mux(signs_differ, s.a_sign, Mux(s.a_sign, ~s.below & ~s.same, s.below))
        unordered = s.a_nan | s.b_nan
        zeros = ~(s.a_true | s.b_true)
        equal = zeros | (s.same & ~signs_differ)
        facts = Signal(Facts)
        m.d.comb += [
            facts.less.eq(~unordered & ~equal & a_below),
            facts.equal.eq(~unordered & equal),
            facts.greater.eq(~unordered & ~equal & ~a_below),
            facts.unordered.eq(unordered),
            facts.both.eq(s.a_true & s.b_true),
            facts.one.eq(s.a_true ^ s.b_true),
        ]
        prefers_second = Mux(control.choice == Choice.LARGER, a_below, ~a_below)
        second = Signal()
        with m.Switch(control.choice):
            with m.Case(Choice.SECOND):
                m.d.comb += second.eq(1)
            with m.Case(Choice.LARGER, Choice.SMALLER):
                m.d.comb += second.eq(s.a_nan | (~s.b_nan & prefers_second))
        s = stages.close(
            a=Cat(s.a, s.a_sign),
            b=Cat(s.b, s.b_sign),
            second=second,
            truth=(facts.as_value() & control.facts.as_value()).any(),
        )

        chosen = Mux(s.second, s.b, s.a)
        o = Mux(control.is_truth, Mux(s.truth, ONE, 0), chosen)
        m.d.comb += self.o.eq(stages.close(o=o).o)
        return m


def _is_canonical_nan(x: Float) -> Value:
    return x.is_special() & x.fraction[-1]
