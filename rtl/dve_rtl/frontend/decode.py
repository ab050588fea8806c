"""Record bytes to one normal form for all structs (batchnorm.md sections 2 to 5, 7 and 10).

Nothing is judged here: dtypes, selectors and addresses travel as they are written, one byte or
word wide, so that the legality rules see every bit.
"""

from enum import IntEnum

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype, ImmSrc, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.structs import (
    EVENTS,
    HEADER,
    S3S3D1_BN,
    S3S3D3_TT,
    S4D2_BN,
    STRUCT_OF_OPCODE,
)
from dve_golden.isa.types import Array, Record
from dve_golden.isa.types import record as make_record

from dve_rtl.frontend.dispatch import Dispatch
from dve_rtl.frontend.gather import RECORD_BITS
from dve_rtl.frontend.layouts import layout_of
from dve_rtl.payloads import RANK, Handler

DIMENSIONS = RANK
"""Rank of the normal form; lower ranks are padded with step 1 and count 1."""


class Slot(IntEnum):
    """Operands of an instruction. The destination leads, because sources are compared with it."""

    DST = 0
    SRC0 = 1
    SRC1 = 2


class Operand(data.Struct):
    """An access pattern before its address word is resolved."""

    used: 1
    word: 32  # ADDR4 (isa_common.md 3.1)
    dtype: 8
    step: data.ArrayLayout(signed(16), DIMENSIONS)
    count: data.ArrayLayout(16, DIMENSIONS)


class Immediate(data.Struct):
    """A per-channel value behind a pointer (isa_common.md section 10)."""

    used: 1
    word: 32  # the pointer, or the register that holds it
    source: 8  # IMM_SRC


class Candidate(data.Struct):
    """An instruction in normal form, not yet validated. What a struct lacks reads as zero."""

    handler: Handler
    opcode: 8
    inst_word_len: 8
    wait_mode: 8
    update_mode: 8
    update_idx: 8
    wait_value: 32
    update_value: 32  # the same word, but for EVENT_SEMAPHORE
    op: 8  # ALU operator
    channels: 8
    operands: data.ArrayLayout(Operand, len(Slot))  # indexed by Slot
    immediates: data.ArrayLayout(Immediate, 2)
    imm_dtype: 8
    element_count: 32  # N, or the even count; a binary32 pattern
    odd_count: 32
    first_entry: 16  # of LOAD_PARAMETER_RAM
    reserved: 1  # some reserved byte is not zero


def _pattern(slot: Slot, member: str, dtype: str | int) -> dict[str, str | int]:
    """Bind an operand to the access pattern ``member``, of whatever rank."""
    path = f"operands.{slot.value}"
    return {
        f"{path}.used": 1,
        f"{path}.word": f"{member}.start_addr",
        f"{path}.step": f"{member}.step_elem",
        f"{path}.count": f"{member}.num_elem",
        f"{path}.dtype": dtype,
    }


def _contiguous(slot: Slot, word: str, count: str, dtype: str) -> dict[str, str | int]:
    """Bind an operand to ``count`` elements in a row."""
    path = f"operands.{slot.value}"
    padding: dict[str, str | int] = {f"{path}.count.{d}": 1 for d in range(1, DIMENSIONS)}
    return {
        f"{path}.used": 1,
        f"{path}.word": word,
        f"{path}.step.0": 1,
        f"{path}.count.0": count,
        f"{path}.dtype": dtype,
        **padding,
    }


def _pointer(index: int, member: str, source: str | int) -> dict[str, str | int]:
    path = f"immediates.{index}"
    return {f"{path}.used": 1, f"{path}.word": member, f"{path}.source": source}


_CHANNELS: dict[str, str | int] = {"channels": "num_active_channels"}

_TENSOR_TENSOR: dict[str, str | int] = {
    **_CHANNELS,
    **_pattern(Slot.SRC0, "src0", "in0_in1_dtype.lo"),
    **_pattern(Slot.SRC1, "src1", "in0_in1_dtype.hi"),
    **_pattern(Slot.DST, "dst", "out_dtype"),
    "op": "op",
}

_STATISTICS: dict[str, str | int] = {
    **_CHANNELS,
    **_pattern(Slot.SRC0, "src", "in_dtype"),
    **_pattern(Slot.DST, "dst", "out_dtype"),
    "element_count": "even_count",
    "odd_count": "odd_count",
}

