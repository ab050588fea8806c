"""Bench of resets in the middle of whatever the engine does (architecture.md, Export).

Streams and control are empty afterwards; memories, registers, semaphores and events keep what they
held. So a program runs after a reset as it does after power-on.
"""

import random
from pathlib import Path

import cocotb
import numpy as np
from benches.configs import BENCH as CONFIG
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from dve_cosim.compare import differences
from dve_cosim.driver import (
    CompletionSink,
    HostPort,
    RecordSource,
    RegisterPort,
    StreamSink,
    StreamSource,
    SyncPort,
)
from dve_cosim.engine import host_request_packing
from dve_cosim.reference import machine_of
from dve_cosim.state import ArchState, read_image, write_image
from dve_cosim.workloads import random_programs
from dve_golden.isa.enums import REGISTERS, Reason
from dve_golden.isa.text import assemble, split_records
from dve_rtl.host import Space
from dve_rtl.payloads import SyncAction

ROW_BYTES = {"sbuf": CONFIG.sbuf_bytes, "psum": CONFIG.psum_bytes}


class Bench:
    """The engine, endpoints that are made anew after each reset, and the memories' images."""

    def __init__(self, dut):
        self.dut = dut
        self.tasks = []

    async def start(self):
        dut = self.dut
        dut.image_load.value = dut.image_dump.value = 0
        Clock(dut.clk, 10, unit="step").start(start_high=False)
        await self.reset()

    async def reset(self):
        """Stop every endpoint, reset for a clock, and begin anew."""
        dut = self.dut
        for task in self.tasks:
            task.cancel()
        self.tasks = []
        dut.rst.value = 1
        self.records = RecordSource(dut, CONFIG)
        self.completions = CompletionSink(dut)
        self.host = HostPort(dut, CONFIG)
        self.registers = RegisterPort(dut)
        self.sync = SyncPort(dut)
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        await RisingEdge(dut.clk)

    def start_soon(self, work):
        self.tasks.append(cocotb.start_soon(work))

    async def _pulse(self, signal):
        signal.value = 1
        await RisingEdge(self.dut.clk)
        signal.value = 0
        await RisingEdge(self.dut.clk)

    async def load(self, state, held):
        for name, size in ROW_BYTES.items():
            image = Path(f"{name}.in")
            write_image(image, getattr(state, name), lanes=CONFIG.lanes, row_bytes=size)
        await self._pulse(self.dut.image_load)
        await self.host.write_lane_state(state.lane_state, held=held.lane_state)
        await self.host.write_parameter_ram(state.parameter_ram, held=held.parameter_ram)
        await self.registers.write_all(state.registers, held=held.registers)
        await self.sync.write_semaphores(state.semaphores, held=held.semaphores)
        await self.sync.write_events(state.events, held=held.events)
        await self.host.write_control(state.control, held=held.control)

    async def state(self):
        await self._pulse(self.dut.image_dump)
        memories = {
            name: read_image(Path(f"{name}.out"), lanes=CONFIG.lanes, row_bytes=size)
            for name, size in ROW_BYTES.items()
        }
        return ArchState(
            sbuf=memories["sbuf"],
            psum=memories["psum"],
            registers=await self.registers.read_all(),
            parameter_ram=await self.host.read_parameter_ram(),
            lane_state=await self.host.read_lane_state(),
            semaphores=await self.sync.read_semaphores(),
            events=await self.sync.read_events(),
            control=await self.host.read_control(),
        )

    async def disturb(self, choices, program):
        """Keep every port busy, with nothing that changes registers or waits; for some clocks."""

        async def read_registers():
            while True:
                await self.registers.read(choices.randrange(REGISTERS))

        async def read_memory():  # one task, which can be cancelled, unlike HostPort.read
            requests = StreamSource(self.dut, "host_request")
            responses = StreamSink(self.dut, "host_response")
            packing = host_request_packing(CONFIG)
            while True:
                space = choices.choice((Space.SBUF, Space.STATE, Space.PARAMETER_RAM))
                word = choices.randrange(5)
                await requests.send(packing.pack(space=space.value, row=0, word=word))
                await responses.receive()

        async def read_events():
            while True:
                await self.sync.read(SyncAction.READ_EVENT, choices.randrange(256))

        async def receive():
            for _ in range(choices.randrange(4)):  # then back-pressure
                await self.completions.receive()

        self.start_soon(self.records.send(program))
        busy = [receive, read_registers, read_memory, read_events]
        for work in choices.sample(busy, choices.randrange(len(busy) + 1)):
            self.start_soon(work())
        await ClockCycles(self.dut.clk, choices.choice((3, 10, 20, 40, 200, 900)))


