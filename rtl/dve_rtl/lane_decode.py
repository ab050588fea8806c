"""From the operator of an instruction to the control of the units that compute it."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.operators import AluOp

from dve_rtl.alu import arith, bitvec
from dve_rtl.alu.arith import ArithControl
from dve_rtl.alu.bitvec import BitvecControl, Function
from dve_rtl.lane_orders import OperatorControl, Result
from dve_rtl.lane_program import ARITH, RESULT_OF_OPERATOR
from dve_rtl.memory.element import log2_bytes
from dve_rtl.payloads import DTYPE, Handler

_RESULT = {"sub": Result.SUM, "mul0": Result.PRODUCT, ARITH: Result.CHOICE}


class OperatorDecode(wiring.Component):
    """Decodes the operator once for all lanes; combinational.

    Members
    -------
    handler : In(Handler), operator : In(6)
        Of an instruction that is legal.
    dtype : In(4)
        Element type of a bit-vector instruction, or of the data of an exact copy.
    control : Out(OperatorControl)
    result : Out(Result)
        What an element of TENSOR_TENSOR and CAST_PREDICATED leaves the units as.
    """

    handler: In(Handler)
    operator: In(6)
    dtype: In(DTYPE)
    control: Out(OperatorControl)
    result: Out(Result)

    def elaborate(self, platform):
        m = Module()
        control = self.control
        tensor_tensor = self.handler == Handler.TENSOR_TENSOR
        m.d.comb += [
            control.subtract.eq(~tensor_tensor | (self.operator != AluOp.ADD)),
            control.magnitude.eq(self.operator == AluOp.ABSOLUTE_DIFF),
            control.square.eq(self.operator == AluOp.SQUARE),
            self.result.eq(Result.CHOICE),
        ]
        with m.If(tensor_tensor):
            with m.Switch(self.operator):
                for operator, unit in RESULT_OF_OPERATOR.items():
                    with m.Case(operator):
                        m.d.comb += self.result.eq(_RESULT[unit])
            self._decode(m, control.arith, ArithControl, arith.OPERATORS)
        with m.Else():
            m.d.comb += control.arith.eq(ArithControl.const(arith.SECOND))
        with m.If(self.handler == Handler.BITVEC):
            self._decode(m, control.bitvec, BitvecControl, bitvec.OPERATORS)
        with m.Else():
            m.d.comb += control.bitvec.function.eq(Function.SECOND)
        m.d.comb += control.bitvec.log2_bytes.eq(log2_bytes(self.dtype))
        return m

    def _decode(self, m, target, shape, operators):
        with m.Switch(self.operator):
            for operator, fields in operators.items():
                with m.Case(operator):
                    m.d.comb += target.eq(shape.const(fields))
