"""Completion stream: numbers the instructions and measures them."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.payloads import Completion

OLDEST = (1 << 32) - 1
"""Age at which the previous completion stops ageing."""


class CompletionPort(wiring.Component):
    """Holds one completion until it is accepted, so that the next instruction can execute.

    ``cycles`` of a completion counts clocks from the later of the last beat accepted and the
    previous completion, to this completion, modulo 2^32 for an instruction that takes longer.
    Latency 1 clock.

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
        # The smaller age belongs to the later event. The previous completion, or the lack of one,
        # must not look recent again when the engine has idled for 2^32 clocks.
        since_previous = Signal(range(OLDEST + 1), init=OLDEST)
        since_accepted = Signal(32)
        m.d.comb += [
            # It is offered in the clock after this one.
            since_accepted.eq(self.now + 1 - self.accepted_at),
            self.ready.eq(~self.o.valid | self.o.ready),
        ]
        with m.If(since_previous != OLDEST):
            m.d.sync += since_previous.eq(since_previous + 1)
        with m.If(self.ready):
            m.d.sync += self.o.valid.eq(self.valid)
            with m.If(self.valid):
                m.d.sync += [
                    self.o.p.sequence.eq(sequence),
                    self.o.p.opcode.eq(self.opcode),
                    self.o.p.reason.eq(self.reason),
                    self.o.p.cycles.eq(
                        Mux(since_accepted < since_previous, since_accepted, since_previous)
                    ),
                    sequence.eq(sequence + 1),
                    since_previous.eq(1),
                ]
        return m
