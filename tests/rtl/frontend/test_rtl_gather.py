# amaranth: UnusedElaboratable=no
"""Gather: beats to records at every width, under gaps and back-pressure."""

import random
from itertools import pairwise

import pytest
from amaranth.sim import Simulator
from dve_rtl.config import BEAT_BITS
from dve_rtl.frontend.gather import Gather

RECORDS = 6


def run(beat_bits, *, gap, stall, seed=1):
    """Send random records; returns (sent, received, clock of the last beat, clock received)."""
    rng = random.Random(seed)
    dut = Gather(beat_bits)
    sent = [rng.randbytes(64) for _ in range(RECORDS)]
    last_beat, received, received_at = [], [], []
    clock = 0

    async def count(ctx):
        nonlocal clock
        async for _ in ctx.tick():
            clock += 1
            assert clock < 2000, "a record never arrived"
            ctx.set(dut.now, clock)

    async def feed(ctx):
        for data in sent:
            for offset in range(0, 64, beat_bits // 8):
                for _ in range(gap()):
                    await ctx.tick()
                beat = data[offset : offset + beat_bits // 8]
                ctx.set(dut.beats.payload, int.from_bytes(beat, "little"))
                ctx.set(dut.beats.valid, 1)
                (accepted_at,) = await ctx.tick().sample(dut.now).until(dut.beats.ready)
                ctx.set(dut.beats.valid, 0)
            last_beat.append(accepted_at)

    async def drain(ctx):
        for _ in range(RECORDS):
            while not ctx.get(dut.o.valid):
                await ctx.tick()
            held = ctx.get(dut.o.payload.as_value())
            for _ in range(stall()):
                await ctx.tick()
                assert ctx.get(dut.o.valid)
                assert ctx.get(dut.o.payload.as_value()) == held
            ctx.set(dut.o.ready, 1)
            payload, now = await ctx.tick().sample(dut.o.payload, dut.now).until(dut.o.valid)
            ctx.set(dut.o.ready, 0)
            received.append((payload.record.to_bytes(64, "little"), payload.accepted_at))
            received_at.append(now)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_process(count)
    sim.add_testbench(feed)
    sim.add_testbench(drain)
    sim.run()
    assert len(received) == RECORDS
    return sent, received, last_beat, received_at


@pytest.mark.parametrize("beat_bits", BEAT_BITS)
@pytest.mark.parametrize(("max_gap", "max_stall"), [(0, 0), (3, 0), (0, 40), (3, 40)])
def test_records_arrive_whole_and_in_order(beat_bits, max_gap, max_stall):
    rng = random.Random(beat_bits + max_gap + max_stall)
    sent, received, last_beat, _ = run(
        beat_bits,
        gap=lambda: rng.randint(0, max_gap),
        stall=lambda: rng.randint(0, max_stall),
    )
    assert [data for data, _ in received] == sent
    assert [stamp for _, stamp in received] == last_beat


@pytest.mark.parametrize("beat_bits", BEAT_BITS)
def test_full_throughput(beat_bits):
    _, _, last_beat, received_at = run(beat_bits, gap=lambda: 0, stall=lambda: 0)
    beats = 512 // beat_bits
    assert [b - a for a, b in pairwise(last_beat)] == [beats] * (RECORDS - 1)
    assert received_at == [clock + 1 for clock in last_beat]


@pytest.mark.parametrize("beat_bits", [width for width in BEAT_BITS if width < 512])
def test_next_record_is_gathered_while_one_waits(beat_bits):
    _, _, last_beat, received_at = run(beat_bits, gap=lambda: 0, stall=lambda: 50)
    # Only its last beat has to wait, for the clock in which the record before it leaves.
    assert last_beat[1:] == received_at[:-1]


def test_rejects_other_widths():
    with pytest.raises(ValueError, match=r"beat_bits must be one of .*, got 48"):
        Gather(48)
