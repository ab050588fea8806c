"""Rules between operands: how many elements, and where both sources may lie."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2
from dve_golden.isa.enums import Reason
from dve_golden.isa.generations import Generation

from dve_rtl.frontend.counts import ELEMENTS
from dve_rtl.frontend.decode import Slot
from dve_rtl.frontend.faults import fault_layout
from dve_rtl.frontend.placement import ITEMS
from dve_rtl.frontend.rules import Rules, rules_of
from dve_rtl.payloads import Pointer


def modulo(value: Value, divisor: int) -> Value:
    """``value``, of 32 bits, modulo 3 or a power of two, without a divider."""
    if divisor != 3:
        return value[: exact_log2(divisor)]
    # 4 is 1 modulo 3, so a number and the sum of its digits to base 4 leave the same remainder.
    remainders = Array(Const(total % 3, 2) for total in range(8))
    digits = [value[at : at + 2] for at in range(0, len(value), 2)]
    while len(digits) > 1:
        pairs = zip(digits[::2], digits[1::2], strict=True)
        digits = [remainders[low + high] for low, high in pairs]
    return remainders[digits[0]]


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
    total : In(ArrayLayout(32, 3)), overflows : In(3)
        Elements of each, and whether they are more.
    pointers : In(ArrayLayout(Pointer, 5))
        Start of each.
    faults : Out(PairFaults)
        Reasons 11 and 12; meaningless beside a lower one.
    """

    opcode: In(8)
    live: In(len(Slot))
    total: In(data.ArrayLayout(ELEMENTS, len(Slot)))
    overflows: In(len(Slot))
    pointers: In(data.ArrayLayout(Pointer, ITEMS))
    faults: Out(PairFaults)

    def __init__(self, generation: Generation):
        self.generation = generation
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        overflow = (self.live & self.overflows).any()
        rule_broken = Signal()
        with m.Switch(self.opcode):
            for opcode, rules in rules_of(self.generation).items():
                with m.Case(opcode):
                    m.d.comb += rule_broken.eq(self._count_fault(rules))
                    if rules.paired:
                        m.d.comb += self.faults.source_placement.eq(self._sources_apart())
        m.d.comb += self.faults.count_mismatch.eq(overflow | rule_broken)
        return m

    def _differ(self, a: Slot, b: Slot) -> Value:
        return self.live[a] & self.live[b] & (self.total[a] != self.total[b])

    def _count_fault(self, rules: Rules) -> Value:
        broken = []
        src0_total = self.total[Slot.SRC0]
        if rules.source_count is not None:
            broken.append(self.live[Slot.SRC0] & (src0_total != rules.source_count))
        if rules.source_limit is not None:
            broken.append(self.live[Slot.SRC0] & (src0_total > rules.source_limit))
        if rules.source_multiple != 1:
            indivisible = modulo(src0_total, rules.source_multiple) != 0
            broken.append(self.live[Slot.SRC0] & indivisible)
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
