"""Bit-vector operators on raw elements (isa_common.md 5.4, 6.3).

A function of each pair of bits, then a shift to the right; a left shift is one of the reversed
word. A shift of the first operand has the function that passes it, a function has a shift by 0, so
that one word goes through both and no result needs a choice at the end. What lies above the element
is zero before, so only an arithmetic shift to the right must know the width: it fills from the
element's top bit on. A count of 32 or more leaves nothing but fill; one that is less, but not less
than the width, shifts every bit of the element out by itself.
"""

from amaranth import *
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.operators import AluOp

from ..fp32.staging import Stage, Stages, place_registers

STAGES = (
    Stage("function of two bits, extend the sign, reverse for a left shift", 4),
    Stage("shift by 16 and 8", 2),
    Stage("shift by 4, 2 and 1", 3),
    Stage("reverse back, or fill", 2),
)

WIDTH = 32
"""Bits of the largest element."""

COUNT_BITS = 5
"""A count with a one above these is 32 or more."""


class Function(enum.Enum, shape=3):
    """A function of two bits."""

    FIRST = 0
    NOT_FIRST = 1
    AND = 2
    OR = 3
    XOR = 4
    SECOND = 5


class BitvecControl(data.Struct):
    """What a `Bitvec` does; constant while elements are in it."""

    function: Function
    shifts: 1  # by the second operand
    left: 1
    arithmetic: 1  # copies of the top bit move in
    log2_bytes: 2  # of the elements: 0 to 2


OPERATORS: dict[AluOp, dict[str, object]] = {
    AluOp.BYPASS: {"function": Function.FIRST},
    AluOp.BITWISE_NOT: {"function": Function.NOT_FIRST},
    AluOp.BITWISE_AND: {"function": Function.AND},
    AluOp.BITWISE_OR: {"function": Function.OR},
    AluOp.BITWISE_XOR: {"function": Function.XOR},
    AluOp.ARITH_SHIFT_LEFT: {"shifts": 1, "left": 1},
    AluOp.LOGICAL_SHIFT_LEFT: {"shifts": 1, "left": 1},
    AluOp.ARITH_SHIFT_RIGHT: {"shifts": 1, "arithmetic": 1},
    AluOp.LOGICAL_SHIFT_RIGHT: {"shifts": 1},
}
"""Control of each general bit-vector operator, without the size."""


class Bitvec(wiring.Component):
    """One operation on raw elements per clock.

    Parameters
    ----------
    latency : int
        Clocks from operands to result, 1 to 4. Only moves registers; never changes a result.

    Members
    -------
    control : In(BitvecControl)
    a, b : In(32)
        Elements, right-aligned, zero above their size.
    o : Out(32)
        Result for the elements ``latency`` clocks earlier, out of a register, right-aligned. Bits
        above the element's size mean nothing.

    Raises
    ------
    ValueError
        If ``latency`` is out of range.
    """

    control: In(BitvecControl)
    a: In(WIDTH)
    b: In(WIDTH)
    o: Out(WIDTH)

    def __init__(self, *, latency: int):
        self._registers = place_registers(STAGES, latency)
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        stages = Stages(m, self._registers)
        control, a, b = self.control, self.a, self.b

        word = Signal(WIDTH)
        with m.Switch(control.function):
            for function, value in (
                (Function.FIRST, a),
                (Function.NOT_FIRST, ~a),
                (Function.AND, a & b),
                (Function.OR, a | b),
                (Function.XOR, a ^ b),
                (Function.SECOND, b),
            ):
                with m.Case(function):
                    m.d.comb += word.eq(value)

        size = control.log2_bytes
        top = Mux(size[1], a[31], Mux(size[0], a[15], a[7]))
        fill = control.arithmetic & top
        above_byte, above_short = fill & (size == 0), fill & ~size[1]
        extended = word | Cat(C(0, 8), above_byte.replicate(8), above_short.replicate(16))
        s = stages.close(
            word=Mux(control.left, word[::-1], extended),
            count=b[:COUNT_BITS] & control.shifts.replicate(COUNT_BITS),
            fill=fill,
            all_fill=control.shifts & b[COUNT_BITS:].any(),
        )

        def shifted(word, by):
            return Cat(word[by:], s.fill.replicate(by))

        by_16 = Mux(s.count[4], shifted(s.word, 16), s.word)
        by_8 = Mux(s.count[3], shifted(by_16, 8), by_16)
        s = stages.close(word=by_8, count=s.count[:3], fill=s.fill, all_fill=s.all_fill)

        by_4 = Mux(s.count[2], shifted(s.word, 4), s.word)
        by_2 = Mux(s.count[1], shifted(by_4, 2), by_4)
        by_1 = Mux(s.count[0], shifted(by_2, 1), by_2)
        s = stages.close(word=by_1, fill=s.fill, all_fill=s.all_fill)

        o = Mux(s.all_fill, s.fill.replicate(WIDTH), Mux(control.left, s.word[::-1], s.word))
        m.d.comb += self.o.eq(stages.close(o=o).o)
        return m
