"""Which bytes of a partition a walk touches (isa_common.md 4.3)."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import EngineConfig
from dve_rtl.frontend.extents import REACH
from dve_rtl.payloads import Pointer

BYTES = signed(38)
"""isa_common.md 4.3: 38 signed bits hold every intermediate value."""


class Footprint(wiring.Component):
    """Lowest and highest byte of a walk. Latency 1 clock, one walk per clock.

    Parameters
    ----------
    config : EngineConfig
        Gives the active bytes of a partition.

    Members
    -------
    start : In(Pointer)
        Where the walk starts.
    log2_bytes : In(2)
        Element size.
    low, high : In(signed(34))
        Extremes of the walk in elements, relative to its start.
    first, last : Out(signed(38))
        First and last byte in partition.
    leaves : Out(1)
        The walk leaves the active bytes of its partition (reason 14).
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(Pointer),
                "log2_bytes": In(2),
                "low": In(REACH),
                "high": In(REACH),
                "first": Out(BYTES),
                "last": Out(BYTES),
                "leaves": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        in_psum = Signal()
        size = 1 << self.log2_bytes
        m.d.sync += [
            self.first.eq(self.start.offset + (self.low << self.log2_bytes)),
            self.last.eq(self.start.offset + (self.high << self.log2_bytes) + size - 1),
            in_psum.eq(self.start.psum),
        ]
        limit = Mux(in_psum, self.config.psum_active_bytes, self.config.sbuf_active_bytes)
        m.d.comb += self.leaves.eq((self.first < 0) | (self.last >= limit))
        return m
