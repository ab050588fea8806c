"""The 256 semaphores and 256 events, one access at a time (isa_common.md 1.4 to 1.6)."""

from amaranth import *
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.payloads import SyncAction, SyncRequest, Update

ENTRIES = 256


class UpdateAction(enum.Enum, shape=4):
    """Low nibble of an update mode (isa_common.md 1.5)."""

    SET_EVENT = 1
    CLEAR_EVENT = 2
    INCREMENT = 3
    DECREMENT = 4
    ADD = 5
    SUBTRACT = 7
    WRITE = 9


class WaitCondition(enum.Enum, shape=4):
    """Low nibble of a wait mode (isa_common.md 1.4)."""

    EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    GREATER = 4
    GREATER_EQUAL = 5
    EVENT_SET = 6
    EVENT_SET_THEN_CLEAR = 7
    EVENT_CLEAR = 14
    EVENT_CLEAR_THEN_SET = 15


class Wait(data.Struct):
    """A condition to test."""

    condition: WaitCondition
    index: 8
    threshold: 32


class _Client(enum.Enum, shape=2):
    UPDATE = 0
    WAIT = 1
    PORT = 2


class SyncBank(wiring.Component):
    """Serves the engine's update, its wait, and the port of the other engines, in this order.

    Every access reads, decides and writes back before the next one begins, which makes
    THEN_CLEAR and THEN_SET atomic. Latency and initiation interval 2 clocks.

    Members
    -------
    update : In(Update)
        Performed while ``update.valid``; ``updated`` is high in the clock in which it is written.
    updated : Out(1)
    wait : In(Wait), waiting : In(1)
        Tested again and again while ``waiting``; ``met`` is high for the clock in which the
        condition holds and its effect, if it has one, is written.
    met : Out(1)
    request : In(stream.Signature(SyncRequest))
    response : Out(stream.Signature(32))
        One for each read.
    """

    update: In(Update)
    updated: Out(1)
    wait: In(Wait)
    waiting: In(1)
    met: Out(1)
    request: In(stream.Signature(SyncRequest))
    response: Out(stream.Signature(32))

    def elaborate(self, platform):
        m = Module()
        m.submodules.semaphores = semaphores = memory.Memory(
            shape=unsigned(32), depth=ENTRIES, init=[]
        )
        m.submodules.events = events = memory.Memory(shape=unsigned(1), depth=ENTRIES, init=[])
        semaphore_write, semaphore_read = semaphores.write_port(), semaphores.read_port()
        event_write, event_read = events.write_port(), events.read_port()

        index = Signal(8)
        served = Signal(8)
        m.d.sync += served.eq(index)
        m.d.comb += [
            semaphore_read.addr.eq(index),
            event_read.addr.eq(index),
            semaphore_write.addr.eq(served),
            event_write.addr.eq(served),
        ]
        semaphore, event = semaphore_read.data, event_read.data
        with m.If(self.response.ready):
            m.d.sync += self.response.valid.eq(0)

        client = Signal(_Client)
        with m.FSM():
            with m.State("READ"):
                with m.If(self.update.valid):
                    m.d.comb += index.eq(self.update.index)
                    m.d.sync += client.eq(_Client.UPDATE)
                    m.next = "WRITE"
                # The engine's poll must not lock the others out: it leaves them every other turn.
                with m.Elif(self.waiting & ((client != _Client.WAIT) | ~self._port_ready())):
                    m.d.comb += index.eq(self.wait.index)
                    m.d.sync += client.eq(_Client.WAIT)
                    m.next = "WRITE"
                with m.Elif(self._port_ready()):
                    m.d.comb += index.eq(self.request.p.index)
                    m.d.sync += client.eq(_Client.PORT)
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.next = "READ"
                with m.Switch(client):
                    with m.Case(_Client.UPDATE):
                        m.d.comb += self.updated.eq(1)
                        self._update(m, semaphore, semaphore_write, event_write)
                    with m.Case(_Client.WAIT):
                        self._test(m, semaphore, event, event_write)
                    with m.Case(_Client.PORT):
                        m.d.comb += self.request.ready.eq(1)
                        self._serve(m, semaphore, event, semaphore_write, event_write)
        return m

    def _port_ready(self) -> Value:
        return self.request.valid & (~self.response.valid | self.response.ready)

    def _update(self, m, semaphore, semaphore_write, event_write) -> None:
        operand = self.update.operand
        values = {
            UpdateAction.INCREMENT: semaphore + 1,
            UpdateAction.DECREMENT: semaphore - 1,
            UpdateAction.ADD: semaphore + operand,
            UpdateAction.SUBTRACT: semaphore - operand,
            UpdateAction.WRITE: operand,
        }
        with m.Switch(self.update.action):
            for action, value in values.items():
                with m.Case(action):
                    m.d.comb += [semaphore_write.en.eq(1), semaphore_write.data.eq(value)]
            for action, level in ((UpdateAction.SET_EVENT, 1), (UpdateAction.CLEAR_EVENT, 0)):
                with m.Case(action):
                    m.d.comb += [event_write.en.eq(1), event_write.data.eq(level)]

    def _test(self, m, semaphore, event, event_write) -> None:
        value, threshold = semaphore.as_signed(), self.wait.threshold.as_signed()
        conditions = {
            WaitCondition.EQUAL: value == threshold,
            WaitCondition.LESS: value < threshold,
            WaitCondition.LESS_EQUAL: value <= threshold,
            WaitCondition.GREATER: value > threshold,
            WaitCondition.GREATER_EQUAL: value >= threshold,
            WaitCondition.EVENT_SET: event,
            WaitCondition.EVENT_SET_THEN_CLEAR: event,
            WaitCondition.EVENT_CLEAR: ~event,
            WaitCondition.EVENT_CLEAR_THEN_SET: ~event,
        }
        with m.Switch(self.wait.condition):
            for condition, holds in conditions.items():
                with m.Case(condition):
                    m.d.comb += self.met.eq(holds)
        then_clear = self.wait.condition == WaitCondition.EVENT_SET_THEN_CLEAR
        then_set = self.wait.condition == WaitCondition.EVENT_CLEAR_THEN_SET
        m.d.comb += [
            event_write.en.eq(self.met & (then_clear | then_set)),
            event_write.data.eq(then_set),
        ]

    def _serve(self, m, semaphore, event, semaphore_write, event_write) -> None:
        value = self.request.p.value
        semaphores = {
            SyncAction.SET_SEMAPHORE: value,
            SyncAction.ADD_SEMAPHORE: semaphore + value,
            SyncAction.SUBTRACT_SEMAPHORE: semaphore - value,
        }
        with m.Switch(self.request.p.action):
            for action, result in semaphores.items():
                with m.Case(action):
                    m.d.comb += [semaphore_write.en.eq(1), semaphore_write.data.eq(result)]
            for action, level in ((SyncAction.SET_EVENT, 1), (SyncAction.CLEAR_EVENT, 0)):
                with m.Case(action):
                    m.d.comb += [event_write.en.eq(1), event_write.data.eq(level)]
            for action, read in (
                (SyncAction.READ_SEMAPHORE, semaphore),
                (SyncAction.READ_EVENT, event),
            ):
                with m.Case(action):
                    m.d.sync += [self.response.p.eq(read), self.response.valid.eq(1)]
