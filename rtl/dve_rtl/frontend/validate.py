"""Records to operations: the legality of isa_common.md 5.8 in a fixed number of clocks.

One counter, ``slot``, is the schedule:

====== ============================== ======================= ==============================
slot   walks (see ``walks``)          addresses               verdicts
====== ============================== ======================= ==============================
0-2    dimension 0 of dst, src0, src1 fetch dst, src0, src1   slot 0: single fields
3-5    dimension 1; 5: dimension 3 of 3, 4: fetch imm0, imm1; 1-5: 7 to 11, 13, 16
       a lone source                  5: update's register
6-8    dimension 2
9-11   bytes of dst, src0, src1                               10-12: 14, aliasing with dst
12                                                            11, 12
13                                                            lowest reason; operation leaves
====== ============================== ======================= ==============================
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import REGISTER_OPERAND, Reason, UpdateMode

from dve_rtl.config import EngineConfig
from dve_rtl.frontend.decode import Decoder, Slot
from dve_rtl.frontend.faults import Faults, fault_layout, report, union
from dve_rtl.frontend.fields import FieldCheck, FieldFaults
from dve_rtl.frontend.gather import GatheredRecord
from dve_rtl.frontend.packing import is_packed, pairs_fit
from dve_rtl.frontend.pairs import PairCheck, PairFaults
from dve_rtl.frontend.placement import IMM0, IMM1, ITEMS, Placement
from dve_rtl.frontend.walks import STEPS, Walks
from dve_rtl.payloads import Handler, Operation

_UPDATE_SLOT = ITEMS
"""First clock in which no address needs the register file: the update's operand is read."""

UPDATE_ON_COMPLETION = 0x10
"""Bit of an update mode: on completion, not when the sources are read (isa_common.md 1.5)."""

_IN_ORDINAL_ORDER = (
    Handler.BACK_PROP,
    Handler.TENSOR_TENSOR,
    Handler.BITVEC,
    Handler.COPY_PREDICATED,
    Handler.CAST_PREDICATED,
)
"""Handlers that read and write element by element; the others write after all reads (4.3)."""

_PAIR_SLOT = STEPS
_LAST_SLOT = _PAIR_SLOT + 1

LATENCY = _LAST_SLOT + 1
"""Clocks from a record at ``i`` to its operation at ``o``, and from one record to the next."""


