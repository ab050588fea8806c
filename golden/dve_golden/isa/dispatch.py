"""Which opcodes the front ends of the device know, as data that can be printed.

Names and structs: isa_common.md 7.2. Addresses in the firmware of CAYMAN's vector engine:
batchnorm.md section 1. What nobody has read is None.
"""

from dataclasses import dataclass
from enum import Enum

from dve_golden.isa.enums import OPCODE_TABLE_BASE, Opcode
from dve_golden.isa.generations import Generation, in_generation

TABLE_ENTRIES = 170
"""Of the vector engine's front end: opcodes 0x41 to 0xEA (isa_common.md 7.1)."""

INVALID_OPCODE = 0xFF
"""A sentinel: it is a member of every generation's set, and never an instruction."""


class Engine(Enum):
    """Engines whose front end is described here."""

    DVE = "dve"
    POOL = "pool"


@dataclass(frozen=True)
class Entry:
    """One record of a front end.

    Parameters
    ----------
    opcode
        Byte 0 of the instruction.
    name
        Documented name.
    struct
        Documented name of the wire struct; for 0xA0 and 0xA4, that of this project's form.
    trampoline, handler
        Where the table points, and the body that is reached from there: virtual addresses.
    """

    opcode: int
    name: str | None
    struct: str | None = None
    trampoline: int | None = None
    handler: int | None = None

    @property
    def index(self) -> int | None:
        """Place in the vector engine's table; None outside it."""
        index = self.opcode - OPCODE_TABLE_BASE
        return index if 0 <= index < TABLE_ENTRIES else None

    @property
    def generations(self) -> tuple[Generation, ...]:
        """The generations that know the opcode."""
        return tuple(g for g in Generation if in_generation(self.opcode, g))


_FORWARD_BODY = 0xB380
"""Of the forward statistics; the four opcodes share one trampoline, so one body."""

