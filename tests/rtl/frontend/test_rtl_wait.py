"""The wait stage: who waits, for what, and when; and the update that the validator hands on."""

import pytest
from amaranth.sim import Simulator
from dve_golden.isa.enums import Opcode, UpdateMode, WaitMode
from dve_rtl.frontend.wait import WaitStage
from dve_rtl.sync.bank import UpdateAction, WaitCondition
from frontend_bench import BP, record, validate

NOP = Opcode.NOP


def offered(data, *, retired=True, registers=0):
    """What the stage does with a record that nobody satisfies: wait, test, pass on."""
    dut = WaitStage()
    seen = {}

    async def bench(ctx):
        ctx.set(dut.i.p.record, int.from_bytes(data, "little"))
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.retired, retired)
        ctx.set(dut.register_value, registers)
        await ctx.tick().repeat(3)
        seen.update(
            passes=ctx.get(dut.o.valid),
            tests=ctx.get(dut.test),
            wait=ctx.get(dut.wait),
            register=ctx.get(dut.register_index),
            status=ctx.get(dut.status),
        )

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    return seen


@pytest.mark.parametrize("mode", [mode for mode in WaitMode if mode is not WaitMode.NONE])
def test_every_mode_waits_for_its_condition(mode):
    seen = offered(
        record(NOP, events__wait_mode=mode, events__wait_idx=200, events__semaphore_value=0x105),
        registers=0x8000_0001,
    )
    assert not seen["passes"]
    assert seen["tests"]
    assert seen["wait"].condition == WaitCondition(mode & 0xF)
    assert seen["wait"].index == 200
    # A register form takes the register that the low byte names (isa_common.md 1.4).
    assert seen["register"] == 5
    assert seen["wait"].threshold == (0x8000_0001 if mode & 0x80 else 0x105)
    status = seen["status"]
    assert (status.active, status.mode, status.index) == (1, mode, 200)
    assert status.threshold == seen["wait"].threshold


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(record(NOP), id="no wait"),
        pytest.param(record(NOP, events__wait_mode=0xFF), id="illegal mode"),
        pytest.param(record(NOP, events__wait_mode=0x08), id="undefined mode"),
        pytest.param(
            record(NOP, events__wait_mode=0x85, events__semaphore_value=64), id="register 64"
        ),
        pytest.param(record(NOP, events__wait_mode=6, header__inst_word_len=15), id="reason 2"),
        pytest.param(b"\x42" + record(NOP, events__wait_mode=6)[1:], id="reason 1"),
    ],
)
def test_does_not_wait(data):
    seen = offered(data)
    assert seen["passes"]
    assert not seen["tests"]


def test_tests_only_when_everything_before_has_completed():
    seen = offered(record(NOP, events__wait_mode=6), retired=False)
    assert not seen["passes"]
    assert not seen["tests"]


def test_passes_once_met_and_waits_again_for_the_next_record():
    dut = WaitStage()
    passed = []

    async def bench(ctx):
        ctx.set(dut.retired, 1)
        ctx.set(dut.o.ready, 1)
        for index in range(3):
            data = record(NOP, events__wait_mode=6, events__wait_idx=index)
            ctx.set(dut.i.p.record, int.from_bytes(data, "little"))
            ctx.set(dut.i.valid, 1)
            await ctx.tick().repeat(4)
            assert ctx.get(dut.test)
            assert not ctx.get(dut.i.ready)
            ctx.set(dut.met, 1)
            await ctx.tick()
            ctx.set(dut.met, 0)
            assert not ctx.get(dut.test)
            assert ctx.get(dut.o.valid)
            passed.append(ctx.get(dut.wait.index))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    assert passed == [0, 1, 2]


@pytest.mark.parametrize("mode", [mode for mode in UpdateMode if mode is not UpdateMode.NONE])
def test_validator_hands_on_every_update(mode):
    data = record(NOP, events__update_mode=mode, events__update_idx=77, events__semaphore_value=5)
    (operation,) = validate([data], registers={5: 0xDEADBEEF}).operations
    update = operation.update
    assert update.valid
    assert update.index == 77
    assert UpdateAction(update.action) == UpdateAction(mode & 0xF)
    assert update.on_read == (not mode & 0x10)
    assert update.operand == (0xDEADBEEF if mode & 0x80 else 5)


@pytest.mark.parametrize(
    ("data", "reason", "updates"),
    [
        (record(BP, events__update_mode=0x13), 0, 1),
        (record(BP), 0, 0),
        (record(BP, events__update_mode=0x13, op=1), 6, 1),
        (record(BP, events__update_mode=0x13, events__wait_mode=0xFF), 3, 1),
        (record(BP, events__update_mode=0xFF), 4, 0),
        (record(BP, events__update_mode=0xFF, events__wait_mode=0xFF), 3, 0),
        (record(BP, events__update_mode=0x13, header__inst_word_len=0), 2, 0),
        (b"\x42" + record(BP, events__update_mode=0x13)[1:], 1, 0),
    ],
)
def test_illegal_records_update_too_but_for_reasons_1_and_2(data, reason, updates):
    (operation,) = validate([data]).operations
    assert (operation.reason, operation.update.valid) == (reason, updates)