class Validator(wiring.Component):
    """Decides whether a record is legal, and resolves it.

    Latency and initiation interval are ``LATENCY`` (14) clocks for every record, legal or not.
    Validation goes on while the previous operation waits at ``o``. Registers are read in the
    first six clocks.

    Parameters
    ----------
    config : EngineConfig
        Gives the generation, and the active bytes of a partition.

    Members
    -------
    i : In(stream.Signature(GatheredRecord))
        Records; each is taken when its operation moves to ``o``.
    register_index : Out(6)
        Register to read, and
    register_value : In(32)
        what it holds, in the same clock cycle.
    o : Out(stream.Signature(Operation))
        One operation for every record, in order; illegal ones carry their reason.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(GatheredRecord)),
                "register_index": Out(6),
                "register_value": In(32),
                "o": Out(stream.Signature(Operation)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = Decoder(self.config.generation)
        m.submodules.field_check = field_check = FieldCheck(self.config.generation)
        m.submodules.placement = placement = Placement(self.config)
        m.submodules.walks = walks = Walks(self.config)
        m.submodules.pairs = pairs = PairCheck(self.config.generation)
        candidate = decoder.o

        slot = Signal(range(LATENCY))
        is_last = slot == _LAST_SLOT
        with m.If(self.i.valid & ~is_last):
            m.d.sync += slot.eq(slot + 1)

        m.d.comb += [
            decoder.record.eq(self.i.p.record),
            field_check.i.eq(candidate),
            placement.candidate.eq(candidate),
            placement.issue.eq(self.i.valid & (slot < ITEMS)),
            placement.item.eq(slot),
            self.register_index.eq(
                Mux(slot == _UPDATE_SLOT, candidate.update_value, placement.register_index)
            ),
            placement.register_value.eq(self.register_value),
            walks.candidate.eq(candidate),
            walks.valid.eq(self.i.valid & (slot < STEPS)),
            walks.step.eq(slot),
            pairs.opcode.eq(candidate.opcode),
            pairs.live.eq(placement.live),
            pairs.total.eq(walks.total),
            pairs.overflows.eq(walks.overflows),
            pairs.pointers.eq(placement.pointers),
        ]
        m.d.comb += [walks.pointers[s].eq(placement.pointers[s]) for s in Slot]

        single = Signal(FieldFaults)
        walk = Signal(fault_layout(Reason.WALK))
        between = Signal(PairFaults)
        faults = Signal(Faults)
        m.d.comb += walk.walk.eq((placement.live & walks.leaves).any())
        with m.If(slot == 0):
            m.d.comb += single.eq(field_check.faults)
        with m.If(slot == _PAIR_SLOT):
            m.d.comb += between.eq(pairs.faults)
        with m.If(~is_last):
            carried = Mux(slot == 0, 0, faults.as_value())
            m.d.sync += faults.eq(carried | union(single, placement.faults, walk, between))

        update_operand = Signal(32)
        with m.If(slot == _UPDATE_SLOT):
            from_register = (candidate.update_mode & REGISTER_OPERAND).any()
            m.d.sync += update_operand.eq(
                Mux(from_register, self.register_value, candidate.update_value)
            )

        m.d.comb += self.i.ready.eq(is_last & (~self.o.valid | self.o.ready))
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [slot.eq(0), self.o.valid.eq(1)]
            self._emit(m, candidate, placement, walks, faults)
            self._emit_update(m, candidate, faults, update_operand)
        return m

    def _emit_update(self, m: Module, candidate, faults, operand) -> None:
        """A legal update is performed for an illegal record too, but not after reasons 1 and 2."""
        update = self.o.p.update
        m.d.sync += [
            update.valid.eq(
                ~(faults.opcode | faults.length | faults.update)
                & (candidate.update_mode != UpdateMode.NONE)
            ),
            update.on_read.eq(~(candidate.update_mode & UPDATE_ON_COMPLETION).any()),
            update.action.eq(candidate.update_mode),
            update.index.eq(candidate.update_idx),
            update.operand.eq(operand),
        ]

    def _emit(self, m: Module, candidate, placement: Placement, walks: Walks, faults) -> None:
        reason = Signal(5)
        report(m, faults, reason)
        in_order = walks.serial & candidate.handler.as_value().matches(*_IN_ORDINAL_ORDER)
        packed = is_packed(candidate.opcode, self.config.generation)
        pair = packed & pairs_fit(candidate.operands[Slot.DST], placement.pointers[Slot.DST])
        o = self.o.p
        m.d.sync += [
            o.handler.eq(candidate.handler),
            o.opcode.eq(candidate.opcode),
            o.operator.eq(candidate.op),
            o.reason.eq(reason),
            o.channels.eq(candidate.channels),
            o.imm0.eq(placement.pointers[IMM0]),
            o.imm1.eq(placement.pointers[IMM1]),
            o.imm_dtype.eq(candidate.imm_dtype),
            o.elements.eq(walks.total[Slot.SRC0]),
            o.element_count.eq(candidate.element_count),
            o.odd_count.eq(candidate.odd_count),
            o.first_entry.eq(candidate.first_entry),
            o.serial.eq(in_order),
            o.pair.eq(pair & ~walks.serial),
            o.accepted_at.eq(self.i.p.accepted_at),
        ]
        for walk, slot in ((o.src0, Slot.SRC0), (o.src1, Slot.SRC1), (o.dst, Slot.DST)):
            operand = candidate.operands[slot]
            m.d.sync += [
                walk.start.eq(placement.pointers[slot]),
                walk.dtype.eq(operand.dtype),
                *(taken.eq(step) for taken, step in zip(walk.step, operand.step, strict=False)),
                *(taken.eq(count) for taken, count in zip(walk.count, operand.count, strict=False)),
            ]
