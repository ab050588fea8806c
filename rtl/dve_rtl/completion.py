"""Completion stream: numbers the instructions and measures them."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.payloads import Completion


class CompletionPort(wiring.Component):
    """Holds one completion until it is accepted, so that the next instruction can execute.

    ``cycles`` of a completion counts clocks from the later of the last beat accepted and the
    previous completion, to this completion. Latency 1 clock.

    Members
    -------
    valid : In(1), ready : Out(1)
        An instruction has ended; taken if both are 1.
    opcode : In(8), reason : In(5), accepted_at : In(32)
        Of the instruction.
    now : In(32)
        Clock counter.
    o : Out(stream.Signature(Completion))
    """

    valid: In(1)
    ready: Out(1)
    opcode: In(8)
    reason: In(5)
    accepted_at: In(32)
    now: In(32)
    o: Out(stream.Signature(Completion))

    def elaborate(self, platform):
        m = Module()
        sequence = Signal(32)
        previous = Signal(32)
        # It is offered in the clock after this one. Differences modulo 2^32 are ages; the
        # smaller age belongs to the later event.
        offered_at = Signal(32)
        since_accepted = Signal(32)
        since_previous = Signal(32)
        first = sequence == 0
        m.d.comb += [
            offered_at.eq(self.now + 1),
            since_accepted.eq(offered_at - self.accepted_at),
            since_previous.eq(offered_at - previous),
            self.ready.eq(~self.o.valid | self.o.ready),
        ]
        with m.If(self.ready):
            m.d.sync += self.o.valid.eq(self.valid)
            with m.If(self.valid):
                m.d.sync += [
                    self.o.p.sequence.eq(sequence),
                    self.o.p.opcode.eq(self.opcode),
                    self.o.p.reason.eq(self.reason),
                    self.o.p.cycles.eq(
                        Mux(
                            first | (since_accepted < since_previous),
                            since_accepted,
                            since_previous,
                        )
                    ),
                    sequence.eq(sequence + 1),
                    previous.eq(offered_at),
                ]
        return m
