"""Semaphores and events: every action, every condition, and nothing lost between clients."""

import random

import pytest
from amaranth.sim import Simulator
from dve_rtl.payloads import SyncAction
from dve_rtl.sync.bank import SyncBank, UpdateAction, WaitCondition

MASK = (1 << 32) - 1


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def simulate(*benches):
    dut = SyncBank()
    finished = []

    def guarded(bench):
        async def testbench(ctx):
            await bench(ctx, dut)
            finished.append(bench)

        return testbench

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    for bench in benches:
        sim.add_testbench(guarded(bench))
    sim.run_until(1e-8 * 20000)
    assert len(finished) == len(benches)


async def access(ctx, dut, action, index, value=0):
    ctx.set(dut.request.payload, {"action": action, "index": index, "value": value})
    ctx.set(dut.request.valid, 1)
    await ctx.tick().until(dut.request.ready)
    ctx.set(dut.request.valid, 0)
    if action in (SyncAction.READ_SEMAPHORE, SyncAction.READ_EVENT):
        ctx.set(dut.response.ready, 1)
        (value,) = await ctx.tick().sample(dut.response.payload).until(dut.response.valid)
        ctx.set(dut.response.ready, 0)
        return value
    return None


async def update(ctx, dut, action, index, operand=0):
    ctx.set(dut.update, {"valid": 1, "action": action, "index": index, "operand": operand})
    await ctx.tick().until(dut.updated)
    ctx.set(dut.update.valid, 0)


EDGES = [0, 1, 0x7FFFFFFF, 0x80000000, MASK, 5]


def test_updates_and_posts_are_modulo_two_to_the_32():
    updates = {
        UpdateAction.INCREMENT: lambda s, _: s + 1,
        UpdateAction.DECREMENT: lambda s, _: s - 1,
        UpdateAction.ADD: lambda s, v: s + v,
        UpdateAction.SUBTRACT: lambda s, v: s - v,
        UpdateAction.WRITE: lambda _, v: v,
    }
    posts = {
        SyncAction.SET_SEMAPHORE: updates[UpdateAction.WRITE],
        SyncAction.ADD_SEMAPHORE: updates[UpdateAction.ADD],
        SyncAction.SUBTRACT_SEMAPHORE: updates[UpdateAction.SUBTRACT],
    }

    async def bench(ctx, dut):
        for index, start in enumerate(EDGES):
            for operand in EDGES:
                for action, rule in updates.items():
                    await access(ctx, dut, SyncAction.SET_SEMAPHORE, index, start)
                    await update(ctx, dut, action, index, operand)
                    got = await access(ctx, dut, SyncAction.READ_SEMAPHORE, index)
                    assert got == rule(start, operand) & MASK, (action, start, operand)
                for action, rule in posts.items():
                    await access(ctx, dut, SyncAction.SET_SEMAPHORE, index, start)
                    await access(ctx, dut, action, index, operand)
                    got = await access(ctx, dut, SyncAction.READ_SEMAPHORE, index)
                    assert got == rule(start, operand) & MASK, (action, start, operand)

    simulate(bench)


def test_events_are_idempotent_and_apart_from_semaphores():
    async def bench(ctx, dut):
        await access(ctx, dut, SyncAction.SET_SEMAPHORE, 255, 77)
        for act, level in (
            (lambda: update(ctx, dut, UpdateAction.SET_EVENT, 255), 1),
            (lambda: access(ctx, dut, SyncAction.SET_EVENT, 255), 1),
            (lambda: update(ctx, dut, UpdateAction.CLEAR_EVENT, 255), 0),
            (lambda: access(ctx, dut, SyncAction.CLEAR_EVENT, 255), 0),
        ):
            await act()
            assert await access(ctx, dut, SyncAction.READ_EVENT, 255) == level
        assert await access(ctx, dut, SyncAction.READ_EVENT, 254) == 0
        assert await access(ctx, dut, SyncAction.READ_SEMAPHORE, 255) == 77

    simulate(bench)


async def comes_true(ctx, dut, condition, index, threshold):
    """Whether the condition is met within a few clocks."""
    wait = {"condition": condition, "index": index, "threshold": threshold}
    ctx.set(dut.wait, wait)
    ctx.set(dut.waiting, 1)
    met = False
    for _ in range(12):
        _, _, now = await ctx.tick().sample(dut.met)
        if now:
            met = True
            break
    ctx.set(dut.waiting, 0)
    await ctx.tick()
    return met


