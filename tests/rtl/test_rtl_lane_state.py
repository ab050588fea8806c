"""Lane state: what is kept where, and which reciprocal counts."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from dve_rtl.config import EngineConfig
from dve_rtl.lane_state import LaneState, reciprocal_table

CONFIG = EngineConfig(lanes=32)
GROUPS = CONFIG.groups
GENERAL = 0x5EED0000
"""What stands for the general reciprocal; no table entry has this pattern."""


def bits(value) -> int:
    return int(np.float32(value).view(np.uint32))


def run(bench):
    dut = LaneState(CONFIG)

    async def process(ctx):
        await bench(ctx, dut)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(process)
    sim.run()


async def pulse(ctx, dut, strobe, **values):
    for name, value in values.items():
        ctx.set(getattr(dut, name), value)
    ctx.set(getattr(dut, strobe), 1)
    await ctx.tick()
    ctx.set(getattr(dut, strobe), 0)


async def read(ctx, dut, name, group, *, latency=1):
    ctx.set(getattr(dut, f"{name}_group"), group)
    await ctx.tick()
    # One address per clock: a later one does not disturb the value on its way.
    ctx.set(getattr(dut, f"{name}_group"), (group + 1) % GROUPS)
    for _ in range(latency - 1):
        await ctx.tick()
    return ctx.get(getattr(dut, name))


def test_fields_are_separate_and_kept_per_group():
    strobes = {"mean": "write_mean", "scale": "write_scale", "a": "write_a", "b": "write_b"}

    async def bench(ctx, dut):
        for group in range(GROUPS):
            for at, strobe in enumerate(strobes.values()):
                await pulse(ctx, dut, strobe, write_group=group, value=100 * group + at + 1)
            await pulse(ctx, dut, "write_n", write_group=group, n_value=100 * group + 9)
            await pulse(
                ctx,
                dut,
                "write_prefactor",
                prefactor_write_group=group,
                prefactor_value=100 * group + 10,
            )
        for group in range(GROUPS):
            for at, name in enumerate(strobes):
                assert await read(ctx, dut, name, group) == 100 * group + at + 1
            assert await read(ctx, dut, "n", group) == 100 * group + 9
            assert await read(ctx, dut, "prefactor", group) == 100 * group + 10

    run(bench)


@pytest.mark.parametrize("name", ["mean", "scale"])
def test_immediates_do_not_touch_the_lane_state(name):
    async def bench(ctx, dut):
        for bank, value in ((0, 11), (1, 22)):
            await pulse(ctx, dut, f"write_{name}", write_group=2, write_bank=bank, value=value)
        for bank, value in ((0, 11), (1, 22), (0, 11)):
            ctx.set(dut.immediates, bank)
            assert await read(ctx, dut, name, 2) == value
            assert await read(ctx, dut, name, 3) == 0

    run(bench)


def test_counts_of_statistics_do_not_touch_the_lane_state():
    """N and its general reciprocal have banks too, and both may be in the Parameter RAM."""

    async def bench(ctx, dut):
        for bank, n in ((0, 2.5), (1, 0.5)):
            await pulse(
                ctx,
                dut,
                "write_n",
                write_group=2,
                write_bank=bank,
                n_value=bits(n),
                recip_value=GENERAL + bank,
            )
        for bank, n in ((0, 2.5), (1, 0.5), (0, 2.5)):
            ctx.set(dut.immediates, bank)
            assert await read(ctx, dut, "n", 2) == bits(n)
            assert await read(ctx, dut, "recip", 2, latency=2) == GENERAL + bank
            assert not ctx.get(dut.in_table)
        await pulse(ctx, dut, "write_n", write_group=2, write_bank=1, n_value=bits(3))
        assert await read(ctx, dut, "recip", 2, latency=2) == GENERAL
        ctx.set(dut.immediates, 1)
        assert await read(ctx, dut, "recip", 2, latency=2) == bits(np.float32(1) / np.float32(3))
        assert ctx.get(dut.in_table)

    run(bench)


def test_reset_content_of_the_parameter_ram():
    table = reciprocal_table()
    assert table[0] == bits(1)
    assert table[1:] == [bits(np.float32(1) / np.float32(n)) for n in range(1, 256)]


def test_a_lane_never_loaded_has_an_infinite_reciprocal():
    async def bench(ctx, dut):
        for group in range(GROUPS):
            assert await read(ctx, dut, "recip", group, latency=2) == bits(np.inf)

    run(bench)


def test_integers_in_1_to_255_use_the_parameter_ram():
    async def bench(ctx, dut):
        for n in range(256):  # also entry 0, which must never be read
            await pulse(ctx, dut, "write_entry", entry=n, entry_value=0x1000 + n)
        for n in range(1, 256):
            group = n % GROUPS
            await pulse(
                ctx, dut, "write_n", write_group=group, n_value=bits(n), recip_value=GENERAL + n
            )
            assert await read(ctx, dut, "recip", group, latency=2) == 0x1000 + n, n

    run(bench)


@pytest.mark.parametrize(
    "n",
    [
        *(0.0, -0.0, 1e-45, 0.5, 1 - 2**-24, 1 + 2**-23, 1.5, 2.25, 127.5, 254.5, 255.5),
        *(255 + 2**-16, 255 - 2**-16, 256.0, 257.0, 511.0, 2.0**24, 3.4e38),
        *(-1.0, -2.0, -255.0, -256.0, np.inf, -np.inf, np.nan),
    ],
)
def test_everything_else_uses_the_stored_reciprocal(n):
    async def bench(ctx, dut):
        await pulse(ctx, dut, "write_n", write_group=1, n_value=bits(n), recip_value=GENERAL)
        await pulse(ctx, dut, "write_n", write_group=2, n_value=bits(3), recip_value=GENERAL + 1)
        assert await read(ctx, dut, "recip", 1, latency=2) == GENERAL
        assert await read(ctx, dut, "recip", 2, latency=2) == bits(np.float32(1) / np.float32(3))

    run(bench)


def test_reciprocals_of_other_groups_follow_each_other_every_clock():
    counts = (3.0, 2.5, 7.0, -3.0)
    want = [bits(1 / np.float32(3)), GENERAL + 1, bits(1 / np.float32(7)), GENERAL + 3]

    async def bench(ctx, dut):
        for group, n in enumerate(counts):
            await pulse(
                ctx, dut, "write_n", write_group=group, n_value=bits(n), recip_value=GENERAL + group
            )
        got = []
        for clock in range(len(counts) + 2):
            ctx.set(dut.recip_group, min(clock, len(counts) - 1))
            if clock >= 2:
                got.append(ctx.get(dut.recip))
            await ctx.tick()
        assert got == want

    run(bench)


def test_the_host_reads_the_parameter_ram_at_its_own_address():
    async def bench(ctx, dut):
        await pulse(ctx, dut, "write_n", write_group=0, n_value=bits(5), recip_value=GENERAL)
        for entry in (0, 1, 5, 200, 255):
            ctx.set(dut.entry, entry)
            ctx.set(dut.entry_read, 1)
            await ctx.tick()
            ctx.set(dut.entry_read, 0)
            assert ctx.get(dut.entry_read_value) == reciprocal_table()[entry]

    run(bench)
