"""The whole front end: beats in, operations out."""

import random

import pytest
from amaranth import *
from amaranth.sim import Simulator
from dve_rtl.config import BEAT_BITS, EngineConfig
from dve_rtl.frontend.frontend import FrontEnd
from dve_rtl.frontend.gather import RECORD_BITS
from frontend_bench import BP, GA, GA2, PL, PL2, PRAM, record

RECORDS = [
    (0, record(GA2, imm0=7, imm0_imm1_src__lo=2)),
    (0, record(BP)),
    (1, bytes(64)),
    (11, record(PL, src__num_elem=(2, 1))),
    (0, record(PL2)),
    (13, record(PRAM, addr=0x8000_0100)),
    (0, record(GA)),
]


@pytest.mark.parametrize("beat_bits", BEAT_BITS)
@pytest.mark.parametrize("max_wait", [0, 25])
def test_operations_in_order(beat_bits, max_wait):
    rng = random.Random(beat_bits + max_wait)
    dut = FrontEnd(EngineConfig(beat_bits=beat_bits))
    accepted_at, got, clocks, idle = [], [], [], []

    async def count(ctx):
        clock = beats = taken = 0
        ports = (dut.idle, dut.beats.valid, dut.beats.ready, dut.o.valid, dut.o.ready)
        async for _, _, *values in ctx.tick().sample(*ports):
            idle.append((values[0], taken == beats * beat_bits // RECORD_BITS))
            beats += values[1] & values[2]
            taken += values[3] & values[4]
            clock += 1
            ctx.set(dut.now, clock)

    async def feed(ctx):
        ctx.set(dut.register_value, 0x2000)  # of every register
        for _, data in RECORDS:
            for offset in range(0, 64, beat_bits // 8):
                beat = data[offset : offset + beat_bits // 8]
                for _ in range(rng.randint(0, max_wait)):
                    await ctx.tick()
                ctx.set(dut.beats.payload, int.from_bytes(beat, "little"))
                ctx.set(dut.beats.valid, 1)
                (now,) = await ctx.tick().sample(dut.now).until(dut.beats.ready)
                ctx.set(dut.beats.valid, 0)
            accepted_at.append(now)

    async def drain(ctx):
        for _ in RECORDS:
            while not ctx.get(dut.o.valid):
                await ctx.tick()
            clocks.append(ctx.get(dut.now))
            for _ in range(rng.randint(0, max_wait)):
                await ctx.tick()
            got.append(ctx.get(dut.o.payload))
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_process(count)
    sim.add_testbench(feed)
    sim.add_testbench(drain)
    sim.run()
    assert [o.reason for o in got] == [reason for reason, _ in RECORDS]
    assert [o.opcode for o in got] == [data[0] for _, data in RECORDS]
    assert [o.accepted_at for o in got] == accepted_at
    assert got[0].imm0.offset == 0x2000
    assert clocks[0] - accepted_at[0] == 15
    assert all(reported == true for reported, true in idle)
    assert {reported for reported, _ in idle} == {0, 1}
