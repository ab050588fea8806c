"""Passes over the channel groups of an instruction: one issue slot per clock.

A pass is a few lead slots (immediates, or the prefactor), then one slot per element. Passes follow
each other without draining the lanes; instructions do drain them, so that each sees every write
of the one before.
"""

from collections.abc import Callable
from dataclasses import dataclass

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import PARTIALS, EngineConfig
from dve_rtl.fp32.accumulator import min_period
from dve_rtl.lane_program import Moments
from dve_rtl.memory.store import last_group, row_of
from dve_rtl.memory.walker import Walker
from dve_rtl.payloads import Handler, Issue, Operation, SlotKind


def pass_gap(config: EngineConfig) -> int:
    """Clocks between the last element of a pass and the first of the next.

    The accumulators fold in eight of them. A prefactor, issued in the first, must be in its RAM
    before the first element reads it, one clock before that element's last multiplication.
    """
    return max(PARTIALS, config.mul_latency + 2)


def fold_gap(config: EngineConfig) -> int:
    """The same where nothing but the accumulators need a gap."""
    return PARTIALS


def statistics_gap(config: EngineConfig) -> int:
    """The same for statistics, whose folds must not wait for a slot in the next pass.

    The last addition of a fold starts two adder latencies after the eight clocks in which the
    partials come round, one more where two want one slot, and the sums of the next pass may not
    come before the tail has taken them.
    """
    return max(PARTIALS + 1 + 2 * config.add_latency, Moments(config).end)


@dataclass(frozen=True)
class PassTable:
    """Slots of one handler's pass.

    Parameters
    ----------
    lead : tuple of (SlotKind, str or None)
        Lead slots in order, each with the immediate it reads.
    elements : tuple of SlotKind
        Kinds of the element slots; the last one repeats, or all in turn.
    in_turn : bool
        All kinds of elements repeat in turn; their number divides that of the elements.
    gap : callable or None
        Clocks that the units of a configuration need between two passes; the lead of each but the
        first, or of all if there are lead slots, lasts at least as long.
    takes_count : bool
        The reciprocal of the instruction's element count is formed first.
    sweeps : int
        How often all passes are made, 1 or 2; the lanes say when the second sweep can begin.
    """

    lead: tuple[tuple[SlotKind, str | None], ...]
    elements: tuple[SlotKind, ...]
    gap: Callable[[EngineConfig], int] | None = None
    takes_count: bool = False
    in_turn: bool = False
    sweeps: int = 1


PASSES: dict[Handler, PassTable] = {
    Handler.GRAD_ACCUMULATE: PassTable(
        lead=((SlotKind.IMM_MEAN, "imm0"), (SlotKind.IMM_SCALE, "imm1")),
        elements=(SlotKind.ELEMENT,),
        gap=pass_gap,
    ),
    Handler.BACK_PROP: PassTable(
        lead=((SlotKind.PREPARE, None),), elements=(SlotKind.ELEMENT,), gap=pass_gap
    ),
    Handler.STATS: PassTable(
        lead=(), elements=(SlotKind.FIRST, SlotKind.ELEMENT), gap=statistics_gap
    ),
    Handler.STATS2: PassTable(
        lead=(),
        elements=(SlotKind.FIRST, SlotKind.FIRST_ODD, SlotKind.ELEMENT),
        gap=statistics_gap,
    ),
    Handler.AGGREGATE: PassTable(
        lead=(),
        elements=(SlotKind.PART_COUNT, SlotKind.PART_MEAN, SlotKind.PART_NVAR),
        gap=fold_gap,
        in_turn=True,
        sweeps=2,
    ),
    Handler.PARAM_LOAD: PassTable(
        lead=((SlotKind.LOAD_MEAN, "imm0"),),
        elements=(SlotKind.LOAD_A, SlotKind.LOAD_B, SlotKind.LOAD_C),
        takes_count=True,
    ),
    Handler.PARAM_LOAD2: PassTable(
        lead=((SlotKind.LOAD_MEAN, "imm0"), (SlotKind.LOAD_A, "imm1")),
        elements=(SlotKind.LOAD_B, SlotKind.LOAD_C),
        takes_count=True,
    ),
    Handler.LOAD_PARAMETER_RAM: PassTable(lead=(), elements=(SlotKind.LOAD_ENTRY,)),
} | {
    handler: PassTable(lead=(), elements=(SlotKind.ELEMENT,))
    for handler in (
        *(Handler.TENSOR_TENSOR, Handler.BITVEC),
        *(Handler.COPY_PREDICATED, Handler.CAST_PREDICATED),
    )
}


def _lead_clocks(config: EngineConfig, table: PassTable) -> int:
    """Fewest clocks of a lead."""
    return len(table.lead) if table.gap is None else table.gap(config)


