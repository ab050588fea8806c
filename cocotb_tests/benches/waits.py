"""Bench of waits that are not met: what the engine says of them, and what ends them."""

import operator
import random

import cocotb
from benches.configs import BENCH as CONFIG
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from dve_cosim.driver import CompletionSink, RecordSource, RegisterPort, SyncPort
from dve_cosim.engine import waiting_packing
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import REGISTER_OPERAND, REGISTERS, Opcode, WaitMode
from dve_rtl.payloads import SyncAction

COMPARE = {1: operator.eq, 2: operator.lt, 3: operator.le, 4: operator.gt, 5: operator.ge}
"""By the low bits of a semaphore's wait mode (isa_common.md 1.4)."""

EXTREMES = (-(1 << 31), -1, 0, 1, (1 << 31) - 1)
PATIENCE = 40
"""Clocks after which a wait that was met has completed."""


def values(choices, mode, threshold):
    """A semaphore's value for which the wait is not met, and one for which it is."""
    compare = COMPARE[mode & 0x0F]
    near = [threshold + delta for delta in (-1, 0, 1)]
    candidates = [*EXTREMES, *near, *(choices.randrange(-(1 << 31), 1 << 31) for _ in range(4))]
    legal = [value for value in candidates if -(1 << 31) <= value < 1 << 31]
    met = [value for value in legal if compare(value, threshold)]
    unmet = [value for value in legal if not compare(value, threshold)]
    return choices.choice(unmet), choices.choice(met)


class Bench:
    """The engine after reset and its endpoints."""

    def __init__(self, dut):
        self.dut = dut
        self.records = RecordSource(dut, CONFIG)
        self.completions = CompletionSink(dut)
        self.registers = RegisterPort(dut)
        self.sync = SyncPort(dut)

    async def start(self):
        dut = self.dut
        dut.image_load.value = dut.image_dump.value = 0
        dut.rst.value = 1
        Clock(dut.clk, 10, unit="step").start(start_high=False)
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0

    def status(self):
        return waiting_packing().unpack(self.dut.waiting.value.to_unsigned())

    async def check(self, record, *, mode, index, threshold, end):
        """Send a record that waits, see what the engine says of it, and end the wait."""
        completing = cocotb.start_soon(self.completions.receive())
        await self.records.send(record)
        await ClockCycles(self.dut.clk, PATIENCE)
        assert not completing.done()
        assert self.status() == {
            "active": 1,
            "mode": mode,
            "index": index,
            "threshold": threshold & 0xFFFFFFFF,
        }
        assert not self.dut.idle.value
        await end
        await ClockCycles(self.dut.clk, PATIENCE)
        assert completing.done()
        completion = completing.result()
        assert (completion.opcode, completion.reason) == (record[0], 0)
        assert not self.status()["active"]
        assert self.dut.idle.value


@cocotb.test(timeout_time=2_000_000, timeout_unit="step")
async def semaphores(dut):
    choices, bench = random.Random(31), Bench(dut)
    await bench.start()
    modes = [mode for mode in WaitMode if mode.name.startswith("SEM")]
    for mode in 6 * modes:
        opcode = choices.choice((Opcode.NOP, Opcode.EVENT_SEMAPHORE))
        index = choices.choice((0, 255, choices.randrange(256)))
        # Nothing is below the least number, and nothing above the greatest.
        threshold = choices.choice((-1, 0, 1, choices.randrange(1 - (1 << 31), (1 << 31) - 1)))
        field = "wait_value" if opcode is Opcode.EVENT_SEMAPHORE else "semaphore_value"
        operand = threshold & 0xFFFFFFFF
        if mode & REGISTER_OPERAND:
            register = choices.randrange(REGISTERS)
            await bench.registers.write(register, operand)
            operand = register | choices.getrandbits(24) << 8  # what else is there means nothing
        unmet, met = values(choices, mode, threshold)
        await bench.sync.post(SyncAction.SET_SEMAPHORE, index, unmet & 0xFFFFFFFF)
        record = encode(
            opcode,
            {"events.wait_mode": mode, "events.wait_idx": index, f"events.{field}": operand},
        )
        await bench.check(
            record,
            mode=mode,
            index=index,
            threshold=threshold,
            end=bench.sync.post(SyncAction.SET_SEMAPHORE, index, met & 0xFFFFFFFF),
        )
        assert await bench.sync.read(SyncAction.READ_SEMAPHORE, index) == met & 0xFFFFFFFF


@cocotb.test(timeout_time=2_000_000, timeout_unit="step")
async def events(dut):
    choices, bench = random.Random(32), Bench(dut)
    await bench.start()
    modes = [mode for mode in WaitMode if mode.name.startswith("EVT")]
    for mode in 8 * modes:
        index = choices.choice((0, 255, choices.randrange(256)))
        wants = mode in (WaitMode.EVT_SET, WaitMode.EVT_SET_THEN_CLEAR)
        unmet, met = (
            SyncAction.SET_EVENT if flag else SyncAction.CLEAR_EVENT for flag in (not wants, wants)
        )
        value = choices.getrandbits(32)  # of no meaning here, but shown
        await bench.sync.post(unmet, index)
        record = encode(
            Opcode.NOP,
            {
                "events.wait_mode": mode,
                "events.wait_idx": index,
                "events.semaphore_value": value,
            },
        )
        await bench.check(
            record, mode=mode, index=index, threshold=value, end=bench.sync.post(met, index)
        )
        toggles = mode in (WaitMode.EVT_SET_THEN_CLEAR, WaitMode.EVT_CLEAR_THEN_SET)
        assert await bench.sync.read(SyncAction.READ_EVENT, index) == wants ^ toggles
