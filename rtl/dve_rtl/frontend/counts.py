"""How many elements an access pattern has (isa_common.md 4.4)."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.frontend.decode import Slot

ELEMENTS = 32
"""A product above 2^32 - 1 is illegal (isa_common.md 4.4), so no more bits of it are kept."""


class CountIssue(data.Struct):
    """One step of one operand's product."""

    valid: 1
    operand: 2  # a Slot
    first: 1  # take ``count * by``; otherwise multiply what there is ``by``
    count: 16
    by: 16


class ElementCounts(wiring.Component):
    """Products of the counts of three operands, one multiplication per clock.

    Latency 3 clocks: each step of an operand is issued three clocks after the one before, so
    three interleaved operands keep the multiplier busy.

    Members
    -------
    issue : In(CountIssue)
        The next step.
    total : Out(ArrayLayout(32, 3))
        Elements of each operand, three clocks after its last step.
    overflows : Out(3)
        Their number is above 2^32 - 1; ``total`` means nothing then. Not exact, and of no
        interest, if a count is zero.
    """

    issue: In(CountIssue)
    total: Out(data.ArrayLayout(ELEMENTS, len(Slot)))
    overflows: Out(len(Slot))

    def elaborate(self, platform):
        m = Module()
        valid = Signal()
        operand = Signal(2)
        first = Signal()
        multiplicand = Signal(ELEMENTS)
        multiplier = Signal(16)
        partial = Array(self.total[slot] for slot in Slot)[self.issue.operand]
        m.d.sync += [
            valid.eq(self.issue.valid),
            first.eq(self.issue.first),
            operand.eq(self.issue.operand),
            multiplicand.eq(Mux(self.issue.first, self.issue.count, partial)),
            multiplier.eq(self.issue.by),
        ]

        product = Signal(ELEMENTS + len(multiplier))
        product_first = Signal()
        product_valid = Signal()
        product_operand = Signal(2)
        m.d.sync += [
            product.eq(multiplicand * multiplier),
            product_first.eq(first),
            product_valid.eq(valid),
            product_operand.eq(operand),
        ]
        with m.If(product_valid):
            overflows = self.overflows.bit_select(product_operand, 1)
            m.d.sync += [
                self.total[product_operand].eq(product),
                overflows.eq(product[ELEMENTS:].any() | (~product_first & overflows)),
            ]
        return m
