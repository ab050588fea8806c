"""Parameter loads, 0x64, 0x8E and 0x66 (batchnorm.md sections 4 to 7)."""

import numpy as np

from dve_golden.execute.operands import Operands
from dve_golden.fp32.arithmetic import Floats
from dve_golden.isa.enums import Dtype
from dve_golden.state import State


def load_parameters(state: State, operands: Operands) -> None:
    """0x64: A, B, C from the source, the mean through a pointer, N from the instruction."""
    a, b, c = operands.tensor("src", "dtype").read_all().T
    mean = operands.immediate("imm0", Dtype.FP32, operands.number("imm0_src"))
    _set_lanes(state, operands.number("imm1"), mean, a, b, c)


def load_parameters2(state: State, operands: Operands) -> None:
    """0x8E: B, C from the source, mean and A through pointers, N from the instruction."""
    dtype = operands.dtype("immediate_dtype")
    b, c = operands.tensor("src", "src_dtype").read_all().T
    mean = operands.immediate("imm0", dtype, operands.number("imm0_src"))
    a = operands.immediate("imm1", dtype, operands.number("imm1_src"))
    _set_lanes(state, operands.number("element_count"), mean, a, b, c)


def load_parameter_ram(state: State, operands: Operands) -> None:
    """0x66: consecutive entries from consecutive words of one partition."""
    first, count = operands.number("first_entry"), operands.number("entry_count")
    words = operands.vector("addr", "dtype", count).read_all()[0]
    state.parameter_ram[first : first + count] = words


def _set_lanes(state: State, n_bits: int, mean: Floats, a: Floats, b: Floats, c: Floats) -> None:
    """Write the state of the active channels; the others keep theirs."""
    n = np.full_like(mean, np.uint32(n_bits).view(np.float32))
    state.lane_state[: len(mean)] = np.stack([n, mean, a, b, c], axis=1)
