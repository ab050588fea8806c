"""CopyPredicated, 0x72, and CastPredicated, 0x99 (isa_common.md 5.5)."""

from dve_golden.execute.operands import Operands
from dve_golden.memory.order import blocks, independent_runs
from dve_golden.state import State


def copy_or_cast_predicated(state: State, operands: Operands) -> None:
    """Write the data where the predicate is any pattern but zero, and nothing elsewhere.

    Data of the type of the result is moved bit for bit, which of 0x72 all data is; other data goes
    through fp32.
    """
    predicate = operands.tensor("src0", "in0_in1_dtype.lo")
    data = operands.tensor("src1", "in0_in1_dtype.hi")
    dst = operands.tensor("dst", "out_dtype")
    for run in independent_runs([predicate.walk, data.walk], dst.walk):
        for first, last in blocks(*run, dst.channels):
            where = predicate.read_raw(first, last) != 0
            if data.dtype is dst.dtype:
                dst.write_raw(first, data.read_raw(first, last), where)
            else:
                dst.write(first, data.read(first, last), where)
