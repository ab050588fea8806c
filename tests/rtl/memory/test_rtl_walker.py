"""The walker against the address formula of isa_common.md 4.3, evaluated with integers."""

import itertools
import random

import pytest
from amaranth.sim import Simulator
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_rtl.memory.walker import Walker

OFFSET_MASK = (1 << 19) - 1


def expected(offset, size, steps, counts):
    for outer_to_inner in itertools.product(*map(range, reversed(counts))):
        index = sum(i * step for i, step in zip(reversed(outer_to_inner), steps, strict=True))
        yield (offset + size * index) & OFFSET_MASK


CASES = [
    (0, Dtype.FP32, (1, 1, 1), (5, 1, 1)),
    (64, Dtype.BF16, (-1, 0, 3), (3, 2, 2)),
    (1000, Dtype.INT32, (0, -7, 2), (1, 4, 3)),
    (2, Dtype.FP16, (32767, -32768, 1), (2, 2, 1)),
    (0, Dtype.FP32R, (9, 9, 9), (1, 1, 1)),
]
random.seed(5)
CASES += [
    (
        random.randrange(0, 1 << 18, 4),
        random.choice([Dtype.FP32, Dtype.BF16]),
        tuple(random.randrange(-50, 50) for _ in range(3)),
        tuple(random.randrange(1, 5) for _ in range(3)),
    )
    for _ in range(20)
]


DEEP_CASES = [
    (offset, dtype, (*steps, random.randrange(-50, 50)), (*counts, random.randrange(1, 4)))
    for offset, dtype, steps, counts in CASES
]


@pytest.mark.parametrize("pauses", [False, True])
@pytest.mark.parametrize("cases", [CASES, DEEP_CASES])
def test_walks_twice_and_flags_the_last_element(cases, pauses):
    dut = Walker(len(cases[0][2]))
    rng = random.Random(1)

    async def bench(ctx):
        for offset, dtype, steps, counts in cases:
            size = 2 if dtype in (Dtype.BF16, Dtype.FP16) else 4
            walk = {"start": {"offset": offset}, "dtype": dtype, "step": steps, "count": counts}
            ctx.set(dut.walk, walk)
            ctx.set(dut.load, 1)
            await ctx.tick()
            ctx.set(dut.load, 0)
            ordinals = list(expected(offset, size, steps, counts))
            for _ in range(2):  # the walk begins anew for the next channel group
                for position, want in enumerate(ordinals):
                    while pauses and rng.random() < 0.3:
                        await ctx.tick()
                    assert ctx.get(dut.offset) == want, (offset, steps, counts, position)
                    assert ctx.get(dut.last) == (position == len(ordinals) - 1)
                    ctx.set(dut.step, 1)
                    await ctx.tick()
                    ctx.set(dut.step, 0)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()


PAIRED = [
    (64, Dtype.BF16, (1, 6, -20), (4, 3, 2)),
    (8, Dtype.INT8, (1, 1, 1), (2, 1, 1)),
    (256, Dtype.FP32, (1, -10, 4), (6, 2, 2)),
]


@pytest.mark.parametrize("case", PAIRED)
def test_pairs_are_every_second_element(case):
    offset, dtype, steps, counts = case
    dut = Walker(len(steps))
    size = DTYPE_BYTES[dtype]
    firsts = list(expected(offset, size, steps, counts))[::2]

    async def bench(ctx):
        walk = {"start": {"offset": offset}, "dtype": dtype, "step": steps, "count": counts}
        ctx.set(dut.walk, walk)
        ctx.set(dut.pair, 1)
        ctx.set(dut.load, 1)
        await ctx.tick()
        ctx.set(dut.load, 0)
        ctx.set(dut.step, 1)
        for _ in range(2):
            for position, want in enumerate(firsts):
                assert ctx.get(dut.offset) == want, position
                assert ctx.get(dut.last) == (position == len(firsts) - 1)
                await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
