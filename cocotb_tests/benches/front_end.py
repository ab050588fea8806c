"""Bench of the front end alone: beats in, validated operations out, at one beat width."""

import os
from typing import Any

import cocotb
import numpy as np
from benches.configs import front_end_config
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, ValueChange
from dve_cosim.driver import NO_PAUSES, StreamSink, StreamSource, random_pauses
from dve_cosim.mutants import mutants
from dve_cosim.reference import geometry_of
from dve_cosim.workloads import random_programs
from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import decode
from dve_golden.isa.enums import RECORD_BYTES, Reason
from dve_golden.isa.text import format_instruction, split_records
from dve_golden.memory.address import QUADRANT, Region, locate, resolve
from dve_rtl.payloads import Operation

BEAT_BITS = int(os.environ["BEAT_BITS"])
CONFIG = front_end_config(BEAT_BITS)
BEATS = 8 * RECORD_BYTES // BEAT_BITS
OPERANDS = {"src": "src0", "addr": "src0", "src0": "src0", "src1": "src1", "dst": "dst"}


class Bench:
    """The front end after reset, with address registers, a clock counter and endpoints."""

    def __init__(self, dut, registers, *, share):
        def pauses(name):
            return random_pauses(f"{BEAT_BITS} {name}", share=share) if share else NO_PAUSES

        self.dut = dut
        self.registers = registers
        self.beats = StreamSource(dut, "beats", pauses=pauses("beats"))
        self.operations = StreamSink(dut, "o", pauses=pauses("operations"))
        self.accepted_at = []

    async def start(self):
        dut = self.dut
        dut.now.value = 0
        dut.met.value = 1  # no bank of semaphores here: every wait comes true
        dut.rst.value = 1
        Clock(dut.clk, 10, unit="step").start(start_high=False)
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0
        cocotb.start_soon(self._serve_registers())
        cocotb.start_soon(self._count())

    async def _serve_registers(self):
        while True:
            index = self.dut.register_index.value.to_unsigned()
            self.dut.register_value.value = int(self.registers[index])
            await ValueChange(self.dut.register_index)

    async def _count(self):
        """Drive the clock counter, and note when the last beat of each record is accepted."""
        dut, beats, now = self.dut, 0, 0
        while True:
            await RisingEdge(dut.clk)
            if dut.beats__valid.value and dut.beats__ready.value:
                beats += 1
                if beats % BEATS == 0:
                    self.accepted_at.append(now)
            now += 1
            dut.now.value = now

    async def send(self, records):
        for record in records:
            for at in range(0, RECORD_BYTES, BEAT_BITS // 8):
                beat = record[at : at + BEAT_BITS // 8]
                await self.beats.send(int.from_bytes(beat, "little"))


def check_operands(operation: Any, record: bytes, registers: Any) -> None:
    """Where the operands of a legal record start, and how they walk."""
    fields: dict[str, Any] = dict(decode(record)[1])
    alone = 1 if "addr" in fields else 0  # 0x66 has one channel, a record of the sequencer none
    assert operation.channels == fields.get("num_active_channels", alone)
    for name, target in OPERANDS.items():
        word = fields.get(name if name == "addr" else f"{name}.start_addr")
        if word is None:
            continue
        address = resolve(word, registers)
        assert address is not None
        start = locate(address)
        assert start is not None
        walk = operation[target]
        assert (walk.start.offset, walk.start.quadrant, walk.start.psum) == (
            start.offset,
            start.partition // QUADRANT,
            start.region is Region.PSUM,
        ), name
        counts = fields.get(f"{name}.num_elem") or (fields["entry_count"],)
        steps = fields.get(f"{name}.step_elem") or (1,)
        assert tuple(walk.count) == counts + (1,) * (len(walk.count) - len(counts)), name
        assert tuple(walk.step)[: len(steps)] == steps, name


@cocotb.test(timeout_time=5_000_000, timeout_unit="step")
@cocotb.parametrize(share=[0.0, 0.3])
async def every_record_becomes_an_operation(dut, share):
    rng = np.random.default_rng(BEAT_BITS)
    state, (program,) = random_programs(BEAT_BITS, CONFIG, programs=1, instructions=40, special=0.0)
    maker = mutants(rng, program, state.registers)
    records = [
        record for legal in split_records(program) for record in (legal, next(maker), next(maker))
    ]
    bench = Bench(dut, state.registers, share=share)
    await bench.start()
    cocotb.start_soon(bench.send(records))
    reasons = set()
    for index, record in enumerate(records):
        operation = Operation.from_bits(await bench.operations.receive())
        verdict = validate(record, registers=state.registers, geometry=geometry_of(CONFIG))
        text = format_instruction(record)
        assert operation.opcode == record[0], text
        assert operation.reason == verdict.reason, text
        assert operation.accepted_at == bench.accepted_at[index], text
        if verdict.reason is Reason.NONE:
            check_operands(operation, record, state.registers)
        reasons.add(verdict.reason)
    assert len(reasons) > 8, reasons