DVE: tuple[Entry, ...] = (
    Entry(0x30, "EXPONENTIAL", "S3D3_TS"),
    Entry(0x41, "TENSOR_TENSOR_ARITH_OP", "S3S3D3_TT", 0x31E6),
    Entry(0x42, "TENSOR_REDUCE_ARITH_OP", "S4D4_TR"),
    Entry(0x43, "TENSOR_SCALAR_ARITH_OP", "S3D3_TS"),
    Entry(0x44, "TENSOR_SCALAR_PTR_ARITH_OP", "S3D3_TS"),
    Entry(0x45, "POOL", "S4D4_PL"),
    Entry(0x46, "COPY", "S4D4_TR"),
    Entry(0x47, "CAST", "S4D4_TR"),
    Entry(0x48, "RECIPROCAL", "S4D4_TR"),
    Entry(0x49, "MEMSET", "D4_MR"),
    Entry(0x4D, "RNG", "D4_MR"),
    Entry(0x4E, "TENSOR_CUMULATIVE_ARITH_OP", "S4D4_TR"),
    Entry(0x4F, "TENSOR_SCALAR_PTR_MULTI_ARITH", "S4D4_TSM"),
    Entry(0x51, "TENSOR_TENSOR_BITVEC_OP", "S3S3D3_TT", 0x31EE),
    Entry(0x52, "TENSOR_REDUCE_BITVEC_OP", "S4D4_TR"),
    Entry(0x53, "TENSOR_SCALAR_BITVEC_OP", "S3D3_TS"),
    Entry(0x54, "TENSOR_SCALAR_PTR_BITVEC_OP", "S3D3_TS"),
    Entry(0x58, "MAX_POOL_SELECT"),
    Entry(0x5E, "TENSOR_CUMULATIVE_BITVEC_OP", "S4D4_TR"),
    Entry(0x5F, "TENSOR_SCALAR_PTR_MULTI_BITVEC", "S4D4_TSM"),
    Entry(0x60, "BATCH_NORM_STATS", "S4D2_BN", 0x308E, _FORWARD_BODY),
    Entry(0x61, "BATCH_NORM_STATS2", "S4D2_BN", 0x308E, _FORWARD_BODY),
    Entry(0x62, "BATCH_NORM_AGGREGATE", "S4D2_BN", 0x308E, _FORWARD_BODY),
    Entry(0x63, "BATCH_NORM_GRAD_ACCUMULATE", "S3S3D1_BN", 0x309E, 0xB518),
    Entry(0x64, "BATCH_NORM_PARAM_LOAD", "S2_BN", 0x30B6, 0xB62C),
    Entry(0x65, "BATCH_NORM_BACK_PROP", "S3S3D3_TT", 0x30AE, 0xB6F0),
    Entry(0x66, "LOAD_PARAMETER_RAM", "CTRL_IM", 0x30E6),
    Entry(0x69, "LOAD_MASK_SELECT", "CTRL_IM"),
    Entry(0x6A, "STREAM_SHUFFLE", "S4D4_TR"),
    Entry(0x6B, "STREAM_TRANSPOSE", "S4D4_TR"),
    Entry(0x6C, "MAX8", "S4D2_BN"),
    Entry(0x6D, "MATCH_VALUE_LOAD", "S2_BN"),
    Entry(0x6E, "FIND_INDEX8", "S4D2_BN"),
    Entry(0x6F, "MATCH_REPLACE8", "S4D2_BN"),
    Entry(0x70, "TENSOR_SCALAR_IMM_LD_ARITH", "S2_BN"),
    Entry(0x71, "TENSOR_SCALAR_IMM_LD_BITVEC", "S2_BN"),
    Entry(0x72, "COPY_PREDICATED", "S3S3D3_TT"),
    Entry(0x77, "RAND_GET_STATE"),
    Entry(0x78, "RAND_SET_STATE"),
    Entry(0x7F, "DROPOUT"),
    Entry(0x82, "TRANSPOSE_BATCH_NORM_STATS2", "S4D2_BN", 0x308E, _FORWARD_BODY),
    Entry(0x83, "TRANSPOSE_TENSOR_REDUCE_ARITH_OP", "S4D4_TR"),
    Entry(0x84, "TRANSPOSE_TENSOR_REDUCE_BITVEC_OP", "S4D4_TR"),
    Entry(0x8A, "TENSOR_TENSOR_ADD_BF16", "S3S3D3_TT"),
    Entry(0x8B, "TENSOR_TENSOR_MULT_BF16", "S3S3D3_TT"),
    Entry(0x8C, "TENSOR_REDUCE_ADD_BF16", "S4D4_TR"),
    Entry(0x8D, "TENSOR_REDUCE_MAX_BF16", "S4D4_TR"),
    Entry(0x8E, "BATCH_NORM_PARAM_LOAD2", "S2_BNPL2", 0x30BE, 0xB694),
    Entry(0x8F, "TENSOR_TENSOR_SUB_BF16", "S3S3D3_TT"),
    Entry(0x93, "TRANSPOSE_TENSOR_SCALAR_ARITH_OP", "S3D3_TS"),
    Entry(0x94, "BATCH_NORM_GRAD_ACCUMULATE2", "S3S3D1_BN2", 0x30A6, 0xB55C),
    Entry(0x98, "TENSOR_SCALAR_SELECT"),
    Entry(0x99, "CAST_PREDICATED", "S3S3D3_TT"),
    Entry(0x9A, "TENSOR_SCALAR_CACHE_REDUCE", "S3D3_TS"),
    Entry(0x9B, "DVE_READ_ACCUMULATOR"),
    Entry(0x9D, "SCALAR_TENSOR_TENSOR_ARITH", "S2S2D2_STT"),
    Entry(0x9E, "SCALAR_TENSOR_TENSOR_BITVEC", "S2S2D2_STT"),
    Entry(0x9F, "ENGINE_NOP", "CTRL_IM"),
    Entry(0xA0, "EVENT_SEMAPHORE", "EVENT_SEMAPHORE"),
    Entry(0xA1, "HALT"),
    Entry(0xA2, "DRAIN"),
    Entry(0xA3, "INSTRUCTION_FLUSH"),
    Entry(0xA4, "NOP", "NOP"),
    Entry(0xA5, "WRITE"),
    Entry(0xA6, "NOTIFY"),
    Entry(0xA7, "MOVE"),
    Entry(0xA8, "ALU_OP"),
    Entry(0xA9, "COMPARE_BRANCH"),
    Entry(0xAA, "TENSOR_LOAD"),
    Entry(0xAB, "TENSOR_STORE"),
    Entry(0xB0, "EVENT_SEMAPHORE_RANGE_CLEAR"),
    Entry(0xB1, "SET_ORDERING_MODE"),
    Entry(0xB2, "MOVE_SHAPE"),
    Entry(0xB3, "POLL_SEM"),
    Entry(0xB4, "TEST_EVENT_SEM"),
    Entry(0xB5, "BRANCH_PREFETCH_HINT"),
    Entry(0xB6, "COMPACT_CONTROL_INST"),
    Entry(0xBC, "RANGE_SELECT", "S2D2_RS"),
    Entry(0xE0, "SPARSITY_COMPRESS", "S3D3_SC"),
    Entry(0xE1, "SPARSITY_COMPRESS_TAG", "S2D2D2_SC"),
    Entry(0xE2, "RAND2"),
    Entry(0xE3, "QUANTIZE_MX"),
    Entry(0xE5, "TENSOR_TENSOR_SCAN_ARITH", "S2S2D2_STT"),
    Entry(0xE6, "TENSOR_SCALAR_CACHE_CUMULATIVE", "S3D3_TS"),
    Entry(0xE8, "COPY_PREDICATED_SCALAR", "S3D3_CP_PRED_SCALAR"),
    Entry(0xE9, "DVE_READ_INDICES", "D4_MR"),
    Entry(0xEA, "SELECT_REDUCE", "S2S2D2_STT"),
    Entry(0xF0, "EXTENDED_INST"),
    Entry(0xF4, "TENSOR_SCALAR_INT_WIDE", "S2D2D2_TS_WIDE"),
)
"""What any generation's vector engine executes, and what every sequencer does before it.

0x30, 0xF0 and 0xF4 lie outside the front-end table; how they get through is not known.
"""

_DVE_BY_OPCODE = {entry.opcode: entry for entry in DVE}

_POOL_OPCODES = (
    *(0x41, 0x45, 0x46, 0x47, 0x51, 0x52, 0x7B, 0x7C, 0x7D, 0x7E, 0xBE),
    *(0xF0,) * 5,
    0xF2,
)

POOL: tuple[Entry, ...] = tuple(
    Entry(opcode, shared.name, shared.struct)
    for opcode in _POOL_OPCODES
    for shared in (_DVE_BY_OPCODE.get(opcode, Entry(opcode, None)),)
)
"""CAYMAN's table of the POOL engine: 17 records, found by a scan for opcode and spec byte.

None is of the batch-norm family. The five records of 0xF0 differ in their spec byte.
"""

TABLES: dict[Engine, tuple[Entry, ...]] = {Engine.DVE: DVE, Engine.POOL: POOL}
"""The records of each engine, by opcode."""


def opcode_name(opcode: int) -> str | None:
    """The documented name of an opcode of the vector engine."""
    entry = _DVE_BY_OPCODE.get(opcode)
    return None if entry is None else entry.name


def is_implemented(engine: Engine, entry: Entry) -> bool:
    """Whether this project executes the record; it has no POOL engine."""
    return engine is Engine.DVE and entry.opcode in frozenset(Opcode)
