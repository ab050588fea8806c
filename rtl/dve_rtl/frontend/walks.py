"""The three walks of an instruction: counts, extremes, bytes touched, aliasing."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import EngineConfig
from dve_rtl.frontend.alias import AliasCheck
from dve_rtl.frontend.counts import ELEMENTS, ElementCounts
from dve_rtl.frontend.decode import DIMENSIONS, Candidate, Slot
from dve_rtl.frontend.extents import Extents
from dve_rtl.frontend.footprint import Footprint
from dve_rtl.memory.element import log2_bytes
from dve_rtl.payloads import Pointer

PAIRED_DIMENSIONS = 3
"""Rank of the operands of an instruction that has two sources."""

FOURTH_STEP = 5
"""Step of the fourth dimension of a lone source: one that nobody needs without a second one. The
extremes do not depend on the order of the dimensions."""

BYTES_STEP = PAIRED_DIMENSIONS * len(Slot)
"""First step after the dimensions."""

STEPS = BYTES_STEP + len(Slot)
"""Steps of one instruction."""


class Walks(wiring.Component):
    """Takes the walks of dst, src0 and src1 through one multiplier for extremes, one for counts.

    Going dimension by dimension through the operands gives each product the three clocks it
    needs before the next one of the same operand: steps 0 to 8 are the dimensions, 9 to 11 the
    bytes of dst, src0 and src1. Everything is known one clock after the last step. Only the one
    source of an instruction without a second one has a fourth dimension, which is taken in
    ``FOURTH_STEP``.

    Parameters
    ----------
    config : EngineConfig
        Gives the active bytes of a partition.

    Members
    -------
    candidate : In(Candidate)
        The record in normal form; stable for all steps and one clock longer.
    pointers : In(ArrayLayout(Pointer, 3))
        Start of each operand, from step 9 on.
    valid : In(1)
        ``step`` is one of an instruction.
    step : In(range(12))
        Counts up by one per clock.
    total : Out(ArrayLayout(32, 3)), overflows : Out(3)
        Elements of each operand, and whether they are more.
    leaves : Out(3)
        In the clock after the bytes of an operand: they leave its partition (reason 14).
    serial : Out(1)
        Element-wise execution could show that elements overlap in time (isa_common.md 4.3).
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "candidate": In(Candidate),
                "pointers": In(data.ArrayLayout(Pointer, len(Slot))),
                "valid": In(1),
                "step": In(range(STEPS)),
                "total": Out(data.ArrayLayout(ELEMENTS, len(Slot))),
                "overflows": Out(len(Slot)),
                "leaves": Out(len(Slot)),
                "serial": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.extents = extents = Extents()
        m.submodules.counts = counts = ElementCounts()
        m.submodules.footprint = footprint = Footprint(self.config)
        m.submodules.alias = alias = AliasCheck()

        slot = Signal(range(len(Slot)))
        dimension = Signal(range(DIMENSIONS))
        with m.Switch(self.step):
            for step in range(STEPS):
                with m.Case(step):
                    m.d.comb += [slot.eq(step % len(Slot)), dimension.eq(step // len(Slot))]
        lone_source = ~self.candidate.operands[Slot.SRC1].used
        with m.If((self.step == FOURTH_STEP) & lone_source):
            m.d.comb += [slot.eq(Slot.SRC0), dimension.eq(DIMENSIONS - 1)]

        operands = Array(self.candidate.operands[s] for s in Slot)
        starts = Array(self.pointers[s] for s in Slot)
        operand = operands[slot]
        steps = Array(operand.step[d] for d in range(DIMENSIONS))
        sizes = Array(operand.count[d] for d in range(DIMENSIONS))
        is_first = dimension == 0
        is_dimension = self.valid & (self.step < BYTES_STEP)
        m.d.comb += [
            extents.issue.valid.eq(is_dimension),
            extents.issue.operand.eq(slot),
            extents.issue.first.eq(is_first),
            extents.issue.step.eq(steps[dimension]),
            extents.issue.count.eq(sizes[dimension]),
            # Three multiplications make the product of four counts.
            counts.issue.valid.eq(is_dimension & (dimension < DIMENSIONS - 1)),
            counts.issue.operand.eq(slot),
            counts.issue.first.eq(is_first),
            counts.issue.count.eq(operand.count[0]),
            counts.issue.by.eq(sizes[dimension + 1]),
            self.total.eq(counts.total),
            self.overflows.eq(counts.overflows),
            footprint.start.eq(starts[slot]),
            footprint.log2_bytes.eq(log2_bytes(operand.dtype)),
            footprint.low.eq(Array(extents.low[s] for s in Slot)[slot]),
            footprint.high.eq(Array(extents.high[s] for s in Slot)[slot]),
        ]

        # One clock behind the footprint.
        judged = Signal.like(slot)
        judged_valid = Signal()
        m.d.sync += [
            judged.eq(slot),
            judged_valid.eq(self.valid & (self.step >= BYTES_STEP)),
        ]
        m.d.comb += [
            alias.valid.eq(judged_valid),
            alias.operand.eq(judged),
            alias.start.eq(starts[judged]),
            alias.log2_bytes.eq(log2_bytes(operands[judged].dtype)),
            alias.first.eq(footprint.first),
            alias.last.eq(footprint.last),
            alias.same.eq(Array(extents.same)[judged]),
            alias.injective.eq(extents.injective),
            self.serial.eq(alias.serial),
            self.leaves.eq(Cat(judged_valid & footprint.leaves & (judged == s) for s in Slot)),
        ]
        return m
