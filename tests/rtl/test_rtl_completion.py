"""Numbering and measuring of completions."""

from amaranth.sim import Simulator
from dve_rtl.completion import CompletionPort


def test_cycles_count_from_the_later_event_and_back_pressure_loses_nothing():
    dut = CompletionPort()
    # (clock of the end, clock in which the last beat was accepted), then what must be reported.
    ends = [(10, 3), (14, 5), (40, 30), (41, 31), (42, 32)]
    got = []

    async def drive(ctx):
        clock = 0
        for end, accepted_at in ends:
            while clock < end:
                ctx.set(dut.now, clock)
                await ctx.tick()
                clock += 1
            ctx.set(dut.opcode, end)
            ctx.set(dut.reason, end % 17)
            ctx.set(dut.accepted_at, accepted_at)
            ctx.set(dut.valid, 1)
            while True:
                ctx.set(dut.now, clock)
                _, _, taken = await ctx.tick().sample(dut.ready)
                clock += 1
                if taken:
                    break
            ctx.set(dut.valid, 0)
        for _ in range(20):
            await ctx.tick()

    async def accept(ctx):
        for index in range(len(ends)):
            if index == 2:  # the third is left waiting, and the fourth behind it
                await ctx.tick().repeat(35)
            ctx.set(dut.o.ready, 1)
            (completion,) = await ctx.tick().sample(dut.o.payload).until(dut.o.valid)
            ctx.set(dut.o.ready, 0)
            got.append(
                (completion.sequence, completion.opcode, completion.reason, completion.cycles)
            )

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.add_testbench(accept)
    sim.run()
    # Offered one clock after the end: 11 - 3; 15 - 11, after the previous one; 41 - 30, after
    # the last beat. The fourth has to wait for the third to be accepted.
    assert [c[:3] for c in got] == [(i, end, end % 17) for i, (end, _) in enumerate(ends)]
    assert [c[3] for c in got[:3]] == [8, 4, 11]
    assert all(c[3] > 0 for c in got[3:])