COMPARES = {
    WaitCondition.EQUAL: lambda s, t: s == t,
    WaitCondition.LESS: lambda s, t: s < t,
    WaitCondition.LESS_EQUAL: lambda s, t: s <= t,
    WaitCondition.GREATER: lambda s, t: s > t,
    WaitCondition.GREATER_EQUAL: lambda s, t: s >= t,
}


@pytest.mark.parametrize("condition", COMPARES)
def test_semaphore_compares_are_signed_and_change_nothing(condition):
    async def bench(ctx, dut):
        for value in EDGES:
            await access(ctx, dut, SyncAction.SET_SEMAPHORE, 9, value)
            for threshold in EDGES:
                want = COMPARES[condition](signed(value), signed(threshold))
                assert await comes_true(ctx, dut, condition, 9, threshold) == want
            assert await access(ctx, dut, SyncAction.READ_SEMAPHORE, 9) == value

    simulate(bench)


@pytest.mark.parametrize(
    ("condition", "level", "after"),
    [
        (WaitCondition.EVENT_SET, 1, 1),
        (WaitCondition.EVENT_SET_THEN_CLEAR, 1, 0),
        (WaitCondition.EVENT_CLEAR, 0, 0),
        (WaitCondition.EVENT_CLEAR_THEN_SET, 0, 1),
    ],
)
def test_event_waits_take_effect_once_and_only_when_met(condition, level, after):
    post = {0: SyncAction.CLEAR_EVENT, 1: SyncAction.SET_EVENT}

    async def bench(ctx, dut):
        await access(ctx, dut, post[1 - level], 3)
        assert not await comes_true(ctx, dut, condition, 3, 0)
        assert await access(ctx, dut, SyncAction.READ_EVENT, 3) == 1 - level
        await access(ctx, dut, post[level], 3)
        assert await comes_true(ctx, dut, condition, 3, 0)
        assert await access(ctx, dut, SyncAction.READ_EVENT, 3) == after

    simulate(bench)


def test_posts_get_through_while_the_engine_polls_and_none_is_lost():
    rounds = 60
    rng = random.Random(3)
    order = []

    async def producer(ctx, dut):
        for _ in range(rounds):
            await ctx.tick().repeat(rng.randrange(1, 12))
            await access(ctx, dut, SyncAction.ADD_SEMAPHORE, 1, 1)
            order.append("post")

    async def consumer(ctx, dut):
        wait = {"condition": WaitCondition.GREATER, "index": 1, "threshold": 0}
        ctx.set(dut.wait, wait)
        for _ in range(rounds):
            ctx.set(dut.waiting, 1)
            await ctx.tick().until(dut.met)
            ctx.set(dut.waiting, 0)
            await update(ctx, dut, UpdateAction.DECREMENT, 1)
            order.append("take")

    simulate(producer, consumer)
    # A take never overtakes its post; the slack is the post that is served in the same clock.
    balance = 0
    for step in order:
        balance += 1 if step == "post" else -1
        assert balance >= -1
    assert balance == 0


def test_a_response_is_kept_until_it_is_accepted():
    async def bench(ctx, dut):
        for index in range(4):
            await access(ctx, dut, SyncAction.SET_SEMAPHORE, index, 100 + index)

        def ask(index):
            request = {"action": SyncAction.READ_SEMAPHORE, "index": index, "value": 0}
            ctx.set(dut.request.payload, request)
            ctx.set(dut.request.valid, 1)

        ask(0)
        await ctx.tick().until(dut.request.ready)
        ask(1)
        for _ in range(8):  # the second read waits for room
            _, _, ready = await ctx.tick().sample(dut.request.ready)
            assert not ready
            assert (ctx.get(dut.response.valid), ctx.get(dut.response.payload)) == (1, 100)
        ctx.set(dut.response.ready, 1)
        await ctx.tick().until(dut.request.ready)
        ctx.set(dut.request.valid, 0)
        (value,) = await ctx.tick().sample(dut.response.payload).until(dut.response.valid)
        assert value == 101

    simulate(bench)
