"""Rules between operands: how many elements, and where both sources may lie."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Reason
from dve_golden.isa.generations import Generation

from dve_rtl.frontend.counts import ELEMENTS
from dve_rtl.frontend.decode import Slot
from dve_rtl.frontend.faults import fault_layout
from dve_rtl.frontend.placement import ITEMS
from dve_rtl.frontend.rules import Rules, rules_of
from dve_rtl.payloads import Pointer

MAX_ELEMENT_BITS = 32
"""A product above 2^32 - 1 is illegal (isa_common.md 4.4)."""

PairFaults = fault_layout(Reason.COUNT_MISMATCH, Reason.SOURCE_PLACEMENT)


class PairCheck(wiring.Component):
    """Compares the operands of an instruction. Combinational.

    Parameters
    ----------
    generation : Generation
        Whose opcodes.

    Members
    -------
    opcode : In(8)
        Selects the rules.
    live : In(3)
        Operands that take part (isa_common.md 5.8, c).
    total : In(ArrayLayout(48, 3))
        Elements of each.
    pointers : In(ArrayLayout(Pointer, 5))
        Start of each.
    faults : Out(PairFaults)
        Reasons 11 and 12; meaningless beside a lower one.
    """

    opcode: In(8)
    live: In(len(Slot))
    total: In(data.ArrayLayout(ELEMENTS, len(Slot)))
    pointers: In(data.ArrayLayout(Pointer, ITEMS))
    faults: Out(PairFaults)

    def __init__(self, generation: Generation):
        self.generation = generation
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        overflow = Cat(self._overflows(slot) for slot in Slot).any()
        rule_broken = Signal()
        with m.Switch(self.opcode):
            for opcode, rules in rules_of(self.generation).items():
                with m.Case(opcode):
                    m.d.comb += rule_broken.eq(self._count_fault(rules))
                    if rules.paired:
                        m.d.comb += self.faults.source_placement.eq(self._sources_apart())
        m.d.comb += self.faults.count_mismatch.eq(overflow | rule_broken)
        return m

    def _overflows(self, slot: Slot) -> Value:
        return self.live[slot] & self.total[slot][MAX_ELEMENT_BITS:].any()

    def _differ(self, a: Slot, b: Slot) -> Value:
        return self.live[a] & self.live[b] & (self.total[a] != self.total[b])

    def _count_fault(self, rules: Rules) -> Value:
        broken = []
        if rules.source_count is not None:
            src0_total = self.total[Slot.SRC0]
            broken.append(self.live[Slot.SRC0] & (src0_total != rules.source_count))
        if rules.result_count is not None:
            dst_total = self.total[Slot.DST]
            broken.append(self.live[Slot.DST] & (dst_total != rules.result_count))
        if rules.paired:
            broken.append(self._differ(Slot.SRC0, Slot.SRC1))
        if rules.elementwise:
            broken.append(self._differ(Slot.SRC0, Slot.DST))
        return Cat(*broken).any()

    def _sources_apart(self) -> Value:
        """Not ``tt_valid_partitions`` (isa_common.md 3.3)."""
        src0, src1 = self.pointers[Slot.SRC0], self.pointers[Slot.SRC1]
        both_in_sbuf = ~src0.psum & ~src1.psum
        legal = (src0.psum ^ src1.psum) | (both_in_sbuf & (src0.quadrant == src1.quadrant))
        return self.live[Slot.SRC0] & self.live[Slot.SRC1] & ~legal
