"""The front-end table: ``opcode - 0x41`` selects a handler (batchnorm.md 1, isa_common.md 7.1)."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import OPCODE_TABLE_BASE
from dve_golden.isa.generations import Generation

from dve_rtl.generations import knows
from dve_rtl.payloads import Handler

TABLE_ENTRIES = 170
"""Opcodes 0x41 to 0xEA (isa_common.md 7.1)."""


@dataclass(frozen=True)
class Entry:
    """One entry of the table.

    ``struct`` is the documented name of the wire struct and ``trampoline`` the documented
    address of the entry in the device's firmware, if known; both only inform the reader.
    ``handler`` is what this engine makes of the opcode.
    """

    name: str
    struct: str
    trampoline: int | None
    handler: Handler = Handler.BAD_OPCODE


DOCUMENTED: dict[int, Entry] = {
    0x41: Entry("TENSOR_TENSOR_ARITH_OP", "S3S3D3_TT", 0x31E6, Handler.TENSOR_TENSOR),
    0x51: Entry("TENSOR_TENSOR_BITVEC_OP", "S3S3D3_TT", 0x31EE, Handler.BITVEC),
    0x60: Entry("BATCH_NORM_STATS", "S4D2_BN", 0x308E, Handler.STATS),
    0x61: Entry("BATCH_NORM_STATS2", "S4D2_BN", 0x308E, Handler.STATS2),
    0x62: Entry("BATCH_NORM_AGGREGATE", "S4D2_BN", 0x308E, Handler.AGGREGATE),
    0x63: Entry("BATCH_NORM_GRAD_ACCUMULATE", "S3S3D1_BN", 0x309E, Handler.GRAD_ACCUMULATE),
    0x64: Entry("BATCH_NORM_PARAM_LOAD", "S2_BN", 0x30B6, Handler.PARAM_LOAD),
    0x65: Entry("BATCH_NORM_BACK_PROP", "S3S3D3_TT", 0x30AE, Handler.BACK_PROP),
    0x66: Entry("LOAD_PARAMETER_RAM", "CTRL_IM", 0x30E6, Handler.LOAD_PARAMETER_RAM),
    0x72: Entry("COPY_PREDICATED", "S3S3D3_TT", None, Handler.COPY_PREDICATED),
    0x82: Entry("TRANSPOSE_BATCH_NORM_STATS2", "S4D2_BN", 0x308E, Handler.STATS2),
    0x8A: Entry("TENSOR_TENSOR_ADD_BF16", "S3S3D3_TT", None, Handler.TENSOR_TENSOR),
    0x8B: Entry("TENSOR_TENSOR_MULT_BF16", "S3S3D3_TT", None, Handler.TENSOR_TENSOR),
    0x8E: Entry("BATCH_NORM_PARAM_LOAD2", "S2_BNPL2", 0x30BE, Handler.PARAM_LOAD2),
    0x8F: Entry("TENSOR_TENSOR_SUB_BF16", "S3S3D3_TT", None, Handler.TENSOR_TENSOR),
    0x94: Entry("BATCH_NORM_GRAD_ACCUMULATE2", "S3S3D1_BN2", 0x30A6, Handler.GRAD_ACCUMULATE),
    0x99: Entry("CAST_PREDICATED", "S3S3D3_TT", None, Handler.CAST_PREDICATED),
    0xA0: Entry("EVENT_SEMAPHORE", "EVENT_SEMAPHORE", None, Handler.SYNCHRONISE),
    0xA4: Entry("NOP", "NOP", None, Handler.SYNCHRONISE),
}
"""By opcode, the entries of batchnorm.md section 1, the tensor-tensor family of isa_common.md 5.2,
and the sequencer's records that every queue accepts (7.1); every other one is the default."""

TABLE: tuple[Entry | None, ...] = tuple(
    DOCUMENTED.get(OPCODE_TABLE_BASE + index) for index in range(TABLE_ENTRIES)
)
"""By index; None is the default entry, Bad Opcode."""


class Dispatch(wiring.Component):
    """Looks an opcode up. Combinational.

    Parameters
    ----------
    generation : Generation
        Whose instruction set.

    Members
    -------
    opcode : In(8)
        Byte 0 of the record.
    handler : Out(Handler)
        BAD_OPCODE for an opcode outside the table or the instruction set, and for one this
        engine does not execute.
    """

    def __init__(self, generation: Generation = Generation.CAYMAN):
        self.generation = generation
        super().__init__({"opcode": In(8), "handler": Out(Handler)})

    def elaborate(self, platform):
        m = Module()
        # Opcodes below the base wrap to 0xBF and above, which lies beyond the table.
        index = Signal(8)
        m.d.comb += index.eq(self.opcode - OPCODE_TABLE_BASE)
        with m.Switch(index):
            for entry_index, entry in enumerate(TABLE):
                opcode = OPCODE_TABLE_BASE + entry_index
                known = knows(self.generation, opcode)
                if known and entry is not None and entry.handler is not Handler.BAD_OPCODE:
                    with m.Case(entry_index):
                        m.d.comb += self.handler.eq(entry.handler)
            with m.Default():
                m.d.comb += self.handler.eq(Handler.BAD_OPCODE)
        return m