@cocotb.test(timeout_time=30_000_000, timeout_unit="step")
async def a_program_runs_after_a_reset_as_after_power_on(dut):
    choices, bench = random.Random(41), Bench(dut)
    await bench.start()
    held = await bench.state()
    for seed in range(12):
        state, (disturbance, program) = random_programs(
            seed, CONFIG, programs=2, instructions=6, special=0.02, max_elements=6
        )
        await bench.load(state, held)
        await bench.disturb(choices, choices.choice((disturbance, disturbance[64:])))
        await bench.reset()
        for port in ("completion", "host_response", "register_response", "sync_response"):
            assert not getattr(dut, f"{port}__valid").value, port
        assert dut.idle.value

        before = await bench.state()
        assert (before.registers == state.registers).all()
        expected = machine_of(CONFIG)
        before.copy_into(expected)
        bench.start_soon(bench.records.send(program))
        for sequence, record in enumerate(split_records(program)):
            completion = await bench.completions.receive()
            reason = expected.execute(record).reason
            assert completion[:3] == (sequence, record[0], reason)
        while not dut.idle.value:
            await RisingEdge(dut.idle)
        held = await bench.state()
        found = differences(held, expected, limit=4)
        assert not found, f"seed {seed}: " + "; ".join(map(str, found))


@cocotb.test(timeout_time=5_000_000, timeout_unit="step")
async def memories_keep_what_they_hold(dut):
    bench = Bench(dut)
    await bench.start()
    held = await bench.state()
    rng = np.random.default_rng(43)
    state, _ = random_programs(43, CONFIG, programs=1, instructions=1, special=0.1)
    state.semaphores[:] = rng.integers(0, 1 << 32, state.semaphores.shape, np.uint32)
    state.events[:] = rng.integers(0, 2, state.events.shape)
    await bench.load(state, held)
    await bench.reset()
    found = differences(await bench.state(), state, limit=4)
    assert not found, "; ".join(map(str, found))


@cocotb.test(timeout_time=5_000_000, timeout_unit="step")
async def a_fold_that_a_reset_ends_leaves_nothing_behind(dut):
    """A reset in every clock of two passes of sums, which then run again to another place."""
    bench = Bench(dut)
    await bench.start()
    held = await bench.state()
    state, _ = random_programs(44, CONFIG, programs=1, instructions=1, special=0.0)
    # Of one magnitude: whatever is left of a fold shows in every sum that it gets into.
    sources = np.random.default_rng(44).uniform(1, 2, (len(state.sbuf), 16)).astype(np.float32)
    state.sbuf[:, : 4 * sources.shape[1]] = sources.view(np.uint8)
    await bench.load(state, held)
    expected = machine_of(CONFIG)
    state.copy_into(expected)
    sums_bytes = 3 * sources.itemsize
    for at in range((CONFIG.sbuf_bytes - 4 * sources.shape[1]) // sums_bytes):
        record = assemble(
            f"grad_accumulate channels={2 * CONFIG.lanes}"
            f" imm0=sbuf[0:0x38] imm1=sbuf[0:0x3c] imm_dtype=fp32"
            f" src0=sbuf[0:0]:fp32:5 src1=sbuf[0:0x14]:fp32:5"
            f" dst=sbuf[0:{4 * sources.shape[1] + at * sums_bytes}]:fp32:3"
        )
        assert expected.execute(record).reason is Reason.NONE
        bench.start_soon(bench.records.send(record))
        await ClockCycles(dut.clk, 1 + at)
        await bench.reset()
        bench.start_soon(bench.records.send(record))
        await bench.completions.receive()
        while not dut.idle.value:
            await RisingEdge(dut.idle)
    found = differences(await bench.state(), expected, limit=4)
    assert not found, "; ".join(map(str, found))
