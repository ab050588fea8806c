"""One struct per stage boundary; what travels between the regions of the engine.

The wire layouts of the instructions themselves are derived from ``dve_golden.isa`` (see
``frontend/layouts.py``); here are the engine's own.
"""

from amaranth.hdl import Shape, signed
from amaranth.lib import data, enum

DTYPE = Shape(4)
"""A nibble element type code (isa_common.md 2.1)."""

OFFSET = Shape(19)
"""Byte in partition: the largest has 2^19 active bytes, maverick's SBUF (isa_common.md 3.2)."""


class Handler(enum.Enum, shape=4):
    """What the front-end table makes of an opcode; the default entry is BAD_OPCODE."""

    BAD_OPCODE = 0
    GRAD_ACCUMULATE = 1
    PARAM_LOAD = 2
    PARAM_LOAD2 = 3
    LOAD_PARAMETER_RAM = 4
    BACK_PROP = 5
    SYNCHRONISE = 6  # wait and update only
    TENSOR_TENSOR = 7  # arithmetic operators; sunda's bf16 opcodes too
    BITVEC = 8
    COPY_PREDICATED = 9
    CAST_PREDICATED = 10
    STATS = 11
    STATS2 = 12  # TRANSPOSE_STATS2 too
    AGGREGATE = 13


class Pointer(data.Struct):
    """A start address taken apart (isa_common.md 3.2, 3.3): start partition is 32*quadrant."""

    offset: OFFSET
    quadrant: 2
    psum: 1


def walk_layout(rank: int) -> data.StructLayout:
    """One operand: where it starts, its element type, its nested walk (isa_common.md 4.3).

    Unused dimensions have count 1. Steps are in elements, index 0 is the innermost dimension.
    """
    return data.StructLayout(
        {
            "start": Pointer,
            "dtype": DTYPE,
            "step": data.ArrayLayout(signed(16), rank),
            "count": data.ArrayLayout(16, rank),
        }
    )


RANK = 4
"""Dimensions of source 0, the only operand that may be a TENSOR4D (batchnorm.md section 10)."""

Walk = walk_layout(3)
DeepWalk = walk_layout(RANK)


class Update(data.Struct):
    """What an instruction does to a semaphore or event afterwards (isa_common.md 1.5)."""

    valid: 1
    on_read: 1  # when its sources have been read; else when it completes
    action: 4  # low nibble of the update mode
    index: 8
    operand: 32


class Operation(data.Struct):
    """A validated instruction in one form for all structs; validator to sequencer.

    If ``reason`` is not 0 only ``opcode``, ``reason``, ``update`` and ``accepted_at`` mean
    anything.

    ======================= ===================== ================ =========== ===========
    handler                 src0                  src1, dst        imm0        imm1
    ======================= ===================== ================ =========== ===========
    GRAD_ACCUMULATE         Om                    d_y, three sums  mean        inv_std
    STATS, STATS2           elements              -, results       -           -
    AGGREGATE               tuples                -, results       -           -
    PARAM_LOAD              A, B, C               -                mean        -
    PARAM_LOAD2             B, C                  -                mean        A
    LOAD_PARAMETER_RAM      entries, in one walk  -                -           -
    BACK_PROP               activation            d_y, d_x         -           -
    TENSOR_TENSOR, BITVEC   first operand         second, result   -           -
    COPY_, CAST_PREDICATED  predicate             data, result     -           -
    ======================= ===================== ================ =========== ===========

    ``pair`` is for sunda's TENSOR_TENSOR of BFLOAT16 sources, when it is not ``serial``. Then the
    innermost dimension of each walk has step 1 and an even count, the outer steps are even where
    their count is not 1, and each walk starts at a multiple of two elements, so that a pair never
    straddles a memory word (isa_common.md 5.7). The walks stay those of the record, in elements.
    """

    handler: Handler
    opcode: 8
    operator: 6  # of TENSOR_TENSOR and BITVEC: a code below 0x40 (isa_common.md 6.1)
    reason: 5  # isa_common.md 5.8; 0 to 16
    channels: 8  # 1 to 128; 1 for LOAD_PARAMETER_RAM
    src0: DeepWalk
    src1: Walk
    dst: Walk
    imm0: Pointer
    imm1: Pointer
    imm_dtype: DTYPE
    elements: 10  # of src0, of STATS and STATS2: 1 to 512
    element_count: 32  # N, or the even count; a binary32 pattern
    odd_count: 32
    first_entry: 8  # of LOAD_PARAMETER_RAM
    serial: 1  # elements must be read and written one after the other (4.3)
    pair: 1  # two adjacent elements a slot, see above
    update: Update  # also of an illegal instruction (isa_common.md 5.8)
    accepted_at: 32  # value of the engine's clock counter when the last beat was accepted


class Completion(data.Struct):
    """End of an instruction, in program order."""

    sequence: 32  # counts from 0
    opcode: 8
    reason: 8
    cycles: 32  # clocks from the later of last beat accepted and previous completion


class RegisterRequest(data.Struct):
    """One access of the register port."""

    index: 6
    write: 1
    value: 32


class SlotKind(enum.Enum, shape=4):
    """What an issue slot carries through the lanes."""

    IDLE = 0
    ELEMENT = 1  # one element of both sources
    PREPARE = 2  # prefactor of the coming pass; reads no memory
    IMM_MEAN = 3  # immediates of GradAccumulate
    IMM_SCALE = 4
    LOAD_MEAN = 5  # parameters into the lane state; N goes with the mean
    LOAD_A = 6
    LOAD_B = 7
    LOAD_C = 8
    LOAD_ENTRY = 9  # one entry of the Parameter RAM
    FIRST = 10  # an element, the first of the statistics, or of the even ordinals
    FIRST_ODD = 11
    PART_COUNT = 12  # a tuple of Aggregate
    PART_MEAN = 13
    PART_NVAR = 14


class Slot(data.Struct):
    """One issue slot; one per clock, never stalled, shared by all lanes."""

    kind: SlotKind
    group: 7  # channel group; 128 of them with one lane
    last: 1  # last element of a pass
    final: 1  # last slot of the instruction


class Read(data.Struct):
    """One memory read of a slot."""

    offset: OFFSET
    row: 7  # partition // lanes
    psum: 1
    dtype: DTYPE


class Issue(data.Struct):
    """A slot with its memory reads; sequencer to lanes."""

    slot: Slot
    read0: Read
    read1: Read


class SyncAction(enum.Enum, shape=3):
    """What another engine does to a semaphore or event (isa_common.md 1.6)."""

    READ_SEMAPHORE = 0
    SET_SEMAPHORE = 1
    ADD_SEMAPHORE = 2
    SUBTRACT_SEMAPHORE = 3
    READ_EVENT = 4
    SET_EVENT = 5
    CLEAR_EVENT = 6


class SyncRequest(data.Struct):
    """One access of the synchronisation port; each READ has one response."""

    action: SyncAction
    index: 8
    value: 32


class Waiting(data.Struct):
    """A wait that has not come true yet."""

    active: 1
    mode: 8
    index: 8
    threshold: 32
