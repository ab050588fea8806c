"""Runs a converter at its initiation interval of one."""

from collections.abc import Callable, Sequence

import pytest
from amaranth.sim import Simulator
from dve_golden.isa.control import Control
from dve_rtl.convert.control import encoded

RESET = Control()

Cases = Sequence[tuple[int, int]]


@pytest.fixture
def convert() -> Callable[..., list[int]]:
    """Function from a converter and (dtype, element) pairs, one per clock, to its results.

    ``control`` holds for all of them; by default it is what the engine has after reset on cayman.

    A result is taken exactly ``latency`` clocks after its operand, so a wrong depth fails too.
    """

    def convert(dut, cases: Cases, control: Control = RESET) -> list[int]:
        results = []

        async def testbench(ctx):
            ctx.set(dut.control, encoded(control))
            for dtype, element in cases:
                ctx.set(dut.dtype, dtype)
                ctx.set(dut.i, element)
                await ctx.tick()
                results.append(ctx.get(dut.o))
            for _ in range(dut.latency - 1):
                ctx.set(dut.i, ~ctx.get(dut.i) & 0xFFFFFFFF)
                await ctx.tick()
                results.append(ctx.get(dut.o))

        simulator = Simulator(dut)
        simulator.add_clock(1e-8)
        simulator.add_testbench(testbench)
        simulator.run()
        return results[dut.latency - 1 :]

    return convert
