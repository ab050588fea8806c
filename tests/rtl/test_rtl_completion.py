"""Numbering and measuring of completions."""

from itertools import pairwise

from amaranth.sim import Simulator
from dve_rtl import completion
from dve_rtl.completion import CompletionPort


def run(ends, *, stalls=()):
    """Let instructions end, and accept their completions.

    Parameters
    ----------
    ends : list of (int, int)
        Clock of the end, and clock in which the last beat was accepted.
    stalls : tuple of int
        Clocks for which each completion is left waiting; no more than ``ends``.

    Returns
    -------
    tuple of list
        Completions as (sequence, opcode, reason, cycles), and the clock in which each end was
        taken. ``opcode`` is the clock of the end, ``reason`` the same modulo 17.
    """
    dut = CompletionPort()
    got = []
    taken_at = []

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
            taken = False
            while not taken:
                ctx.set(dut.now, clock)
                _, _, taken = await ctx.tick().sample(dut.ready)
                clock += 1
            taken_at.append(clock - 1)
            ctx.set(dut.valid, 0)

    async def accept(ctx):
        for index in range(len(ends)):
            if index < len(stalls):
                await ctx.tick().repeat(1 + stalls[index])
            ctx.set(dut.o.ready, 1)
            (payload,) = await ctx.tick().sample(dut.o.payload).until(dut.o.valid)
            ctx.set(dut.o.ready, 0)
            got.append((payload.sequence, payload.opcode, payload.reason, payload.cycles))

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.add_testbench(accept)
    sim.run()
    return got, taken_at


def test_cycles_count_from_the_later_event():
    got, taken_at = run([(10, 3), (14, 5), (40, 30)])
    assert taken_at == [10, 14, 40]
    # Offered one clock after the end: 11 - 3; 15 - 11, after the previous one; 41 - 30, after
    # the last beat.
    assert got == [(0, 10, 10, 8), (1, 14, 14, 4), (2, 40, 40 % 17, 11)]


def test_back_pressure_loses_nothing_and_counts():
    ends = [(10, 3), (14, 5), (40, 30), (41, 31), (42, 32)]
    got, taken_at = run(ends, stalls=(0, 0, 60, 7, 0))
    assert [c[:3] for c in got] == [(i, end, end % 17) for i, (end, _) in enumerate(ends)]
    assert taken_at[3] > 60
    assert [c[3] for c in got[3:]] == [b - a for a, b in pairwise(taken_at[2:])]


def test_a_long_pause_does_not_make_the_previous_completion_recent(monkeypatch):
    monkeypatch.setattr(completion, "OLDEST", 63)
    got, _ = run([(10, 3), (10 + 64 + 2, 70)])
    assert [c[3] for c in got] == [8, 7]
