"""The front end: beats of the instruction stream to validated operations, after their wait."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import EngineConfig
from dve_rtl.frontend.gather import Gather
from dve_rtl.frontend.validate import Validator
from dve_rtl.frontend.wait import WaitStage
from dve_rtl.payloads import Operation, Waiting
from dve_rtl.sync.bank import Wait


class FrontEnd(wiring.Component):
    """Gathers, decodes and validates instructions.

    Latency from the last beat of a record to its operation: 15 clocks. Throughput: one record
    per 14 clocks or per its number of beats, whichever is more.

    Parameters
    ----------
    config : EngineConfig
        Gives the beat width and the active bytes of a partition.

    Members
    -------
    beats : In(stream.Signature(config.beat_bits))
        The first beat of a record carries byte 0 in its lowest bits.
    now : In(32)
        Free-running clock counter.
    register_index : Out(6)
        Address register to read, and
    register_value : In(32)
        what it holds, in the same clock cycle.
    o : Out(stream.Signature(Operation))
        One operation for every record, in order; illegal ones carry their reason.
    wait : Out(Wait), test : Out(1), met : In(1)
        To and from the bank of semaphores and events.
    waiting : Out(Waiting)
        The wait that holds the stream up.
    idle : Out(1)
        No whole record is here; some beats of the next one may be.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "beats": In(stream.Signature(config.beat_bits)),
                "now": In(32),
                "register_index": Out(6),
                "register_value": In(32),
                "o": Out(stream.Signature(Operation)),
                "wait": Out(Wait),
                "test": Out(1),
                "met": In(1),
                "waiting": Out(Waiting),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.gather = gather = Gather(self.config.beat_bits)
        m.submodules.wait_stage = wait = WaitStage(self.config.generation)
        m.submodules.validator = validator = Validator(self.config)
        wiring.connect(m, wiring.flipped(self.beats), gather.beats)
        wiring.connect(m, gather.o, wait.i)
        wiring.connect(m, wait.o, validator.i)
        wiring.connect(m, validator.o, wiring.flipped(self.o))
        m.d.comb += [
            gather.now.eq(self.now),
            # While a record waits, the validator has none and reads nothing.
            self.register_index.eq(Mux(wait.holds, wait.register_index, validator.register_index)),
            validator.register_value.eq(self.register_value),
            wait.register_value.eq(self.register_value),
            # An operation stays at the validator's output until its instruction has completed.
            wait.retired.eq(~validator.o.valid),
            self.wait.eq(wait.wait),
            self.test.eq(wait.test),
            wait.met.eq(self.met),
            self.waiting.eq(wait.status),
            # A record stays with the gatherer until its operation leaves the validator.
            self.idle.eq(~gather.o.valid & ~validator.o.valid),
        ]
        return m
