"""Holds a record until its wait comes true (isa_common.md 5.8, steps a and b)."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import INST_WORD_LEN, REGISTER_OPERAND, REGISTERS, WaitMode
from dve_golden.isa.generations import Generation
from dve_golden.isa.structs import EVENTS, HEADER
from dve_golden.isa.types import record as make_record

from dve_rtl.frontend.dispatch import Dispatch
from dve_rtl.frontend.gather import GatheredRecord
from dve_rtl.frontend.layouts import layout_of
from dve_rtl.payloads import Handler, Waiting
from dve_rtl.sync.bank import Wait

_PREFIX = make_record("PREFIX", header=HEADER, events=EVENTS)
"""Header and events: in every struct the same bytes as far as the wait is concerned."""


class WaitStage(wiring.Component):
    """Passes records on; one with a wait only when its condition has been met.

    A wait is tested only when every earlier instruction has completed, its update included, so
    that it sees what they left. A record of reason 1 or 2, or whose wait mode is illegal, does
    not wait. Latency: none without a wait; with one, at least 2 clocks after the condition holds.

    Parameters
    ----------
    generation : Generation
        Whose opcodes.

    Members
    -------
    i, o : In, Out(stream.Signature(GatheredRecord))
    retired : In(1)
        No earlier instruction is on its way.
    register_index : Out(6), register_value : In(32)
        Register to read, and what it holds in the same clock; only while ``holds``.
    holds : Out(1)
        A record waits here.
    wait : Out(Wait), test : Out(1), met : In(1)
        To and from the bank.
    status : Out(Waiting)
        What is waited for.
    """

    def __init__(self, generation: Generation = Generation.CAYMAN):
        self.generation = generation
        super().__init__(
            {
                "i": In(stream.Signature(GatheredRecord)),
                "o": Out(stream.Signature(GatheredRecord)),
                "retired": In(1),
                "register_index": Out(6),
                "register_value": In(32),
                "holds": Out(1),
                "wait": Out(Wait),
                "test": Out(1),
                "met": In(1),
                "status": Out(Waiting),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.dispatch = dispatch = Dispatch(self.generation)
        prefix = data.View(layout_of(_PREFIX), self.i.p.record[: _PREFIX.bits])
        events = prefix.events
        from_register = (events.wait_mode & REGISTER_OPERAND).any()
        legal = Value.cast(events.wait_mode).matches(*sorted(int(mode) for mode in WaitMode)) & ~(
            from_register & (events.semaphore_value[:8] >= REGISTERS)
        )
        passed = Signal()  # the wait of this record has come true
        needed = Signal()
        m.d.comb += [
            dispatch.opcode.eq(prefix.header.opcode),
            needed.eq(
                (dispatch.handler != Handler.BAD_OPCODE)
                & (prefix.header.inst_word_len == INST_WORD_LEN)
                & legal
                & (events.wait_mode != WaitMode.NONE)
            ),
            self.holds.eq(self.i.valid & needed & ~passed),
            self.test.eq(self.holds & self.retired),
            self.register_index.eq(events.semaphore_value),
            self.wait.condition.eq(events.wait_mode),
            self.wait.index.eq(events.wait_idx),
            self.wait.threshold.eq(Mux(from_register, self.register_value, events.semaphore_value)),
            self.status.active.eq(self.test),
            self.status.mode.eq(events.wait_mode),
            self.status.index.eq(events.wait_idx),
            self.status.threshold.eq(self.wait.threshold),
            self.o.payload.eq(self.i.payload),
            self.o.valid.eq(self.i.valid & ~self.holds),
            self.i.ready.eq(self.o.ready & ~self.holds),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += passed.eq(0)
        with m.Elif(self.met):
            m.d.sync += passed.eq(1)
        return m
