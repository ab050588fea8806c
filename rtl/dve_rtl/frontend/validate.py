"""Records to operations: the legality of isa_common.md 5.8 in a fixed number of clocks.

One counter, ``slot``, is the schedule. The walks go dimension by dimension through the three
operands, so that one multiplier of three clocks' latency never waits for itself.

====== ============================= ======================= ===============================
slot   walks and counts              addresses               verdicts
====== ============================= ======================= ===============================
0-2    dimension 0: dst, src0, src1  fetch: dst, src0, src1  slot 0: single fields
3-5    dimension 1                   3, 4: fetch imm0, imm1  1-5: 7 to 10, 13, 16
6-8    dimension 2
9-11   bytes of dst, src0, src1                              10-12: 14, aliasing with dst
12                                                           11, 12
13                                                           lowest reason; operation leaves
====== ============================= ======================= ===============================
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Reason

from dve_rtl.config import EngineConfig
from dve_rtl.frontend.address import log2_bytes
from dve_rtl.frontend.alias import AliasCheck
from dve_rtl.frontend.counts import ElementCounts
from dve_rtl.frontend.decode import DIMENSIONS, Decoder, Slot
from dve_rtl.frontend.extents import Extents
from dve_rtl.frontend.faults import Faults, fault_layout, report, union
from dve_rtl.frontend.fields import FieldCheck, FieldFaults
from dve_rtl.frontend.footprint import Footprint
from dve_rtl.frontend.gather import GatheredRecord
from dve_rtl.frontend.pairs import PairCheck, PairFaults
from dve_rtl.frontend.placement import IMM0, IMM1, ITEMS, Placement
from dve_rtl.payloads import Handler, Operation

_BYTES_SLOT = DIMENSIONS * len(Slot)
_PAIR_SLOT = _BYTES_SLOT + len(Slot)
_LAST_SLOT = _PAIR_SLOT + 1

LATENCY = _LAST_SLOT + 1
"""Clocks from a record at ``i`` to its operation at ``o``, and from one record to the next."""


class Validator(wiring.Component):
    """Decides whether a record is legal, and resolves it.

    Latency and initiation interval are ``LATENCY`` (14) clocks for every record, legal or not.
    Validation goes on while the previous operation waits at ``o``. Registers are read in the
    first five clocks.

    Parameters
    ----------
    config : EngineConfig
        Gives the active bytes of a partition.

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
        m.submodules.decoder = decoder = Decoder()
        m.submodules.field_check = field_check = FieldCheck()
        m.submodules.placement = placement = Placement(self.config)
        m.submodules.extents = extents = Extents()
        m.submodules.counts = counts = ElementCounts()
        m.submodules.footprint = footprint = Footprint(self.config)
        m.submodules.alias = alias = AliasCheck()
        m.submodules.pairs = pairs = PairCheck()
        candidate = decoder.o
        operands = Array(candidate.operands[s] for s in Slot)
        starts = Array(placement.pointers[s] for s in Slot)
        lows = Array(extents.low[s] for s in Slot)
        highs = Array(extents.high[s] for s in Slot)

        slot = Signal(range(LATENCY))
        operand = Signal(range(len(Slot)))
        dimension = Signal(range(DIMENSIONS))
        with m.Switch(slot):
            for index in range(_PAIR_SLOT):
                with m.Case(index):
                    m.d.comb += [
                        operand.eq(index % len(Slot)),
                        dimension.eq(index // len(Slot)),
                    ]
        is_last = slot == _LAST_SLOT
        with m.If(self.i.valid & ~is_last):
            m.d.sync += slot.eq(slot + 1)

        current = operands[operand]
        steps = Array(current.step[d] for d in range(DIMENSIONS))
        counts_of = Array(current.count[d] for d in range(DIMENSIONS))
        walking = self.i.valid & (slot < _BYTES_SLOT)
        m.d.comb += [
            decoder.record.eq(self.i.p.record),
            field_check.i.eq(candidate),
            placement.candidate.eq(candidate),
            placement.issue.eq(self.i.valid & (slot < ITEMS)),
            placement.item.eq(slot),
            self.register_index.eq(placement.register_index),
            placement.register_value.eq(self.register_value),
            extents.issue.valid.eq(walking),
            extents.issue.operand.eq(operand),
            extents.issue.first.eq(dimension == 0),
            extents.issue.step.eq(steps[dimension]),
            extents.issue.count.eq(counts_of[dimension]),
            # Two multiplications make the product of three counts.
            counts.issue.valid.eq(walking & (dimension < DIMENSIONS - 1)),
            counts.issue.operand.eq(operand),
            counts.issue.first.eq(dimension == 0),
            counts.issue.count.eq(current.count[0]),
            counts.issue.by.eq(Mux(dimension == 0, current.count[1], current.count[2])),
            footprint.start.eq(starts[operand]),
            footprint.log2_bytes.eq(log2_bytes(current.dtype)),
            footprint.low.eq(lows[operand]),
            footprint.high.eq(highs[operand]),
        ]

        # One clock behind the footprint.
        bytes_valid = Signal()
        bytes_operand = Signal(range(len(Slot)))
        m.d.sync += [
            bytes_valid.eq(self.i.valid & (slot >= _BYTES_SLOT) & (slot < _PAIR_SLOT)),
            bytes_operand.eq(operand),
        ]
        m.d.comb += [
            alias.valid.eq(bytes_valid),
            alias.operand.eq(bytes_operand),
            alias.start.eq(starts[bytes_operand]),
            alias.log2_bytes.eq(log2_bytes(operands[bytes_operand].dtype)),
            alias.first.eq(footprint.first),
            alias.last.eq(footprint.last),
            alias.same.eq(Array(extents.same)[bytes_operand]),
            alias.injective.eq(extents.injective),
            pairs.opcode.eq(candidate.opcode),
            pairs.live.eq(placement.live),
            pairs.total.eq(counts.total),
            pairs.pointers.eq(placement.pointers),
        ]

        single = Signal(FieldFaults)
        walk = Signal(fault_layout(Reason.WALK))
        between = Signal(PairFaults)
        faults = Signal(Faults)
        is_live = Array(placement.live)[bytes_operand]
        m.d.comb += walk.walk.eq(bytes_valid & is_live & footprint.leaves)
        with m.If(slot == 0):
            m.d.comb += single.eq(field_check.faults)
        with m.If(slot == _PAIR_SLOT):
            m.d.comb += between.eq(pairs.faults)
        with m.If(~is_last):
            carried = Mux(slot == 0, 0, faults.as_value())
            m.d.sync += faults.eq(carried | union(single, placement.faults, walk, between))

        m.d.comb += self.i.ready.eq(is_last & (~self.o.valid | self.o.ready))
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [slot.eq(0), self.o.valid.eq(1)]
            self._emit(m, candidate, placement, faults, alias.serial)
        return m

    def _emit(self, m: Module, candidate, placement: Placement, faults, aliases) -> None:
        reason = Signal(5)
        report(m, faults, reason)
        o = self.o.p
        m.d.sync += [
            o.handler.eq(candidate.handler),
            o.opcode.eq(candidate.opcode),
            o.reason.eq(reason),
            o.channels.eq(candidate.channels),
            o.imm0.eq(placement.pointers[IMM0]),
            o.imm1.eq(placement.pointers[IMM1]),
            o.imm_dtype.eq(candidate.imm_dtype),
            o.element_count.eq(candidate.element_count),
            o.first_entry.eq(candidate.first_entry),
            o.serial.eq(aliases & (candidate.handler == Handler.BACK_PROP)),
            o.accepted_at.eq(self.i.p.accepted_at),
        ]
        for walk, slot in ((o.src0, Slot.SRC0), (o.src1, Slot.SRC1), (o.dst, Slot.DST)):
            operand = candidate.operands[slot]
            m.d.sync += [
                walk.start.eq(placement.pointers[slot]),
                walk.dtype.eq(operand.dtype),
                walk.step.eq(operand.step),
                walk.count.eq(operand.count),
            ]
