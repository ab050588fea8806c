"""How many elements an access pattern has (isa_common.md 4.4)."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.frontend.decode import Slot

ELEMENTS = 48
"""Product of three 16-bit counts."""

_PARTIAL = 32
"""Product of two of them."""


class CountIssue(data.Struct):
    """One step of one operand's product."""

    valid: 1
    operand: 2  # a Slot
    first: 1  # take ``count * by``; otherwise multiply what there is ``by``
    count: 16
    by: 16


class ElementCounts(wiring.Component):
    """Products of the counts of three operands, one multiplication per clock.

    Latency 3 clocks: the second step of an operand is issued three clocks after its first, so
    three interleaved operands keep the multiplier busy.

    Members
    -------
    issue : In(CountIssue)
        The next step.
    total : Out(ArrayLayout(48, 3))
        Elements of each operand, three clocks after its last step.
    """

    issue: In(CountIssue)
    total: Out(data.ArrayLayout(ELEMENTS, len(Slot)))

    def elaborate(self, platform):
        m = Module()
        valid = Signal()
        operand = Signal(2)
        multiplicand = Signal(_PARTIAL)
        multiplier = Signal(16)
        partial = Array(self.total[slot] for slot in Slot)[self.issue.operand][:_PARTIAL]
        m.d.sync += [
            valid.eq(self.issue.valid),
            operand.eq(self.issue.operand),
            multiplicand.eq(Mux(self.issue.first, self.issue.count, partial)),
            multiplier.eq(self.issue.by),
        ]

        product = Signal(ELEMENTS)
        product_valid = Signal()
        product_operand = Signal(2)
        m.d.sync += [
            product.eq(multiplicand * multiplier),
            product_valid.eq(valid),
            product_operand.eq(operand),
        ]
        with m.If(product_valid):
            m.d.sync += self.total[product_operand].eq(product)
        return m
