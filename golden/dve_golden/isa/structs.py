"""The 64-byte wire structs of the instructions that the engine executes, as data.

Sources: isa_common.md 1.2, 1.3, 2.2, 4.1, 5.1; batchnorm.md sections 2 to 5, 7 and
10. Every derived form (numpy dtype, hardware layout, text) comes from these tables.
"""

from dve_golden.isa.enums import Opcode
from dve_golden.isa.types import (
    ADDR4,
    F32,
    I16,
    U4,
    U8,
    U16,
    U32,
    Array,
    Record,
    record,
    reserved,
)

HEADER = record("HEADER", opcode=U8, inst_word_len=U8, debug_cmd=U8, debug_hint=U8)

EVENTS = record(
    "EVENTS", wait_mode=U8, wait_idx=U8, update_mode=U8, update_idx=U8, semaphore_value=U32
)

EVENTS_EXTENDED = record(
    "EVENTS_EXTENDED",
    wait_mode=U8,
    wait_idx=U8,
    update_mode=U8,
    update_idx=U8,
    wait_value=U32,
    update_value=U32,
)
"""The events of 0xA0, whose wait and update have an operand each (isa_common.md 1.3)."""

DTYPE_PAIR = record("DTYPE_PAIR", lo=U4, hi=U4)

IMM_SRC_PAIR = record("IMM_SRC_PAIR", lo=U4, hi=U4)


def tensor(rank: int) -> Record:
    """The access pattern of ``rank`` dimensions: address, all steps, all counts (4.1)."""
    return record(
        f"TENSOR{rank}D",
        start_addr=ADDR4,
        step_elem=Array(I16, rank),
        num_elem=Array(U16, rank),
    )


S3S3D1_BN = record(
    "S3S3D1_BN",
    header=HEADER,
    events=EVENTS,
    imm0=U32,
    src0=tensor(3),
    src1=tensor(3),
    dst=tensor(1),
    imm1=U32,
    in0_in1_dtype=DTYPE_PAIR,
    immediate_dtype=U8,
    out_dtype=U8,
    num_active_channels=U8,
)

S3S3D1_BN2 = record(
    "S3S3D1_BN2",
    header=HEADER,
    events=EVENTS,
    imm0=U32,
    src0=tensor(3),
    src1=tensor(3),
    dst=tensor(1),
    imm1=U32,
    in0_in1_dtype=DTYPE_PAIR,
    immediate_out_dtype=DTYPE_PAIR,
    imm0_imm1_src=IMM_SRC_PAIR,
    num_active_channels=U8,
)

S2_BN = record(
    "S2_BN",
    header=HEADER,
    events=EVENTS,
    reserved0=reserved(4),
    src=tensor(2),
    imm1=F32,
    dtype=U8,
    reserved1=reserved(1),
    num_active_channels=U8,
    reserved2=reserved(9),
    imm0=U32,
    imm0_src=U8,
    reserved3=reserved(15),
)

S2_BNPL2 = record(
    "S2_BNPL2",
    header=HEADER,
    events=EVENTS,
    src=tensor(2),
    reserved0=reserved(4),
    element_count=F32,
    src_dtype=U8,
    immediate_dtype=U8,
    num_active_channels=U8,
    reserved1=reserved(5),
    imm0=U32,
    imm1=U32,
    imm0_src=U8,
    imm1_src=U8,
    reserved2=reserved(14),
)

S4D2_BN = record(
    "S4D2_BN",
    header=HEADER,
    events=EVENTS,
    src=tensor(4),
    in_dtype=U8,
    out_dtype=U8,
    num_active_channels=U8,
    reserved0=reserved(5),
    even_count=F32,
    odd_count=F32,
    dst=tensor(2),
    reserved1=reserved(4),
)

S3S3D3_TT = record(
    "S3S3D3_TT",
    header=HEADER,
    events=EVENTS,
    in0_in1_dtype=DTYPE_PAIR,
    out_dtype=U8,
    op=U8,
    num_active_channels=U8,
    src0=tensor(3),
    src1=tensor(3),
    dst=tensor(3),
)

LOAD_PRAM = record(
    "LOAD_PRAM",
    header=HEADER,
    events=EVENTS,
    addr=ADDR4,
    first_entry=U16,
    entry_count=U16,
    dtype=U8,
    reserved0=reserved(43),
)
"""The 0x66 form: its struct is UNKNOWN beyond its name, so this is our CHOICE (batchnorm.md 7)."""

EVENT_SEMAPHORE = record(
    "EVENT_SEMAPHORE", header=HEADER, events=EVENTS_EXTENDED, reserved0=reserved(48)
)
"""The 0xA0 form: only its events are known, so that the rest is zero is our CHOICE."""

NOP = record("NOP", header=HEADER, events=EVENTS, reserved0=reserved(52))
"""The 0xA4 form: header and events as in any record; that the rest is zero is our CHOICE."""

STRUCT_OF_OPCODE: dict[Opcode, Record] = {
    Opcode.TENSOR_TENSOR_ARITH_OP: S3S3D3_TT,
    Opcode.TENSOR_TENSOR_BITVEC_OP: S3S3D3_TT,
    Opcode.BATCH_NORM_STATS: S4D2_BN,
    Opcode.BATCH_NORM_STATS2: S4D2_BN,
    Opcode.BATCH_NORM_AGGREGATE: S4D2_BN,
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: S3S3D1_BN,
    Opcode.BATCH_NORM_PARAM_LOAD: S2_BN,
    Opcode.BATCH_NORM_BACK_PROP: S3S3D3_TT,
    Opcode.LOAD_PARAMETER_RAM: LOAD_PRAM,
    Opcode.COPY_PREDICATED: S3S3D3_TT,
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: S4D2_BN,
    Opcode.TENSOR_TENSOR_ADD_BF16: S3S3D3_TT,
    Opcode.TENSOR_TENSOR_MULT_BF16: S3S3D3_TT,
    Opcode.BATCH_NORM_PARAM_LOAD2: S2_BNPL2,
    Opcode.TENSOR_TENSOR_SUB_BF16: S3S3D3_TT,
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: S3S3D1_BN2,
    Opcode.CAST_PREDICATED: S3S3D3_TT,
    Opcode.EVENT_SEMAPHORE: EVENT_SEMAPHORE,
    Opcode.NOP: NOP,
}

STRUCTS: tuple[Record, ...] = tuple(STRUCT_OF_OPCODE.values())
