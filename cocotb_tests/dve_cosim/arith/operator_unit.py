"""The units of the operators with a decoder in front, so that a code selects what they do."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.operators import AluOp
from dve_rtl.alu import arith, bitvec
from dve_rtl.alu.arith import Arith
from dve_rtl.alu.bitvec import Bitvec

OPERATOR_BITS = 6
SIZE_BITS = 2


def select(operator: AluOp, element_bytes: int = 1) -> int:
    """What an `OperatorUnit` is told."""
    return operator | (element_bytes.bit_length() - 1) << OPERATOR_BITS


class OperatorUnit(wiring.Component):
    """An `Arith` or a `Bitvec`.

    Parameters
    ----------
    unit : Arith or Bitvec

    Members
    -------
    a, b : In(32), o : Out(32)
        The unit's; bits above a raw element are zero.
    select : In(8)
        Operator, above it log2 of the bytes of a raw element.
    """

    a: Signal
    b: Signal
    select: Signal
    o: Signal

    def __init__(self, unit: Arith | Bitvec):
        self.unit = unit
        self.latency = unit.latency
        operands = {"a": In(32), "b": In(32), "select": In(OPERATOR_BITS + SIZE_BITS)}
        super().__init__({**operands, "o": Out(32)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self.unit
        operator, size = Signal(OPERATOR_BITS), Signal(SIZE_BITS)
        m.d.comb += [
            operator.eq(self.select),
            size.eq(self.select >> OPERATOR_BITS),
            unit.a.eq(self.a),
            unit.b.eq(self.b),
            self.o.eq(unit.o),
        ]
        operators = arith.OPERATORS if isinstance(unit, Arith) else bitvec.OPERATORS
        control = unit.control.shape()
        with m.Switch(operator):
            for code, fields in operators.items():
                with m.Case(code):
                    m.d.comb += unit.control.eq(control.const(fields))
        if isinstance(unit, Bitvec):
            m.d.comb += unit.control.log2_bytes.eq(size)
        return m
