"""The store's rows, offsets, lane enables and end of instruction."""

import pytest
from amaranth.sim import Simulator
from dve_golden.isa.enums import Dtype
from dve_rtl.config import EngineConfig
from dve_rtl.memory.store import Store


@pytest.mark.parametrize("channels", [1, 3, 4, 5, 32])
@pytest.mark.parametrize("narrow_latency", [1, 3])
def test_places_results_of_all_groups(channels, narrow_latency):
    lanes, quadrant, count = 4, 1, 3
    config = EngineConfig(lanes=lanes, narrow_latency=narrow_latency)
    dut = Store(config)
    groups = -(-channels // lanes)
    writes = []

    async def bench(ctx):
        walk = {
            "start": {"offset": 40, "quadrant": quadrant, "psum": 1},
            "dtype": Dtype.FP32,
            "step": (-2, 1, 1),
            "count": (count, 1, 1),
        }
        ctx.set(dut.dst, walk)
        ctx.set(dut.channels, channels)
        for _ in range(2):  # instructions
            ctx.set(dut.begin, 1)
            await ctx.tick()
            ctx.set(dut.begin, 0)
            for clock in range(2 * groups * count + narrow_latency):
                # A result every other clock, and none after the last.
                ctx.set(dut.result, clock % 2 == 0 and clock < 2 * groups * count)
                if ctx.get(dut.write.valid):
                    write = ctx.get(dut.write)
                    enable, done = ctx.get(dut.enable), ctx.get(dut.done)
                    writes.append((write.psum, write.row, write.offset, enable, done))
                await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()

    want = []
    for group in range(groups):
        active = min(lanes, channels - group * lanes)
        for element in range(count):
            row = 32 * quadrant // lanes + group
            done = group == groups - 1 and element == count - 1
            want.append((1, row, 40 - 8 * element, (1 << active) - 1, done))
    assert writes == 2 * want


def test_pairs_are_two_elements_apart():
    dut = Store(EngineConfig(lanes=1, narrow_latency=1))
    offsets, done = [], []

    async def bench(ctx):
        walk = {
            "start": {"offset": 16, "quadrant": 0, "psum": 0},
            "dtype": Dtype.BF16,
            "step": (1, 8, 1),
            "count": (4, 2, 1),
        }
        ctx.set(dut.dst, walk)
        ctx.set(dut.channels, 1)
        ctx.set(dut.pair, 1)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        for clock in range(6):
            ctx.set(dut.result, clock < 4)
            if ctx.get(dut.write.valid):
                offsets.append(ctx.get(dut.write.offset))
                done.append(ctx.get(dut.done))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    assert offsets == [16, 20, 32, 36]
    assert done == [0, 0, 0, 1]
