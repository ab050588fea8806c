"""What each legal instruction does: one handler per opcode, in a visible table."""

from collections.abc import Callable

from dve_golden.execute.aggregate import aggregate
from dve_golden.execute.gradient_sums import grad_accumulate, grad_accumulate2
from dve_golden.execute.input_gradient import back_prop
from dve_golden.execute.operands import Operands
from dve_golden.execute.parameter_load import (
    load_parameter_ram,
    load_parameters,
    load_parameters2,
)
from dve_golden.execute.predicated_copy import copy_or_cast_predicated
from dve_golden.execute.sequencer_records import no_operation
from dve_golden.execute.statistics import stats, stats2
from dve_golden.execute.tensor_tensor import tensor_tensor, tensor_tensor_bitvec
from dve_golden.isa.enums import Opcode
from dve_golden.state import State

Handler = Callable[[State, Operands], None]

HANDLERS: dict[Opcode, Handler] = {
    Opcode.TENSOR_TENSOR_ARITH_OP: tensor_tensor,
    Opcode.TENSOR_TENSOR_BITVEC_OP: tensor_tensor_bitvec,
    Opcode.BATCH_NORM_STATS: stats,
    Opcode.BATCH_NORM_STATS2: stats2,
    Opcode.BATCH_NORM_AGGREGATE: aggregate,
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: stats2,
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: grad_accumulate,
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: grad_accumulate2,
    Opcode.BATCH_NORM_PARAM_LOAD: load_parameters,
    Opcode.BATCH_NORM_PARAM_LOAD2: load_parameters2,
    Opcode.LOAD_PARAMETER_RAM: load_parameter_ram,
    Opcode.BATCH_NORM_BACK_PROP: back_prop,
    Opcode.COPY_PREDICATED: copy_or_cast_predicated,
    Opcode.CAST_PREDICATED: copy_or_cast_predicated,
    Opcode.TENSOR_TENSOR_ADD_BF16: tensor_tensor,
    Opcode.TENSOR_TENSOR_MULT_BF16: tensor_tensor,
    Opcode.TENSOR_TENSOR_SUB_BF16: tensor_tensor,
    Opcode.EVENT_SEMAPHORE: no_operation,
    Opcode.NOP: no_operation,
}
