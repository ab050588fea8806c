"""BackProp, 0x65: the input gradient of each element (batchnorm.md section 9)."""

from dve_golden.execute.operands import Operands
from dve_golden.fp32.arithmetic import input_gradient
from dve_golden.fp32.reciprocal import engine_reciprocal
from dve_golden.memory.order import blocks, independent_runs
from dve_golden.state import State


def back_prop(state: State, operands: Operands) -> None:
    """Sequential in the element: a destination may overlap its sources."""
    x = operands.tensor("src0", "in0_in1_dtype.lo")
    dy = operands.tensor("src1", "in0_in1_dtype.hi")
    d_x = operands.tensor("dst", "out_dtype")
    n, mean, a, b, c = state.lane_state[: x.channels].T
    prefactor = a * engine_reciprocal(n, state.parameter_ram)
    for run in independent_runs([x.walk, dy.walk], d_x.walk):
        for first, last in blocks(*run, x.channels):
            gradient = input_gradient(
                x.read(first, last), dy.read(first, last), n, mean, b, c, prefactor
            )
            d_x.write(first, gradient)