class Sequencer(wiring.Component):
    """Turns operations into issue slots, in order, and says when each has ended.

    Initiation interval 1 slot. The first slot of an instruction is issued two clocks after
    ``begin`` (later for a parameter load, which waits for the reciprocal of N). Between the
    elements of two passes lies the gap of their ``PassTable``; without one and without a lead, a
    pass follows in the next clock.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In(stream.Signature(Operation))
        Validated instructions. Ready in the clock in which one ends.
    hold : In(1)
        Do not begin another instruction.
    idle : Out(1)
        No instruction executes.
    begin : Out(1)
        First clock of a legal instruction; ``i.payload`` stays until it ends.
    issue : Out(Issue)
        Slot of this clock.
    count : Out(stream.Signature(32)), recip : In(stream.Signature(32))
        To and from the reciprocal unit.
    recip_value : Out(32)
        General reciprocal of the element count, while its parameter load executes.
    second_sweep : Out(1)
        Slots are of the second sweep.
    next_sweep : In(1)
        The second sweep can begin; not before all of the first one is issued.
    stored : In(1)
        One result was written; lets a serial instruction issue its next element.
    done : In(1)
        The last effect of the instruction has happened.
    update : Out(1), updated : In(1)
        Perform ``i.p.update`` now; done. Asked for when the sources have been read, or after the
        last effect, and always before ``completed`` (isa_common.md 1.5, 5.8).
    completed : Out(1), taken : In(1)
        The instruction has ended; its completion was accepted.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Operation)),
                "hold": In(1),
                "idle": Out(1),
                "begin": Out(1),
                "issue": Out(Issue),
                "count": Out(stream.Signature(32)),
                "recip": In(stream.Signature(32)),
                "recip_value": Out(32),
                "second_sweep": Out(1),
                "next_sweep": In(1),
                "stored": In(1),
                "done": In(1),
                "update": Out(1),
                "updated": In(1),
                "completed": Out(1),
                "taken": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        op = self.i.p
        group = Signal(7)
        longest = max(_lead_clocks(self.config, table) for table in PASSES.values())
        lead = Signal(range(longest))
        element = Signal(2)  # ordinal in the pass, stopping at the last kind of its table
        has_updated = Signal()
        owes_update = op.update.valid & ~has_updated & ~self.updated
        waiting = Signal()  # a serial instruction has an element on its way
        has_lead = Signal()
        leads_first = Signal()  # of the first pass too
        takes_count = Signal()
        sweeps_twice = Signal()
        ends_sweep = Signal()
        lead_over = Signal()
        kind = Signal(SlotKind)
        moves = Signal()  # an element slot is issued

        m.submodules.walker0 = walker0 = Walker(len(op.src0.step))
        m.submodules.walker1 = walker1 = Walker(len(op.src1.step))
        for walker, walk in ((walker0, op.src0), (walker1, op.src1)):
            m.d.comb += [
                walker.walk.eq(walk),
                walker.load.eq(self.begin),
                walker.step.eq(moves),
            ]
            if self.config.traits.pairs:
                m.d.comb += walker.pair.eq(op.pair)

        issue = Signal(Issue)
        m.d.sync += self.issue.eq(issue)
        m.d.comb += [
            issue.slot.kind.eq(kind),
            issue.slot.group.eq(group),
            issue.slot.last.eq(walker0.last),
            ends_sweep.eq(moves & walker0.last & (group == last_group(self.config, op.channels))),
            issue.slot.final.eq(ends_sweep & (~sweeps_twice | self.second_sweep)),
        ]
        self._read(m, issue.read0, op.src0.start, op.src0.dtype, walker0.offset, group)
        self._read(m, issue.read1, op.src1.start, op.src1.dtype, walker1.offset, group)

        gap_over = self._gap_over(m, moves & (element == 0))
        with m.Switch(op.handler):
            for handler, table in PASSES.items():
                with m.Case(handler):
                    length = _lead_clocks(self.config, table)
                    m.d.comb += [
                        has_lead.eq(length > 0),
                        leads_first.eq(len(table.lead) > 0),
                        takes_count.eq(table.takes_count),
                        sweeps_twice.eq(table.sweeps == 2),
                        lead_over.eq((lead + 1 >= length) & (gap_over if table.gap else 1)),
                    ]

        with m.If(self.updated):
            m.d.sync += has_updated.eq(1)

        # Also while the lead of the next pass is issued.
        with m.If(moves):
            m.d.sync += waiting.eq(1)
        with m.Elif(self.stored):
            m.d.sync += waiting.eq(0)

        m.d.comb += self.count.p.eq(op.element_count)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                m.d.sync += [group.eq(0), lead.eq(0), element.eq(0), waiting.eq(0)]
                m.d.sync += [has_updated.eq(0), self.second_sweep.eq(0)]
                with m.If(self.i.valid & ~self.hold):
                    with m.If((op.reason != 0) | (op.handler == Handler.SYNCHRONISE)):
                        m.next = "COMPLETE"
                        with m.If(op.update.valid):
                            m.next = "UPDATE"
                    with m.Else():
                        m.d.comb += self.begin.eq(1)
                        with m.If(takes_count):
                            m.next = "COUNT"
                        with m.Elif(leads_first):
                            m.next = "LEAD"
                        with m.Else():
                            m.next = "ELEMENTS"
            with m.State("COUNT"):
                m.d.comb += self.count.valid.eq(1)
                with m.If(self.count.ready):
                    m.next = "RECIPROCAL"
            with m.State("RECIPROCAL"):
                m.d.comb += self.recip.ready.eq(1)
                with m.If(self.recip.valid):
                    m.d.sync += self.recip_value.eq(self.recip.p)
                    m.next = "LEAD"
            with m.State("LEAD"):
                self._lead(m, op, lead, kind, issue.read0, group)
                with m.If(lead + 1 < longest):
                    m.d.sync += lead.eq(lead + 1)
                with m.If(lead_over):
                    m.next = "ELEMENTS"
            with m.State("ELEMENTS"):
                m.d.comb += moves.eq(~op.serial | ~waiting | self.stored)
                with m.If(moves):
                    self._element_kind(m, op, element, kind)
                    with m.If(walker0.last):
                        m.d.sync += [group.eq(group + 1), lead.eq(0), element.eq(0)]
                        with m.If(has_lead):
                            m.next = "LEAD"
                    with m.If(issue.slot.final):
                        m.next = "DRAIN"
                    with m.Elif(ends_sweep):
                        m.next = "SWEEP"
            with m.State("SWEEP"):
                m.d.sync += group.eq(0)
                with m.If(self.next_sweep):
                    m.d.sync += self.second_sweep.eq(1)
                    m.next = "ELEMENTS"
            with m.State("DRAIN"):
                # The last slot is at the memories: every source has been read.
                m.d.comb += self.update.eq(op.update.valid & op.update.on_read & ~has_updated)
                with m.If(self.done):
                    m.next = "COMPLETE"
                    with m.If(owes_update):
                        m.next = "UPDATE"
            with m.State("UPDATE"):
                m.d.comb += self.update.eq(op.update.valid & ~has_updated)
                with m.If(~owes_update):
                    m.next = "COMPLETE"
            with m.State("COMPLETE"):
                m.d.comb += [self.completed.eq(1), self.i.ready.eq(self.taken)]
                with m.If(self.taken):
                    m.next = "IDLE"
        return m

    def _read(self, m, read, start, dtype, offset, group):
        """Fill one memory read; a partition's row is its number divided by the lanes."""
        m.d.comb += [
            read.offset.eq(offset),
            read.row.eq(row_of(self.config, start.quadrant, group)),
            read.psum.eq(start.psum),
            read.dtype.eq(dtype),
        ]

    def _gap_over(self, m, first):
        """Whether the accumulators can take another first element in the next clock."""
        period = min_period(self.config.add_latency)
        since_first = Signal(range(period), init=period - 1)
        with m.If(first):
            m.d.sync += since_first.eq(1)
        with m.Elif(since_first != period - 1):
            m.d.sync += since_first.eq(since_first + 1)
        return since_first == period - 1

    def _lead(self, m, op, lead, kind, read, group):
        with m.Switch(op.handler):
            for handler, table in PASSES.items():
                with m.Case(handler):
                    for position, (slot_kind, immediate) in enumerate(table.lead):
                        with m.If(lead == position):
                            m.d.comb += kind.eq(slot_kind)
                            if immediate is not None:
                                pointer = getattr(op, immediate)
                                self._read(m, read, pointer, op.imm_dtype, pointer.offset, group)

    def _element_kind(self, m, op, element, kind):
        with m.Switch(op.handler):
            for handler, table in PASSES.items():
                with m.Case(handler):
                    final = len(table.elements) - 1
                    m.d.comb += kind.eq(table.elements[final])
                    for position, slot_kind in enumerate(table.elements[:final]):
                        with m.If(element == position):
                            m.d.comb += kind.eq(slot_kind)
                    # The ordinal also tells the first element of a pass from the others.
                    if table.in_turn:
                        m.d.sync += element.eq(Mux(element == final, 0, element + 1))
                    else:
                        with m.If(element < max(final, 1)):
                            m.d.sync += element.eq(element + 1)
