"""How far a nested walk reaches from its start (isa_common.md 4.3)."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.frontend.decode import Slot

PRODUCT = signed(32)
"""(n - 1) * step: at most 65534 * 32768 < 2^31."""

REACH = signed(34)
"""Sum of four such products: below 2^33."""


class DimensionIssue(data.Struct):
    """One dimension of one operand."""

    valid: 1
    operand: 2  # a Slot
    first: 1  # the innermost dimension
    step: signed(16)
    count: 16  # 0 gives a meaningless reach


class Extents(wiring.Component):
    """Extremes of three walks in elements, one dimension per clock through one multiplier.

    Dimensions are issued innermost first; operands may interleave as long as all see the same
    dimension in turn, the destination first. What matters only for ``low`` and ``high`` of a source
    may come in any order after its first. Latency 3 clocks, throughput one dimension per clock.

    Members
    -------
    issue : In(DimensionIssue)
        The next dimension.
    low, high : Out(ArrayLayout(signed(34), 3))
        Lowest and highest element index of each walk, relative to its start.
    same : Out(3)
        The walk of this operand has the steps and counts of the destination's.
    injective : Out(1)
        No two ordinals of the destination's walk meet in one element. Sufficient, not necessary:
        every repeated dimension steps over all that the dimensions inside it cover.
    """

    issue: In(DimensionIssue)
    low: Out(data.ArrayLayout(REACH, len(Slot)))
    high: Out(data.ArrayLayout(REACH, len(Slot)))
    same: Out(len(Slot))
    injective: Out(1)

    def elaborate(self, platform):
        m = Module()

        # Stage 1: operands of the multiplier. ``last`` is the last index of the dimension.
        valid = Signal()
        operand = Signal(2)
        first = Signal()
        step = Signal(signed(16))
        last = Signal(16)
        m.d.sync += [
            valid.eq(self.issue.valid),
            operand.eq(self.issue.operand),
            first.eq(self.issue.first),
            step.eq(self.issue.step),
            last.eq(self.issue.count - 1),
        ]

        # Stage 2: the product, and the comparison with the destination's dimension, which was
        # here one or two clocks ago.
        product = Signal(PRODUCT)
        product_valid = Signal()
        product_operand = Signal(2)
        product_first = Signal()
        product_steps_over = Signal(16)  # |step|
        product_repeats = Signal()
        dst_dimension = Signal(32)
        dimension = Cat(step, last)
        m.d.sync += [
            product.eq(last * step),
            product_valid.eq(valid),
            product_operand.eq(operand),
            product_first.eq(first),
            product_steps_over.eq(abs(step)),
            product_repeats.eq(last != 0),
        ]
        with m.If(valid):
            with m.If(operand == Slot.DST):
                m.d.sync += dst_dimension.eq(dimension)
            agrees = (operand == Slot.DST) | (dimension == dst_dimension)
            same = Array(self.same)[operand]
            m.d.sync += same.eq((first | same) & agrees)

        # Stage 3: the extremes of a linear function lie at corners, so each dimension moves
        # exactly one of them.
        low = Array(self.low[slot] for slot in Slot)[product_operand]
        high = Array(self.high[slot] for slot in Slot)[product_operand]
        low_before = Signal(REACH)
        high_before = Signal(REACH)
        with m.If(~product_first):
            m.d.comb += [low_before.eq(low), high_before.eq(high)]
        with m.If(product_valid):
            with m.If(product < 0):
                m.d.sync += [low.eq(low_before + product), high.eq(high_before)]
            with m.Else():
                m.d.sync += [low.eq(low_before), high.eq(high_before + product)]
            with m.If(product_operand == Slot.DST):
                clears = ~product_repeats | (product_steps_over > high_before - low_before)
                m.d.sync += self.injective.eq((product_first | self.injective) & clears)
        return m
