"""Codes of the instruction set: opcodes, element types, reasons, selectors and event modes.

Sources: ``spec/isa_common.md`` sections 1.4 to 1.7, 2.1, 5.8, 7.2 and 10; ``spec/batchnorm.md``
section 1. Plain data: what a code *means* is decided where it is used.
"""

from enum import IntEnum


class Opcode(IntEnum):
    """Byte 0 of a record; the instructions this project describes, which the engine executes.

    The batch-norm family (batchnorm.md section 1), the tensor-tensor family (isa_common.md 5.2) and
    two records that a sequencer accepts on every queue (isa_common.md 7.2).
    """

    TENSOR_TENSOR_ARITH_OP = 0x41
    TENSOR_TENSOR_BITVEC_OP = 0x51
    BATCH_NORM_STATS = 0x60
    BATCH_NORM_STATS2 = 0x61
    BATCH_NORM_AGGREGATE = 0x62
    BATCH_NORM_GRAD_ACCUMULATE = 0x63
    BATCH_NORM_PARAM_LOAD = 0x64
    BATCH_NORM_BACK_PROP = 0x65
    LOAD_PARAMETER_RAM = 0x66
    COPY_PREDICATED = 0x72
    TRANSPOSE_BATCH_NORM_STATS2 = 0x82
    TENSOR_TENSOR_ADD_BF16 = 0x8A
    TENSOR_TENSOR_MULT_BF16 = 0x8B
    BATCH_NORM_PARAM_LOAD2 = 0x8E
    TENSOR_TENSOR_SUB_BF16 = 0x8F
    BATCH_NORM_GRAD_ACCUMULATE2 = 0x94
    CAST_PREDICATED = 0x99
    EVENT_SEMAPHORE = 0xA0
    NOP = 0xA4


OPCODE_TABLE_BASE = 0x41
"""Front-end index of an opcode is ``opcode - OPCODE_TABLE_BASE`` (batchnorm.md section 1)."""

INST_WORD_LEN = 16
"""Required header length, in 4-byte words (isa_common.md 1.2)."""

RECORD_BYTES = 64
"""Size of one instruction record in bytes (isa_common.md 1.1)."""

REGISTERS = 64
"""Number of 32-bit address registers (isa_common.md 3.1)."""

SEMAPHORES = 256
"""Number of 32-bit counters that wait and update fields name (isa_common.md 1.6)."""

EVENTS = 256
"""Number of event bits, a bank of its own (isa_common.md 1.6)."""

MAX_CHANNELS = 128
"""Channels, and partitions, of one engine (isa_common.md 3.3)."""

PARAMETER_RAM_ENTRIES = 256
"""fp32 words of the Parameter RAM (batchnorm.md section 7)."""


STATISTICS = 3
"""Elements that describe a set of numbers: count, mean, nvar (batchnorm.md section 10)."""


class Dtype(IntEnum):
    """Element types (isa_common.md 2.1); the sixteen codes that fit a nibble."""

    INVALID = 0x0
    UINT64 = 0x1
    INT8 = 0x2
    UINT8 = 0x3
    INT16 = 0x4
    UINT16 = 0x5
    BF16 = 0x6
    FP16 = 0x7
    INT32 = 0x8
    UINT32 = 0x9
    FP32 = 0xA
    FP32R = 0xB
    INT64 = 0xC
    FP8_EXP3 = 0xD
    FP8_EXP4 = 0xE
    FP8_EXP5 = 0xF


DTYPE_BYTES: dict[Dtype, int] = {
    Dtype.UINT64: 8,
    Dtype.INT8: 1,
    Dtype.UINT8: 1,
    Dtype.INT16: 2,
    Dtype.UINT16: 2,
    Dtype.BF16: 2,
    Dtype.FP16: 2,
    Dtype.INT32: 4,
    Dtype.UINT32: 4,
    Dtype.FP32: 4,
    Dtype.FP32R: 4,
    Dtype.INT64: 8,
    Dtype.FP8_EXP3: 1,
    Dtype.FP8_EXP4: 1,
    Dtype.FP8_EXP5: 1,
}
"""Element size, and required alignment, in bytes (isa_common.md 2.4). INVALID has none."""

