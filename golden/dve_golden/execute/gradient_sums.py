"""GradAccumulate, 0x63 and 0x94: three sums per channel (batchnorm.md sections 2, 3, 8)."""

import numpy as np

from dve_golden.execute.operand import Operand
from dve_golden.execute.operands import Operands
from dve_golden.fp32.arithmetic import Floats, normalize
from dve_golden.fp32.fold import Fold
from dve_golden.isa.enums import Dtype, ImmSrc
from dve_golden.memory.order import blocks
from dve_golden.state import State


def grad_accumulate(state: State, operands: Operands) -> None:
    """0x63: both immediates are pointers; their dtype INVALID stands for FP32."""
    dtype = operands.dtype("immediate_dtype") or Dtype.FP32
    _accumulate(
        om=operands.tensor("src0", "in0_in1_dtype.lo"),
        dy=operands.tensor("src1", "in0_in1_dtype.hi"),
        mean=operands.immediate("imm0", dtype, ImmSrc.POINTER),
        inv_std=operands.immediate("imm1", dtype, ImmSrc.POINTER),
        sums=operands.tensor("dst", "out_dtype"),
    )


def grad_accumulate2(state: State, operands: Operands) -> None:
    """0x94: the same, each immediate through a pointer or a register that holds one."""
    dtype = operands.dtype("immediate_out_dtype.lo")
    _accumulate(
        om=operands.tensor("src0", "in0_in1_dtype.lo"),
        dy=operands.tensor("src1", "in0_in1_dtype.hi"),
        mean=operands.immediate("imm0", dtype, operands.number("imm0_imm1_src.lo")),
        inv_std=operands.immediate("imm1", dtype, operands.number("imm0_imm1_src.hi")),
        sums=operands.tensor("dst", "immediate_out_dtype.hi"),
    )


def _accumulate(om: Operand, dy: Operand, mean: Floats, inv_std: Floats, sums: Operand) -> None:
    """Read everything, immediates included, then write: ``sums`` may lie on any source."""
    d_beta, d_gamma, coupling = (Fold(om.channels) for _ in range(3))
    for first, last in blocks(0, om.walk.count, om.channels):
        gradient = dy.read(first, last)
        normalized = normalize(om.read(first, last), mean, inv_std)
        d_beta.add(gradient)
        d_gamma.add(np.multiply(gradient, normalized))
        coupling.add(normalized)
    sums.write(0, np.stack([d_beta.total(), d_gamma.total(), coupling.total()], axis=1))
