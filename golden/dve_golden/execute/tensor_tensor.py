"""Tensor-tensor operators: 0x41, the bf16 opcodes of SUNDA, and 0x51 (isa_common.md 5.4, 5.7)."""

from dve_golden.alu.arith import arithmetic
from dve_golden.alu.bitvec import bitvector
from dve_golden.execute.operands import Operands
from dve_golden.isa.operators import AluOp
from dve_golden.memory.order import blocks, independent_runs
from dve_golden.state import State


def tensor_tensor(state: State, operands: Operands) -> None:
    """0x41, 0x8A, 0x8B and 0x8F: widen both sources, one operation in fp32, narrow.

    The bf16 opcodes differ in their rate only; their operator byte repeats what the opcode says.
    """
    operator = AluOp(operands.number("op"))
    src0 = operands.tensor("src0", "in0_in1_dtype.lo")
    src1 = operands.tensor("src1", "in0_in1_dtype.hi")
    dst = operands.tensor("dst", "out_dtype")
    for run in independent_runs([src0.walk, src1.walk], dst.walk):
        for first, last in blocks(*run, dst.channels):
            dst.write(first, arithmetic(operator, src0.read(first, last), src1.read(first, last)))


def tensor_tensor_bitvec(state: State, operands: Operands) -> None:
    """0x51: raw elements of one width."""
    operator = AluOp(operands.number("op"))
    src0 = operands.tensor("src0", "in0_in1_dtype.lo")
    src1 = operands.tensor("src1", "in0_in1_dtype.hi")
    dst = operands.tensor("dst", "out_dtype")
    for run in independent_runs([src0.walk, src1.walk], dst.walk):
        for first, last in blocks(*run, dst.channels):
            result = bitvector(operator, src0.read_raw(first, last), src1.read_raw(first, last))
            dst.write_raw(first, result)