INTEGER_DTYPES = frozenset(
    {Dtype.INT8, Dtype.UINT8, Dtype.INT16, Dtype.UINT16, Dtype.INT32, Dtype.UINT32}
)
"""``is_valid_int_dtype_datapath``: predicates, and the elements of 0x51 (isa_common.md 2.1)."""

FLOAT_DTYPES = frozenset({Dtype.FP32, Dtype.FP16, Dtype.BF16})
"""Types of parameters, of their pointers' elements, and of GradAccum results."""

GRAD_ACCUMULATE_DTYPES = FLOAT_DTYPES | {Dtype.INT32}
"""Types of the sources and immediates of GradAccum (batchnorm.md section 2)."""

PLAIN_DTYPES = INTEGER_DTYPES | FLOAT_DTYPES | {Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5}
"""``is_valid_dtype`` without FP32R: the sources of S3S3D3_TT (isa_common.md 2.3)."""

RESULT_DTYPES = PLAIN_DTYPES | {Dtype.FP32R}
"""``is_valid_dtype`` with FP32R: the results of S3S3D3_TT that pass a converter."""


class Reason(IntEnum):
    """Why a record was not executed; the lowest failing one is reported (isa_common.md 5.8)."""

    NONE = 0
    OPCODE = 1
    LENGTH = 2
    WAIT = 3
    UPDATE = 4
    DTYPE = 5
    OPERATOR = 6
    ALIGNMENT = 7
    REGION = 8
    PARTITION = 9
    COUNT_ZERO = 10
    COUNT_MISMATCH = 11
    SOURCE_PLACEMENT = 12
    ADDRESSING_MODE = 13
    WALK = 14
    RESERVED = 15
    IMMEDIATE = 16


class ImmSrc(IntEnum):
    """Where an immediate comes from (isa_common.md section 10)."""

    INSTRUCTION = 0
    POINTER = 1
    REGISTER = 2


class WaitMode(IntEnum):
    """Condition before execution (isa_common.md 1.4). Bit 7: the operand is a register."""

    NONE = 0x00
    SEM_EQ_IMM = 0x01
    SEM_LT_IMM = 0x02
    SEM_LE_IMM = 0x03
    SEM_GT_IMM = 0x04
    SEM_GE_IMM = 0x05
    EVT_SET = 0x06
    EVT_SET_THEN_CLEAR = 0x07
    EVT_CLEAR = 0x0E
    EVT_CLEAR_THEN_SET = 0x0F
    SEM_EQ_REG = 0x81
    SEM_LT_REG = 0x82
    SEM_LE_REG = 0x83
    SEM_GT_REG = 0x84
    SEM_GE_REG = 0x85


class UpdateMode(IntEnum):
    """Action afterwards (isa_common.md 1.5). Bit 4: on completion; bit 7: register operand."""

    NONE = 0x00
    EVT_SET_READ = 0x01
    EVT_CLR_READ = 0x02
    SEM_INC_READ = 0x03
    SEM_DEC_READ = 0x04
    SEM_ADD_IMM_READ = 0x05
    SEM_SUB_IMM_READ = 0x07
    SEM_WR_IMM_READ = 0x09
    EVT_SET_COMPLETE = 0x11
    EVT_CLR_COMPLETE = 0x12
    SEM_INC_COMPLETE = 0x13
    SEM_DEC_COMPLETE = 0x14
    SEM_ADD_IMM_COMPLETE = 0x15
    SEM_SUB_IMM_COMPLETE = 0x17
    SEM_WR_IMM_COMPLETE = 0x19
    SEM_ADD_REG_READ = 0x85
    SEM_SUB_REG_READ = 0x87
    SEM_WR_REG_READ = 0x89
    SEM_ADD_REG_COMPLETE = 0x95
    SEM_SUB_REG_COMPLETE = 0x97
    SEM_WR_REG_COMPLETE = 0x99


REGISTER_OPERAND = 0x80
"""Bit of a wait or update mode that says the operand is a register (isa_common.md 1.4)."""
