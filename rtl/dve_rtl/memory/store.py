"""Write side: where each result goes, and which lanes take part."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from dve_rtl.config import EngineConfig
from dve_rtl.memory.walker import Walker
from dve_rtl.payloads import OFFSET, Walk

QUADRANT = 32
"""Partitions per quadrant (isa_common.md 3.2)."""


def row_of(config: EngineConfig, quadrant: Value, group: Value) -> Value:
    """Partition row of a lane memory: partition 32*quadrant + lanes*group + lane, over lanes."""
    return (quadrant << exact_log2(QUADRANT // config.lanes)) + group


def last_group(config: EngineConfig, channels: Value) -> Value:
    """The last channel group of an instruction; there is at least one channel."""
    return (channels - 1) >> exact_log2(config.lanes)


def active_lanes(config: EngineConfig, channels: Value, group: Value) -> Value:
    """One bit a lane: its channel of this group is among the first ``channels``."""
    full = group != last_group(config, channels)
    remainder = (channels - 1) & (config.lanes - 1)
    return Cat(full | (lane <= remainder) for lane in range(config.lanes))


class MemoryWrite(data.Struct):
    """One write of all active lanes: the same place in each lane's memory."""

    offset: OFFSET
    row: 7
    psum: 1
    valid: 1


class Store(wiring.Component):
    """Places results: one per clock and lane, in the order in which they come.

    Latency: a result that enters the narrowing converter in a clock is written
    ``narrow_latency`` clocks later.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    dst : In(Walk), channels : In(8), pair : In(1)
        Destination, and whether a result is two elements; constant while an instruction executes.
    begin : In(1)
        An instruction begins.
    result : In(1)
        A result of all lanes enters the converter in this clock.
    write : Out(MemoryWrite), enable : Out(lanes)
        Memory write of this clock, and the lanes that perform it.
    done : Out(1)
        It is the last of the instruction.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "dst": In(Walk),
                "channels": In(8),
                "pair": In(1),
                "begin": In(1),
                "result": In(1),
                "write": Out(MemoryWrite),
                "enable": Out(config.lanes),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        valid = self.result
        for clock in range(config.narrow_latency):
            delayed = Signal(name=f"result_after_{clock + 1}")
            m.d.sync += delayed.eq(valid)
            valid = delayed

        group = Signal(7)
        m.submodules.walker = walker = Walker(len(self.dst.step))
        m.d.comb += [
            walker.walk.eq(self.dst),
            walker.load.eq(self.begin),
            walker.step.eq(valid),
            walker.pair.eq(self.pair),
            self.write.offset.eq(walker.offset),
            self.write.row.eq(row_of(config, self.dst.start.quadrant, group)),
            self.write.psum.eq(self.dst.start.psum),
            self.write.valid.eq(valid),
            self.enable.eq(active_lanes(config, self.channels, group)),
            self.done.eq(valid & walker.last & (group == last_group(config, self.channels))),
        ]
        with m.If(self.begin):
            m.d.sync += group.eq(0)
        with m.Elif(valid & walker.last):
            m.d.sync += group.eq(group + 1)
        return m
