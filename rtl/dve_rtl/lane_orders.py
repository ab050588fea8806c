"""What a lane is told each clock: the layout of its control, and the codes in it."""

from amaranth.lib import data, enum
from amaranth.utils import exact_log2

from dve_rtl.alu.arith import ArithControl
from dve_rtl.alu.bitvec import BitvecControl
from dve_rtl.config import WORD_BYTES, EngineConfig
from dve_rtl.convert.control import ConverterControl
from dve_rtl.lane_program import PARAMETERS
from dve_rtl.memory.load import LoadControl
from dve_rtl.payloads import DTYPE

LOAD_LATENCY = 2
"""Clocks from an address at the memories to an element at the converter: RAM, then Load."""


class LaneProgram(enum.Enum, shape=3):
    """The table of ``lane_program`` that an instruction runs under."""

    GRAD_ACCUMULATE = 0
    BACK_PROP = 1
    TENSOR_TENSOR = 2
    STATISTICS = 3
    WEIGH = 4  # the two sweeps of an Aggregate
    SPREAD = 5


class Result(enum.Enum, shape=4):
    """What the narrowing converter takes."""

    SUM0 = 0
    SUM1 = 1
    SUM2 = 2
    BACK_PROP = 3
    SUM = 4  # of TENSOR_TENSOR, or difference
    PRODUCT = 5
    CHOICE = 6
    COUNT = 7  # the same for all lanes
    MOMENT = 8
    MEAN = 9  # of an Aggregate, out of `scale`


class OperatorControl(data.Struct):
    """What follows from the operator of an instruction; constant while it executes.

    Of an instruction without one, only ``subtract`` means anything, and is 1.
    """

    subtract: 1  # instead of adding
    magnitude: 1  # of the difference
    square: 1  # the factor is source 0
    arith: ArithControl
    bitvec: BitvecControl


class MomentControl(data.Struct):
    """The tail of a statistics pass; each field with the unit that takes what it selects."""

    sum_is_odd: 1  # mul1 takes the fold of the odd half
    share_is_256th: 1  # mul1 takes 1/256, which the Parameter RAM does not hold
    multiplies_square: 1  # mul1 works under VARIANCE
    size: 32  # mul1 takes it then
    first_is_odd: 1  # acc2
    squares_are_odd: 1  # acc2
    subtracts: 1  # acc2 works under VARIANCE


class HostField(enum.Enum, shape=3):
    """What a host read sees of a lane; the lane state comes first, in its architectural order."""

    N = 0
    MEAN = 1
    A = 2
    B = 3
    C = 4
    PARAMETER = 5
    SBUF = 6
    PSUM = 7


def sbuf_address_bits(config: EngineConfig) -> int:
    return exact_log2(config.groups * config.sbuf_bytes // WORD_BYTES)


def psum_address_bits(config: EngineConfig) -> int:
    return exact_log2(config.groups * config.psum_bytes // WORD_BYTES)


def control_layout(config: EngineConfig) -> data.StructLayout:
    """Control of a lane; each field with the clock in which it counts.

    ``A`` is the clock in which an address is at the memories, ``X = A + 2 + widen_latency`` the
    one in which widened elements arrive, ``R`` the one in which a result goes into the narrowing
    converter.
    """
    group = config.group_bits
    return data.StructLayout(
        {
            # constant while an instruction executes, but for the two sweeps of an Aggregate
            "program": LaneProgram,
            # constant while an instruction executes
            "immediates": 1,  # parameters are those of the instruction, not the lane state
            "halves": 1,  # the statistics are of even and of odd ordinals
            "converters": ConverterControl,
            "operator": OperatorControl,
            "raw": 1,  # results come from the bit-vector unit, around converters and fp32 units
            "predicated": 1,  # a result is written where the element of source 0 is not zero
            "pair": 1,  # two elements of BFLOAT16 a clock
            # A: memory addresses; a word address is partition row, then word in partition
            "sbuf_read0": sbuf_address_bits(config),
            "sbuf_read1": sbuf_address_bits(config),
            "psum_read": psum_address_bits(config),
            # A + 1
            "load0": LoadControl,
            "load1": LoadControl,
            # A + 2
            "widen0": DTYPE,
            "widen1": DTYPE,
            # one clock (recip: two clocks) before the unit that takes the parameter
            "groups": data.StructLayout({name: group for name in PARAMETERS}),
            # X
            "first": 1,  # an element is the first of its half
            # with the operands of the accumulators
            "sum_valid": 1,
            "sum_last": 1,
            "sum_blank": 1,  # of a tuple, not the element that is added
            # with the operands of the last multiplier
            "prepare": 1,
            # when its result is there
            "write_prefactor": 1,
            "prefactor_group": group,
            "moments": MomentControl,
            # X: parameters to keep; when the units have them, if they come from there
            "write_mean": 1,
            "write_scale": 1,
            "write_a": 1,
            "write_b": 1,
            "write_n": 1,
            "write_bank": 1,
            "write_group": group,
            "n_value": 32,  # R: the count that is narrowed
            "recip_value": 32,
            "value_from_host": 1,
            "values_from_sums": 1,  # N from acc0, mean and scale from acc1
            "value_from_product": 1,  # of mul2
            # Parameter RAM
            "write_entry": 1,
            "entry": 8,
            "entry_value": 32,
            "entry_read": 1,
            # R
            "result": Result,
            "narrow": DTYPE,
            # R + narrow_latency: memory write
            "store_log2_bytes": 2,  # of one element
            "store_byte": 3,
            "store_from_host": 1,
            "sbuf_write": 1,
            "psum_write": 1,
            "sbuf_write_address": sbuf_address_bits(config),
            "psum_write_address": psum_address_bits(config),
            # A + 1
            "host_field": HostField,
        }
    )
