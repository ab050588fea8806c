"""Which ``key=value`` words each opcode has in the text form (grammar in docs/assembly.md).

Every field of a struct is owned by exactly one key, so that any record of a known opcode can be
written down and read back.
"""

from dve_golden.isa.codec import Fields, walk
from dve_golden.isa.enums import INST_WORD_LEN, Opcode, UpdateMode, WaitMode
from dve_golden.isa.keys import (
    Binary32,
    ElementType,
    Event,
    Hexadecimal,
    Key,
    Number,
    Operator,
    Pattern,
    Place,
    Pointer,
)
from dve_golden.isa.operators import REQUIRED_OPERATOR
from dve_golden.isa.structs import (
    EVENTS,
    EVENTS_EXTENDED,
    S3S3D3_TT,
    STRUCT_OF_OPCODE,
)
from dve_golden.isa.types import Record

_EVENTS: tuple[Key, ...] = (Event("wait", WaitMode), Event("update", UpdateMode))

_OPERANDS: dict[str, tuple[Key, ...]] = {
    EVENTS.name: (Number("value", "events.semaphore_value", default=0),),
    EVENTS_EXTENDED.name: (
        Number("wait_value", "events.wait_value", default=0),
        Number("update_value", "events.update_value", default=0),
    ),
}
"""Operands of wait and update, by the form of the events."""

_HEADER: tuple[Key, ...] = (
    Number("debug_cmd", "header.debug_cmd", default=0),
    Number("debug_hint", "header.debug_hint", default=0),
    Number("length", "header.inst_word_len", default=INST_WORD_LEN),
)

_CHANNELS = Number("channels", "num_active_channels")


def _tensor_tensor(opcode: Opcode) -> tuple[Key, ...]:
    """Of S3S3D3_TT: where the opcode leaves no choice, the operator need not be written."""
    return (
        _CHANNELS,
        Operator("op", "op", default=REQUIRED_OPERATOR.get(opcode)),
        Pattern("src0", "in0_in1_dtype.lo"),
        Pattern("src1", "in0_in1_dtype.hi"),
        Pattern("dst", "out_dtype"),
    )


_STATISTICS: tuple[Key, ...] = (
    _CHANNELS,
    Pattern("src", "in_dtype"),
    Pattern("dst", "out_dtype"),
)

_KEYS: dict[Opcode, tuple[Key, ...]] = {
    Opcode.BATCH_NORM_STATS: (
        *_STATISTICS,
        Binary32("even_count", "even_count"),
        Binary32("odd_count", "odd_count", optional=True),
    ),
    Opcode.BATCH_NORM_STATS2: (
        *_STATISTICS,
        Binary32("even_count", "even_count"),
        Binary32("odd_count", "odd_count"),
    ),
    Opcode.BATCH_NORM_AGGREGATE: (
        *_STATISTICS,
        Binary32("even_count", "even_count", optional=True),
        Binary32("odd_count", "odd_count", optional=True),
    ),
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: (
        *_STATISTICS,
        Binary32("even_count", "even_count"),
        Binary32("odd_count", "odd_count"),
    ),
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: (
        _CHANNELS,
        Pattern("src0", "in0_in1_dtype.lo"),
        Pattern("src1", "in0_in1_dtype.hi"),
        Pattern("dst", "out_dtype"),
        Pointer("imm0"),
        Pointer("imm1"),
        ElementType("imm_dtype", "immediate_dtype"),
    ),
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: (
        _CHANNELS,
        Pattern("src0", "in0_in1_dtype.lo"),
        Pattern("src1", "in0_in1_dtype.hi"),
        Pattern("dst", "immediate_out_dtype.hi"),
        Pointer("imm0", "imm0_imm1_src.lo"),
        Pointer("imm1", "imm0_imm1_src.hi"),
        ElementType("imm_dtype", "immediate_out_dtype.lo"),
    ),
    Opcode.BATCH_NORM_PARAM_LOAD: (
        _CHANNELS,
        Pattern("src", "dtype"),
        Pointer("imm0", "imm0_src"),
        Binary32("imm1", "imm1"),
    ),
    Opcode.BATCH_NORM_PARAM_LOAD2: (
        _CHANNELS,
        Pattern("src", "src_dtype"),
        Pointer("imm0", "imm0_src"),
        Pointer("imm1", "imm1_src"),
        ElementType("imm_dtype", "immediate_dtype"),
        Binary32("element_count", "element_count"),
    ),
    Opcode.LOAD_PARAMETER_RAM: (
        Place("addr", "addr", "dtype"),
        Number("first_entry", "first_entry"),
        Number("entry_count", "entry_count"),
    ),
    Opcode.EVENT_SEMAPHORE: (),
    Opcode.NOP: (),
    **{
        opcode: _tensor_tensor(opcode)
        for opcode, struct in STRUCT_OF_OPCODE.items()
        if struct is S3S3D3_TT
    },
}
"""What is particular to an opcode; reserved bytes and the common words follow."""

FIELD_BITS: dict[Opcode, dict[str, int]] = {
    opcode: {name: leaf.bits for name, _, leaf in walk(record)}
    for opcode, record in STRUCT_OF_OPCODE.items()
}
"""Width of every field."""


def _reserved(opcode: Opcode) -> tuple[Key, ...]:
    names = FIELD_BITS[opcode]
    return tuple(Hexadecimal(name, name) for name in names if name.startswith("reserved"))


def _common(opcode: Opcode) -> tuple[Key, ...]:
    forms = {member.name: member.type for member in STRUCT_OF_OPCODE[opcode].members}
    events = forms["events"]
    assert isinstance(events, Record)
    return (*_EVENTS, *_OPERANDS[events.name], *_HEADER, *_reserved(opcode))


KEYS: dict[Opcode, dict[str, Key]] = {
    opcode: {key.name: key for key in (*keys, *_common(opcode))} for opcode, keys in _KEYS.items()
}
"""The keys of each opcode by name, in the order in which they are written."""

DEFAULTS: dict[Opcode, Fields] = {
    opcode: {
        key.field: key.default
        for key in keys.values()
        if isinstance(key, Number | Operator) and key.default
    }
    for opcode, keys in KEYS.items()
}
"""Values of the fields that are not zero where their words are left out."""
