"""Runs programs on the portable engine under Amaranth's simulator, through its ports only."""

from dataclasses import dataclass, field

import numpy as np
from amaranth import *
from amaranth.sim import Simulator
from dve_golden.isa.enums import RECORD_BYTES
from dve_golden.machine import Machine
from dve_rtl.config import WORD_BYTES, EngineConfig
from dve_rtl.engine import Engine
from dve_rtl.host import Space

STATE_FIELDS = 5

PARTITIONS = 8
"""Partitions, and channels, that are loaded and looked at: the simulator makes few clocks."""

ENTRIES = 8
"""Entries of the Parameter RAM that are looked at."""


async def send(ctx, port, payload):
    """Offer one payload until it is accepted."""
    ctx.set(port.payload, payload)
    ctx.set(port.valid, 1)
    await ctx.tick().until(port.ready)
    ctx.set(port.valid, 0)


async def receive(ctx, port):
    """Accept one payload."""
    ctx.set(port.ready, 1)
    (payload,) = await ctx.tick().sample(port.payload).until(port.valid)
    ctx.set(port.ready, 0)
    return payload


class HostDriver:
    """Reads and writes through the host port, row by row."""

    def __init__(self, ctx, engine: Engine):
        self.ctx = ctx
        self.engine = engine
        self.lanes = engine.config.lanes

    async def read(self, space, row, word):
        """The words of all lanes, uint64 [lanes]."""
        request = {"space": space, "row": row, "word": word}
        await send(self.ctx, self.engine.host_request, request)
        data = int(await receive(self.ctx, self.engine.host_response))
        return np.frombuffer(data.to_bytes(WORD_BYTES * self.lanes, "little"), "<u8")

    async def write_memory(self, space, memory):
        """``memory`` is uint8 [partitions, bytes], beginning at partition 0."""
        words = memory.view("<u8").reshape(-1, self.lanes, memory.shape[1] // WORD_BYTES)
        for row in range(words.shape[0]):
            for word in range(words.shape[2]):
                request = {
                    "space": space,
                    "row": row,
                    "word": word,
                    "write": 1,
                    "data": int.from_bytes(words[row, :, word].tobytes(), "little"),
                    "byte_enable": (1 << WORD_BYTES * self.lanes) - 1,
                }
                await send(self.ctx, self.engine.host_request, request)

    async def read_memory(self, space, size):
        words = np.zeros((PARTITIONS // self.lanes, self.lanes, size // WORD_BYTES), "<u8")
        for row in range(words.shape[0]):
            for word in range(words.shape[2]):
                words[row, :, word] = await self.read(space, row, word)
        return words.reshape(PARTITIONS, -1).view(np.uint8)

    async def read_state(self):
        bits = np.zeros((PARTITIONS, STATE_FIELDS), np.uint32)
        for channel in range(0, PARTITIONS, self.lanes):
            for word in range(STATE_FIELDS):
                lanes = await self.read(Space.STATE, channel // self.lanes, word)
                bits[channel : channel + self.lanes, word] = lanes.astype(np.uint32)
        return bits

    async def read_parameters(self):
        values = [(await self.read(Space.PARAMETER_RAM, 0, entry))[0] for entry in range(ENTRIES)]
        return np.array(values, np.uint32)


@dataclass
class PortableRun:
    """What a program left in the first partitions, channels and entries, as in ``Machine``."""

    completions: list[tuple[int, int, int]] = field(default_factory=list)
    """Sequence, opcode and reason of each."""
    sbuf: np.ndarray = field(init=False)
    psum: np.ndarray = field(init=False)
    lane_state: np.ndarray = field(init=False)
    parameter_ram: np.ndarray = field(init=False)


def run_portable(
    config: EngineConfig, machine: Machine, program: bytes, *, reset_after: int | None = None
) -> PortableRun:
    """Run ``program`` from the memories and registers of ``machine``, lane state as after reset.

    Parameters
    ----------
    reset_after : int, optional
        Begin the program, reset the engine so many clocks after its first record, and begin anew.
    """
    engine = Engine(config, portable=True)
    reset = Signal()
    result = PortableRun()
    records = [program[i : i + RECORD_BYTES] for i in range(0, len(program), RECORD_BYTES)]
    started = []

    async def send_record(ctx, record):
        beat = config.beat_bits // 8
        for start in range(0, RECORD_BYTES, beat):
            payload = int.from_bytes(record[start : start + beat], "little")
            await send(ctx, engine.instruction, payload)

    async def drive(ctx):
        host = HostDriver(ctx, engine)
        await host.write_memory(Space.SBUF, machine.sbuf[:PARTITIONS])
        await host.write_memory(Space.PSUM, machine.psum[:PARTITIONS])
        for index in np.flatnonzero(machine.registers):
            value = int(machine.registers[index])
            await send(
                ctx, engine.register_request, {"index": int(index), "write": 1, "value": value}
            )
        if reset_after is not None:
            await send_record(ctx, records[0])
            await ctx.tick().repeat(reset_after)
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
        started.append(True)
        for record in records:
            await send_record(ctx, record)

    async def watch(ctx):
        host = HostDriver(ctx, engine)
        while not started:
            await ctx.tick()
        for _ in records:
            completion = await receive(ctx, engine.completion)
            result.completions.append((completion.sequence, completion.opcode, completion.reason))
        result.sbuf = await host.read_memory(Space.SBUF, machine.sbuf.shape[1])
        result.psum = await host.read_memory(Space.PSUM, machine.psum.shape[1])
        result.lane_state = (await host.read_state()).view(np.float32)
        result.parameter_ram = (await host.read_parameters()).view(np.float32)

    sim = Simulator(ResetInserter(reset)(engine))
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.add_testbench(watch)
    sim.run()
    return result
