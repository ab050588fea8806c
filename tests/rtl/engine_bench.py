"""Runs programs on the portable engine under Amaranth's simulator, through its ports only."""

import numpy as np
from amaranth.sim import Simulator
from dve_golden.isa.enums import MAX_CHANNELS, PARAMETER_RAM_ENTRIES, RECORD_BYTES
from dve_golden.machine import Machine
from dve_rtl.config import WORD_BYTES, EngineConfig
from dve_rtl.engine import Engine
from dve_rtl.host import Space

STATE_FIELDS = 5


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
    """Reads and writes whole memories through the host port, row by row."""

    def __init__(self, ctx, engine: Engine):
        self.ctx = ctx
        self.engine = engine
        self.lanes = engine.config.lanes

    async def _request(self, space, row, word, *, write, data=0, byte_enable=0):
        payload = {
            "space": space,
            "row": row,
            "word": word,
            "write": write,
            "data": data,
            "byte_enable": byte_enable,
        }
        await send(self.ctx, self.engine.host_request, payload)

    async def read(self, space, row, word):
        """The words of all lanes, uint64 [lanes]."""
        await self._request(space, row, word, write=0)
        data = int(await receive(self.ctx, self.engine.host_response))
        return np.frombuffer(data.to_bytes(WORD_BYTES * self.lanes, "little"), "<u8")

    async def write(self, space, row, word, lanes, *, byte_enable=None):
        """Write the words of all lanes, or the enabled bytes of them."""
        full = (1 << WORD_BYTES * self.lanes) - 1
        data = int.from_bytes(np.asarray(lanes, "<u8").tobytes(), "little")
        enable = full if byte_enable is None else byte_enable
        await self._request(space, row, word, write=1, data=data, byte_enable=enable)

    async def write_memory(self, space, memory):
        """``memory`` is uint8 [128, bytes]."""
        words = memory.view("<u8").reshape(-1, self.lanes, memory.shape[1] // WORD_BYTES)
        for row in range(words.shape[0]):
            for word in range(words.shape[2]):
                await self.write(space, row, word, words[row, :, word])

    async def read_memory(self, space, size):
        words = np.zeros((MAX_CHANNELS // self.lanes, self.lanes, size // WORD_BYTES), "<u8")
        for row in range(words.shape[0]):
            for word in range(words.shape[2]):
                words[row, :, word] = await self.read(space, row, word)
        return words.reshape(MAX_CHANNELS, -1).view(np.uint8)

    async def write_state(self, bits):
        """``bits`` is uint32 [128, 5]."""
        for channel in range(0, MAX_CHANNELS, self.lanes):
            for field in range(STATE_FIELDS):
                lanes = bits[channel : channel + self.lanes, field].astype("<u8")
                await self.write(Space.STATE, channel // self.lanes, field, lanes)

    async def read_state(self):
        bits = np.zeros((MAX_CHANNELS, STATE_FIELDS), np.uint32)
        for channel in range(0, MAX_CHANNELS, self.lanes):
            for field in range(STATE_FIELDS):
                lanes = await self.read(Space.STATE, channel // self.lanes, field)
                bits[channel : channel + self.lanes, field] = lanes.astype(np.uint32)
        return bits

    async def write_parameters(self, bits):
        for entry in range(PARAMETER_RAM_ENTRIES):
            await self._access(
                Space.PARAMETER_RAM, 0, entry, [bits[entry]] + [0] * (self.lanes - 1)
            )

    async def read_parameters(self):
        bits = np.zeros(PARAMETER_RAM_ENTRIES, np.uint32)
        for entry in range(PARAMETER_RAM_ENTRIES):
            bits[entry] = (await self.read(Space.PARAMETER_RAM, 0, entry))[0]
        return bits


class PortableRun:
    """Result of a program on the portable engine."""

    def __init__(self):
        self.completions = []


def run_portable(config: EngineConfig, machine: Machine, program: bytes, *, write_state=False):
    """Run ``program`` from the state of ``machine`` and return the state afterwards."""
    engine = Engine(config, portable=True)
    result = PortableRun()
    records = [program[i : i + RECORD_BYTES] for i in range(0, len(program), RECORD_BYTES)]
    loaded = []

    async def drive(ctx):
        host = HostDriver(ctx, engine)
        await host.write_memory(Space.SBUF, machine.sbuf)
        await host.write_memory(Space.PSUM, machine.psum)
        for index, value in enumerate(machine.registers):
            if value:
                await send(
                    ctx,
                    engine.register_request,
                    {"index": index, "write": 1, "value": int(value)},
                )
        if write_state:
            await host.write_state(machine.lane_state.view(np.uint32))
            await host.write_parameters(machine.parameter_ram.view(np.uint32))
        loaded.append(True)
        beat = config.beat_bits // 8
        for record in records:
            for start in range(0, RECORD_BYTES, beat):
                payload = int.from_bytes(record[start : start + beat], "little")
                await send(ctx, engine.instruction, payload)

    async def watch(ctx):
        host = HostDriver(ctx, engine)
        for _ in records:
            completion = await receive(ctx, engine.completion)
            result.completions.append(
                (completion.sequence, completion.opcode, completion.reason, completion.cycles)
            )
        result.sbuf = await host.read_memory(Space.SBUF, machine.sbuf.shape[1])
        result.psum = await host.read_memory(Space.PSUM, machine.psum.shape[1])
        result.lane_state = await host.read_state()
        result.parameter_ram = await host.read_parameters()
        result.finished = True

    sim = Simulator(engine)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.add_testbench(watch)
    sim.run()
    return result
