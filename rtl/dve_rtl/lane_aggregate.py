"""Control of an Aggregate beyond its elements: what the folds of both sweeps are used for.

The first sweep leaves n and the weighted sum of every channel in the banks of immediates. While the
groups behind are swept, the mean of each group is formed by units that they leave free. n is a
number of the channel's own (batchnorm.md section 10), so a reciprocal that is no entry of the
Parameter RAM is formed once for all lanes that want the same, and kept for the groups that follow.
The second sweep has a tail of fixed length, which runs beside the elements of the next pass.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import EngineConfig
from dve_rtl.lane_orders import LOAD_LATENCY
from dve_rtl.lane_program import POOL, RESULT_OF_POOL, SPREAD, Schedule
from dve_rtl.memory.store import active_lanes, last_group

AGGREGATE_CLOCKS = 4
"""From the clock in which the sums of the last group are there to the product that is its mean:
they are written, n is read, it is compared, and its reciprocal is read."""


def clocks_ahead(config: EngineConfig) -> int:
    """Clocks from the last product's begin to the one in which the second sweep may begin.

    Two clocks later its first address is at the memories. A tuple's mean, which is the second
    element, meets the mean of all, whose address comes one clock ahead; it has to come after the
    clock in which the mean of all is written, ``mul_latency``.
    """
    widened = LOAD_LATENCY + config.widen_latency
    read = 2 + widened + Schedule(config).start(SPREAD, "sub") - 1
    return max(0, config.mul_latency + 1 - read)


class Aggregation(wiring.Component):
    """Keeps folds, has reciprocals formed, and says when mean and variance are there.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    begin : In(1), channels : In(8)
        First clock of an instruction; its channels, constant while it executes.
    spreads : In(1)
        It is in its second sweep.
    sums_valid : In(1)
        The sums of a pass of an Aggregate are there in the next clock.
    divided : Out(1)
        The second sweep can begin.
    counts : In(ArrayLayout(32, lanes)), in_table : In(lanes)
        n of the group read, one clock later; whether its reciprocal is a table entry, two clocks.
    count : Out(stream.Signature(32)), recip : In(stream.Signature(32))
        To and from the reciprocal unit.
    group : Out(7)
        Channel group to read n, weighted sum and reciprocal of, in the first sweep.
    recip_group : Out(7), mean_group : Out(7)
        Groups to read reciprocal and mean of, for the tail.
    keep, match, mean : Out(1)
        Write of n and weighted sum; of n and a general reciprocal; of the mean.
    write_group : Out(7), enable : Out(lanes)
        Where, and the lanes that perform it.
    n_value, recip_value : Out(32)
        Of a match.
    result : Out(1), is_mean : Out(1)
        A result enters the narrowing converter: the mean, and in the next clock the variance.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        lanes = config.lanes
        super().__init__(
            {
                "begin": In(1),
                "channels": In(8),
                "spreads": In(1),
                "sums_valid": In(1),
                "divided": Out(1),
                "counts": In(data.ArrayLayout(32, lanes)),
                "in_table": In(lanes),
                "count": Out(stream.Signature(32)),
                "recip": In(stream.Signature(32)),
                "group": Out(7),
                "recip_group": Out(7),
                "mean_group": Out(7),
                "keep": Out(1),
                "match": Out(1),
                "mean": Out(1),
                "write_group": Out(7),
                "enable": Out(lanes),
                "n_value": Out(32),
                "recip_value": Out(32),
                "result": Out(1),
                "is_mean": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        passes = Signal(8)  # of this sweep whose sums have come and been taken
        summed = Signal()
        with m.If(self.begin | self.divided):
            m.d.sync += passes.eq(0)
        with m.Elif(summed):
            m.d.sync += passes.eq(passes + 1)
        m.d.sync += summed.eq(self.sums_valid)
        m.d.comb += self.keep.eq(summed & ~self.spreads)
        self._tail(m, summed & self.spreads, passes)
        self._divide(m, passes)
        with m.If(~self.match):
            # A lane whose channel takes no part writes what it has no use for.
            m.d.comb += self.enable.eq(-1)
        return m

    def _tail(self, m: Module, begins: Value, group: Value) -> None:
        """Clocks count from the one in which the sums are there."""
        schedule = Schedule(self.config)
        variance = schedule.result(POOL)
        # `recip` is read two clocks ahead of its unit, the mean one clock ahead of its narrowing.
        recip_read = schedule.start(POOL, RESULT_OF_POOL) - 2
        mean = variance - 1
        line, groups = [begins], [group]
        for clock in range(1, variance + 1):
            begun, of_group = Signal(name=f"tail_{clock}"), Signal(7, name=f"tail_group_{clock}")
            m.d.sync += [begun.eq(line[-1]), of_group.eq(groups[-1])]
            line.append(begun)
            groups.append(of_group)
        m.d.comb += [
            self.recip_group.eq(groups[recip_read]),
            self.mean_group.eq(groups[mean - 1]),
            self.is_mean.eq(line[mean]),
            self.result.eq(line[mean] | line[variance]),
        ]

    def _divide(self, m: Module, passes: Value) -> None:
        """Form the mean of each group as soon as its sums are kept, one group after the other."""
        config = self.config
        known = Signal()  # recip_value is the reciprocal of n_value
        has = Signal(config.lanes)  # lanes whose general reciprocal is written
        wants = Signal(config.lanes)
        equal = Signal(config.lanes)
        clocks = Signal(range(config.mul_latency + 1))  # since the product began
        # Up to 128, as `passes` counts: at the end both are the same, and nothing begins.
        group = Signal(8)
        following = Signal(8)
        active = active_lanes(config, self.channels, group)
        is_last = group == last_group(config, self.channels)
        m.d.comb += [
            equal.eq(Cat(known & (count == self.n_value) for count in self.counts)),
            wants.eq(active & ~self.in_table & ~has),
            self.count.p.eq(self.n_value),
            following.eq(group + 1),
            # The next group is read while the mean of this one is written.
            self.group.eq(Mux(self.mean, following, group)),
            self.write_group.eq(Mux(self.keep, passes, group)),
        ]

        with m.If(self.begin):
            m.d.sync += [known.eq(0), group.eq(0)]
        with m.FSM():
            with m.State("WEIGH"):
                m.d.sync += [has.eq(0), clocks.eq(0)]
                with m.If(~self.spreads & (passes != group)):
                    m.next = "MATCH"
            with m.State("MATCH"):
                with m.If(~self.keep):  # one address serves both writes
                    m.d.comb += [self.match.eq(1), self.enable.eq(equal)]
                    m.d.sync += has.eq(has | equal)
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.next = "MULTIPLY"
                with m.If(wants.any()):
                    m.d.sync += known.eq(0)
                    m.next = "REQUEST"
                for lane in reversed(range(config.lanes)):
                    with m.If(wants[lane]):
                        m.d.sync += self.n_value.eq(self.counts[lane])
            with m.State("REQUEST"):
                m.d.comb += self.count.valid.eq(1)
                with m.If(self.count.ready):
                    m.next = "RECIPROCAL"
            with m.State("RECIPROCAL"):
                m.d.comb += self.recip.ready.eq(1)
                with m.If(self.recip.valid):
                    m.d.sync += [self.recip_value.eq(self.recip.p), known.eq(1)]
                    m.next = "MATCH"
            with m.State("MULTIPLY"):
                # The operands stay until the mean can be written; of the last group, whose fold
                # is the last to be kept, for one clock.
                with m.If(clocks != config.mul_latency):
                    m.d.sync += clocks.eq(clocks + 1)
                with m.Elif(~self.keep):
                    m.d.comb += self.mean.eq(1)
                    m.d.sync += [has.eq(0), clocks.eq(0), group.eq(following)]
                    m.next = "WEIGH"
                    with m.If(~is_last & (passes != following)):
                        m.next = "MATCH"
                m.d.comb += self.divided.eq(is_last & (clocks == clocks_ahead(config)))