BINDINGS: dict[Opcode, dict[str, str | int]] = {
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: {
        **_CHANNELS,
        **_pattern(Slot.SRC0, "src0", "in0_in1_dtype.lo"),
        **_pattern(Slot.SRC1, "src1", "in0_in1_dtype.hi"),
        **_pattern(Slot.DST, "dst", "out_dtype"),
        **_pointer(0, "imm0", ImmSrc.POINTER),
        **_pointer(1, "imm1", ImmSrc.POINTER),
        "imm_dtype": "immediate_dtype",
    },
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: {
        **_CHANNELS,
        **_pattern(Slot.SRC0, "src0", "in0_in1_dtype.lo"),
        **_pattern(Slot.SRC1, "src1", "in0_in1_dtype.hi"),
        **_pattern(Slot.DST, "dst", "immediate_out_dtype.hi"),
        **_pointer(0, "imm0", "imm0_imm1_src.lo"),
        **_pointer(1, "imm1", "imm0_imm1_src.hi"),
        "imm_dtype": "immediate_out_dtype.lo",
    },
    Opcode.BATCH_NORM_PARAM_LOAD: {
        **_CHANNELS,
        **_pattern(Slot.SRC0, "src", "dtype"),
        **_pointer(0, "imm0", "imm0_src"),
        "imm_dtype": Dtype.FP32,
        "element_count": "imm1",
    },
    Opcode.BATCH_NORM_PARAM_LOAD2: {
        **_CHANNELS,
        **_pattern(Slot.SRC0, "src", "src_dtype"),
        **_pointer(0, "imm0", "imm0_src"),
        **_pointer(1, "imm1", "imm1_src"),
        "imm_dtype": "immediate_dtype",
        "element_count": "element_count",
    },
    Opcode.LOAD_PARAMETER_RAM: {
        "channels": 1,
        **_contiguous(Slot.SRC0, "addr", "entry_count", "dtype"),
        "first_entry": "first_entry",
    },
    **{op: _TENSOR_TENSOR for op, struct in STRUCT_OF_OPCODE.items() if struct is S3S3D3_TT},
    **{op: _STATISTICS for op, struct in STRUCT_OF_OPCODE.items() if struct is S4D2_BN},
    Opcode.EVENT_SEMAPHORE: {"update_value": "events.update_value"},
    Opcode.NOP: {},
}
"""Per opcode: which field of its struct, or which constant, fills a member of the normal form."""

_PREFIX = make_record("PREFIX", header=HEADER, events=EVENTS)


def _reserved_members(struct: Record) -> list[str]:
    return [
        member.name
        for member in struct.members
        if isinstance(member.type, Array) and member.type.element.kind == "reserved"
    ]


def _resolve(view, path: str):
    """Follow a dotted path; numbers index arrays."""
    for name in path.split("."):
        view = view[int(name) if name.isdecimal() else name]
    return view


class Decoder(wiring.Component):
    """Brings a record into normal form. Combinational.

    Parameters
    ----------
    generation : Generation
        Whose opcodes.

    Members
    -------
    record : In(512)
        The 64 bytes, byte 0 in the lowest bits.
    o : Out(Candidate)
        Its fields. Of a record whose opcode is not executed only header and events mean anything.
    """

    def __init__(self, generation: Generation = Generation.CAYMAN):
        self.generation = generation
        super().__init__({"record": In(RECORD_BITS), "o": Out(Candidate)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dispatch = dispatch = Dispatch(self.generation)
        prefix = data.View(layout_of(_PREFIX), self.record[: _PREFIX.bits])
        m.d.comb += [
            dispatch.opcode.eq(prefix.header.opcode),
            self.o.handler.eq(dispatch.handler),
            self.o.opcode.eq(prefix.header.opcode),
            self.o.inst_word_len.eq(prefix.header.inst_word_len),
            self.o.wait_mode.eq(prefix.events.wait_mode),
            self.o.update_mode.eq(prefix.events.update_mode),
            self.o.update_idx.eq(prefix.events.update_idx),
            self.o.wait_value.eq(prefix.events.semaphore_value),
            self.o.update_value.eq(prefix.events.semaphore_value),
        ]
        with m.Switch(prefix.header.opcode):
            for opcode, bindings in BINDINGS.items():
                with m.Case(opcode):
                    self._bind(m, STRUCT_OF_OPCODE[opcode], bindings)
        # 0x63 alone lets INVALID stand for FP32 (batchnorm.md section 2).
        grad_accumulate = data.View(layout_of(S3S3D1_BN), self.record)
        with m.If(
            (prefix.header.opcode == Opcode.BATCH_NORM_GRAD_ACCUMULATE)
            & (grad_accumulate.immediate_dtype == Dtype.INVALID)
        ):
            m.d.comb += self.o.imm_dtype.eq(Dtype.FP32)
        return m

    def _bind(self, m: Module, struct: Record, bindings: dict[str, str | int]) -> None:
        fields = data.View(layout_of(struct), self.record)
        for path, source in bindings.items():
            target = _resolve(self.o, path)
            value = _resolve(fields, source) if isinstance(source, str) else source
            if isinstance(value, data.View):
                rank = len(value)
                m.d.comb += [target[d].eq(value[d]) for d in range(rank)]
                m.d.comb += [target[d].eq(1) for d in range(rank, DIMENSIONS)]
            else:
                m.d.comb += target.eq(value)
        reserved = [fields[name] for name in _reserved_members(struct)]
        m.d.comb += self.o.reserved.eq(Cat(*reserved).any())
