"""Control of the tail of a statistics pass, from its folds to its results (batchnorm.md 10)."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import EngineConfig
from dve_rtl.lane_orders import MomentControl
from dve_rtl.lane_program import Moments

COUNT_BITS = 9
"""A half, and a Stats, has up to 256 elements."""

MOST = 256


class Tail(wiring.Component):
    """Tells the lanes when to form mean and variance of each half, and when to narrow them.

    Another pass may end ``Moments.end`` clocks later. The results of a half come in three clocks in
    a row: count, mean, variance.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    begin : In(1), ended : In(1)
        First clock of an instruction, and a clock after its last effect.
    sums_valid : In(1)
        The sums of a pass are there in the next clock; of halves, those of one of them.
    halves : In(1), elements : In(10), even_count, odd_count : In(32)
        Of the instruction; constant while it executes.
    control : Out(MomentControl)
    entry : Out(8)
        Entry of the Parameter RAM to read for the next clock.
    group : Out(7)
        Channel group of the latest pass.
    result : Out(1), is_count : Out(1), count : Out(32)
        A result enters the narrowing converter: ``count``, or what the units have formed. Of an
        empty half all three come as counts: what was written for it, and two zeros. Without a
        result ``count`` is the even count.
    """

    begin: In(1)
    ended: In(1)
    sums_valid: In(1)
    halves: In(1)
    elements: In(10)
    even_count: In(32)
    odd_count: In(32)
    control: Out(MomentControl)
    entry: Out(8)
    group: Out(7)
    result: Out(1)
    is_count: Out(1)
    count: Out(32)

    def __init__(self, config: EngineConfig):
        self.moments = Moments(config)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        moments, control = self.moments, self.control
        self._begin(m)

        even_size = Signal(COUNT_BITS)
        odd_size = Signal(COUNT_BITS)
        m.d.comb += [
            even_size.eq(Mux(self.halves, (self.elements + 1) >> 1, self.elements)),
            odd_size.eq(self.elements >> 1),
        ]
        share_size = Mux(self._odd(moments.MEAN - 1, moments.mean_again - 1), odd_size, even_size)
        m.d.comb += [
            self.entry.eq(share_size),
            control.sum_is_odd.eq(self._odd(moments.MEAN, moments.mean_again)),
            control.multiplies_square.eq(self._any(moments.variance)),
            control.first_is_odd.eq(self._odd(moments.add_mean)),
            control.squares_are_odd.eq(self._odd(moments.subtract_variance)),
            control.subtracts.eq(self._any(moments.subtract_variance)),
        ]
        m.d.sync += control.share_is_256th.eq(share_size == MOST)
        _to_binary32(m, Mux(self._odd(moments.variance), odd_size, even_size), control.size)

        is_count = self._any(moments.count_result)
        is_moment = self._any(moments.count_result + 1, moments.count_result + 2)
        odd_count = self._odd(moments.count_result)
        odd_is_empty = odd_size == 0
        odd_moment = self._odd(moments.count_result + 1, moments.count_result + 2)
        m.d.comb += [
            self.result.eq(is_count | is_moment),
            self.is_count.eq(is_count | (odd_moment & odd_is_empty)),
            self.count.eq(self.even_count),
        ]
        with m.If(odd_count):
            m.d.comb += self.count.eq(self.odd_count)
        with m.If(odd_moment):
            m.d.comb += self.count.eq(0)
        return m

    def _begin(self, m: Module) -> None:
        """Start the tail of a pass when all its sums are there."""
        next_group = Signal.like(self.group)
        has_one = Signal()
        starts = Signal()
        m.d.comb += starts.eq(self.sums_valid & (~self.halves | has_one))
        with m.If(self.begin):
            m.d.sync += [next_group.eq(0), has_one.eq(0)]
        with m.Elif(self.sums_valid):
            m.d.sync += has_one.eq(self.halves & ~has_one)
        with m.If(starts):
            m.d.sync += [self.group.eq(next_group), next_group.eq(next_group + 1)]

        # line[clock + 1]: the even half is in that clock; of the odd one, `odd_half` further on.
        length = self.moments.count_result + 2 + self.moments.odd_half + 1
        line = Signal(length)
        m.d.sync += line.eq(Cat(starts, line))
        with m.If(self.ended):
            # A Stats has ended before the clocks in which the odd half of a Stats2 would have.
            m.d.sync += line.eq(0)
        self._line = Cat(starts, line)

    def _odd(self, *clocks: int) -> Value:
        """The odd half is in one of these clocks."""
        places = [self._line[clock + 1 + self.moments.odd_half] for clock in clocks]
        return self.halves & Cat(*places).any()

    def _any(self, *clocks: int) -> Value:
        """Some half is."""
        return Cat(*(self._line[clock + 1] for clock in clocks)).any() | self._odd(*clocks)


def _to_binary32(m: Module, integer: Value, o: Signal) -> None:
    """Drive ``o`` with a positive integer of ``COUNT_BITS`` bits; what 0 gives has no meaning."""
    value = Signal(COUNT_BITS)
    m.d.comb += value.eq(integer)
    for place in range(COUNT_BITS):
        with m.If(value[place]):
            fraction = value[:place]
            m.d.comb += o.eq(Cat(Const(0, 23 - place), fraction, Const(127 + place, 9)))
