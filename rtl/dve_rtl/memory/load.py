"""Read side of a lane: from a memory word to an element."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.memory.element import log2_bytes
from dve_rtl.payloads import DTYPE


class LoadControl(data.Struct):
    """Where in the word an element is, one clock after its address went to the memories."""

    psum: 1
    byte: 3
    dtype: DTYPE


class Load(wiring.Component):
    """Picks an element out of a SBUF or PSUM word; latency 1 clock, one element per clock.

    Elements are aligned to their size and never straddle a word (isa_common.md 2.4, 3.2).

    Members
    -------
    sbuf, psum : In(64)
        Words read.
    control : In(LoadControl)
    o : Out(32)
        The element, right-aligned; bits above its size are zero.
    """

    sbuf: In(64)
    psum: In(64)
    control: In(LoadControl)
    o: Out(32)

    def elaborate(self, platform):
        m = Module()
        word = Signal(64)
        size = Signal(2)
        shifted = Signal(32)
        m.d.comb += [
            word.eq(Mux(self.control.psum, self.psum, self.sbuf)),
            size.eq(log2_bytes(self.control.dtype)),
            shifted.eq(word >> (self.control.byte << 3)),
        ]
        with m.Switch(size):
            with m.Case(0):
                m.d.sync += self.o.eq(shifted[:8])
            with m.Case(1):
                m.d.sync += self.o.eq(shifted[:16])
            with m.Default():
                m.d.sync += self.o.eq(shifted)
        return m
