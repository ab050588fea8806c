"""Nested strided walk of one operand (isa_common.md 4.3), one element per clock."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.memory.element import log2_bytes
from dve_rtl.payloads import OFFSET, walk_layout


class Walker(wiring.Component):
    """Byte offsets of the elements of a walk, in order of their ordinal.

    After the last element the walk begins anew, so that the same walk serves every channel group.
    No multiplication is needed: each dimension remembers where its current run began. Offsets
    wrap at the size of a partition; the validator has shown that a legal walk never does.

    Latency: the offset of the first element is there one clock after ``load``; each ``step``
    moves on by one element per clock.

    Parameters
    ----------
    rank : int
        Dimensions of the walk.

    Members
    -------
    walk : In(walk_layout(rank))
        The operand; held until the walk ends.
    load : In(1)
        Go to the first element.
    step : In(1)
        Go to the next element.
    pair : In(1)
        Go in pairs of adjacent elements instead: the innermost count is even and its step 1.
    offset : Out(19)
        Byte in partition of the current element.
    last : Out(1)
        The current element is the last of the walk.
    """

    def __init__(self, rank: int):
        self.rank = rank
        super().__init__(
            {
                "walk": In(walk_layout(rank)),
                "load": In(1),
                "step": In(1),
                "pair": In(1),
                "offset": Out(OFFSET),
                "last": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rank = self.rank
        index = [Signal(16, name=f"index_{d}") for d in range(rank)]
        # run[d]: where the current run of dimension d began; run[0] is the current element.
        run = [Signal(OFFSET, name=f"run_{d}") for d in range(rank)]
        ends = [Signal(name=f"ends_{d}") for d in range(rank)]
        counts = list(self.walk.count)
        shifts = [log2_bytes(self.walk.dtype)] * rank
        counts[0] = Mux(self.pair, counts[0] >> 1, counts[0])
        shifts[0] = shifts[0] + self.pair
        for d in range(rank):
            m.d.comb += ends[d].eq(index[d] + 1 == counts[d])
        m.d.comb += [self.offset.eq(run[0]), self.last.eq(Cat(ends).all())]

        with m.If(self.load | (self.step & self.last)):
            m.d.sync += [i.eq(0) for i in index]
            m.d.sync += [r.eq(self.walk.start.offset) for r in run]
        for d in range(rank):
            moves = self.step & ~self.load & ~ends[d] & Cat(*ends[:d], Const(1)).all()
            target = Signal(OFFSET, name=f"target_{d}")
            m.d.comb += target.eq(run[d] + (self.walk.step[d] << shifts[d]))
            with m.If(moves):
                m.d.sync += index[d].eq(index[d] + 1)
                m.d.sync += [index[inner].eq(0) for inner in range(d)]
                m.d.sync += [run[inner].eq(target) for inner in range(d + 1)]
        return m
