"""The front end: beats of the instruction stream to validated operations."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import EngineConfig
from dve_rtl.frontend.gather import Gather
from dve_rtl.frontend.validate import Validator
from dve_rtl.payloads import Operation


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
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.gather = gather = Gather(self.config.beat_bits)
        m.submodules.validator = validator = Validator(self.config)
        wiring.connect(m, wiring.flipped(self.beats), gather.beats)
        wiring.connect(m, gather.o, validator.i)
        wiring.connect(m, validator.o, wiring.flipped(self.o))
        m.d.comb += [
            gather.now.eq(self.now),
            self.register_index.eq(validator.register_index),
            validator.register_value.eq(self.register_value),
            # A record stays with the gatherer until its operation leaves the validator.
            self.idle.eq(~gather.o.valid & ~validator.o.valid),
        ]
        return m
