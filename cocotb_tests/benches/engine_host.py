"""Bench of the host and register ports of the whole engine."""

import random
from pathlib import Path

import cocotb
import numpy as np
from benches.configs import BENCH as CONFIG
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from dve_cosim.compare import differences
from dve_cosim.driver import (
    NO_PAUSES,
    CompletionSink,
    HostPort,
    RecordSource,
    RegisterPort,
    random_pauses,
)
from dve_cosim.state import ArchState, read_image, write_image
from dve_cosim.workloads import random_state, random_words
from dve_golden.fp32.reciprocal import reset_parameter_ram
from dve_golden.isa.codec import encode
from dve_golden.isa.control import CONTROL_WORDS
from dve_golden.isa.enums import REGISTERS, Dtype, ImmSrc, Opcode
from dve_golden.isa.text import assemble
from dve_golden.machine import Machine
from dve_rtl.host import Space

LANES, ROWS = CONFIG.lanes, CONFIG.groups
ROW_BYTES = 8 * LANES
ROW_BYTES_OF = {"sbuf": CONFIG.sbuf_bytes, "psum": CONFIG.psum_bytes}
PSUM = 0x200_0000
FIELDS = 5


class Bench:
    """The engine after reset, its endpoints, and what its memories are expected to hold."""

    def __init__(self, dut, *, share=0.0):
        def pauses(name):
            return random_pauses(name, share=share) if share else NO_PAUSES

        self.dut = dut
        self.host = HostPort(
            dut,
            CONFIG,
            request_pauses=pauses("request"),
            response_pauses=pauses("response"),
        )
        self.registers = RegisterPort(dut, request_pauses=pauses("register"))
        self.records = RecordSource(dut, CONFIG)
        self.completions = CompletionSink(dut)
        self.expected = Machine(sbuf_bytes=CONFIG.sbuf_bytes, psum_bytes=CONFIG.psum_bytes)

    async def start(self):
        dut = self.dut
        dut.image_load.value = dut.image_dump.value = 0
        dut.rst.value = 1
        Clock(dut.clk, 10, unit="step").start(start_high=False)
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0

    def memory(self, space):
        return self.expected.sbuf if space is Space.SBUF else self.expected.psum

    def words(self, space):
        return self.memory(space).shape[1] // 8

    def view(self, space, row, word):
        """The bytes of all lanes that one access covers, uint8 [lanes, 8]."""
        return self.memory(space)[row * LANES : (row + 1) * LANES, 8 * word : 8 * word + 8]

    async def write(self, space, row, word, data, enable=None):
        """Write on both sides."""
        await self.host.write(space, row, word, data.tobytes(), enable)
        bits = np.ones(ROW_BYTES, bool)
        if enable is not None:
            bits = np.unpackbits(
                np.frombuffer(enable.to_bytes(LANES, "little"), np.uint8), bitorder="little"
            ).astype(bool)
        target = self.view(space, row, word)
        target[...] = np.where(bits.reshape(LANES, 8), data, target)

    async def fill(self, state, *, by_host=False):
        """Load a whole state; the memories as images, unless they go through the host port."""
        state.copy_into(self.expected)
        if by_host:
            for space in (Space.SBUF, Space.PSUM):
                for row in range(ROWS):
                    for word in range(self.words(space)):
                        data = self.view(space, row, word).tobytes()
                        await self.host.write(space, row, word, data)
        else:
            for name, row_bytes in ROW_BYTES_OF.items():
                image, memory = Path(f"{name}.in"), getattr(state, name)
                write_image(image, memory, lanes=LANES, row_bytes=row_bytes)
            await self._pulse(self.dut.image_load)
        # What the tests before have left is unknown: everything is written.
        await self.host.write_lane_state(state.lane_state, held=inverted(state.lane_state))
        await self.host.write_parameter_ram(state.parameter_ram, held=inverted(state.parameter_ram))
        await self.registers.write_all(state.registers, held=~state.registers)
        await self.host.write_control(state.control, held=~state.control)

    async def _pulse(self, signal):
        signal.value = 1
        await RisingEdge(self.dut.clk)
        signal.value = 0
        await RisingEdge(self.dut.clk)

    async def state(self, *, by_host=False):
        """The whole state; the memories as images, or through the host port."""
        found = ArchState.copy_of(self.expected)
        if by_host:
            for space, memory in ((Space.SBUF, found.sbuf), (Space.PSUM, found.psum)):
                await self._read_memory(space, memory)
        else:
            await self._pulse(self.dut.image_dump)
            for name, row_bytes in ROW_BYTES_OF.items():
                image = read_image(Path(f"{name}.out"), lanes=LANES, row_bytes=row_bytes)
                getattr(found, name)[:] = image
        found.lane_state = await self.host.read_lane_state()
        found.parameter_ram = await self.host.read_parameter_ram()
        found.registers = await self.registers.read_all()
        found.control = await self.host.read_control()
        return found

    async def _read_memory(self, space, memory):
        words = range(self.words(space))
        places = [(space, row, word) for row in range(ROWS) for word in words]
        for (_, row, word), data in zip(places, await self.host.read(places), strict=True):
            memory[row * LANES : (row + 1) * LANES, 8 * word : 8 * word + 8] = np.frombuffer(
                data, np.uint8
            ).reshape(LANES, 8)

    async def run(self, program):
        """Run on both sides; every instruction is legal."""
        cocotb.start_soon(self.records.send(program))
        for completion in self.expected.run(program):
            assert (await self.completions.receive()).reason == completion.reason == 0

    async def check(self, *, by_host=False):
        found = differences(await self.state(by_host=by_host), self.expected, limit=4)
        assert not found, "; ".join(map(str, found))


def inverted(values):
    return (~values.view(np.uint32)).view(np.float32)


def back_prop(src0, src1, dst, *, elements, channels=128):
    fields = {
        "in0_in1_dtype.lo": Dtype.FP32,
        "in0_in1_dtype.hi": Dtype.FP32,
        "out_dtype": Dtype.FP32,
        "num_active_channels": channels,
    }
    for name, address in (("src0", src0), ("src1", src1), ("dst", dst)):
        fields |= {
            f"{name}.start_addr": address,
            f"{name}.step_elem": (1, 0, 0),
            f"{name}.num_elem": (elements, 1, 1),
        }
    return encode(Opcode.BATCH_NORM_BACK_PROP, fields)


def grad_accumulate(src0, src1, dst, *, elements):
    return encode(
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2,
        {
            "in0_in1_dtype.lo": Dtype.FP32,
            "in0_in1_dtype.hi": Dtype.FP32,
            "immediate_out_dtype.lo": Dtype.FP32,
            "immediate_out_dtype.hi": Dtype.FP32,
            "imm0_imm1_src.lo": ImmSrc.POINTER,
            "imm0_imm1_src.hi": ImmSrc.POINTER,
            "imm0": src0,
            "imm1": src1,
            "num_active_channels": 128,
            "src0.start_addr": src0,
            "src0.step_elem": (1, 0, 0),
            "src0.num_elem": (elements, 1, 1),
            "src1.start_addr": src1,
            "src1.step_elem": (1, 0, 0),
            "src1.num_elem": (elements, 1, 1),
            "dst.start_addr": dst,
            "dst.step_elem": (1,),
            "dst.num_elem": (3,),
        },
    )


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
@cocotb.parametrize(share=[0.0, 0.1])
async def a_state_written_is_read_back(dut, share):
    rng = np.random.default_rng(11)
    bench = Bench(dut, share=share)
    await bench.start()
    state = random_state(rng, CONFIG, special=0.2)
    state.registers[:] = rng.integers(0, 1 << 32, REGISTERS, np.uint32)
    state.control[:] = (8, 1, 0, 1, 1, 0, 1)
    await bench.fill(state, by_host=True)
    await bench.check()
    await bench.check(by_host=True)


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
async def only_enabled_bytes_are_written(dut):
    rng, choices = np.random.default_rng(12), random.Random(12)
    bench = Bench(dut)
    await bench.start()
    await bench.fill(random_state(rng, CONFIG, special=0.0))
    for _ in range(600):
        space = choices.choice((Space.SBUF, Space.PSUM))
        row, word = choices.randrange(ROWS), choices.randrange(bench.words(space))
        data = rng.integers(0, 256, (LANES, 8), np.uint8)
        enable = choices.choice(
            (0, 1 << choices.randrange(ROW_BYTES), choices.getrandbits(ROW_BYTES))
        )
        await bench.write(space, row, word, data, enable)
        if choices.random() < 0.3:  # a read right behind the write sees it
            (seen,) = await bench.host.read([(space, row, word)])
            assert seen == bench.view(space, row, word).tobytes()
    await bench.check()


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
async def only_enabled_lanes_take_state(dut):
    rng, choices = np.random.default_rng(13), random.Random(13)
    bench = Bench(dut)
    await bench.start()
    await bench.fill(random_state(rng, CONFIG, special=0.1))
    state = bench.expected.lane_state.view(np.uint32)
    for _ in range(200):
        row, field = choices.randrange(ROWS), choices.randrange(FIELDS)
        lanes = choices.getrandbits(LANES)
        values = random_words(rng, (LANES,), special=0.1)
        enable = sum(1 << 8 * lane for lane in range(LANES) if lanes >> lane & 1)
        await bench.host.write(Space.STATE, row, field, values.astype("<u8").tobytes(), enable)
        for lane in range(LANES):
            if lanes >> lane & 1:
                state[row * LANES + lane, field] = values[lane]
    await bench.check()
    # The reciprocal that belongs to each N, not only N itself, follows the writes.
    await bench.run(back_prop(0x000, 0x100, 0x200, elements=2))
    await bench.check()


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
async def a_written_count_decides_the_prefactor(dut):
    """d_x = A * recip(N) * (N * dy) with A, dy = 1 where everything else is 0."""
    counts = np.array([1, 3, 255, 256, -4, 2.5, 1e-40, 3e38, 0.0, np.inf, 7, 1000], np.float32)
    bench = Bench(dut)
    await bench.start()
    state = ArchState.reset(CONFIG)
    state.lane_state[:, 0] = np.resize(counts, 128)
    state.lane_state[:, 2] = 1.0
    state.sbuf[:, 0x100:0x104] = np.frombuffer(np.float32(1).tobytes(), np.uint8)
    await bench.fill(state)
    program = back_prop(0x000, 0x100, 0x200, elements=1)
    await bench.run(program)
    await bench.check()
    # Written again: the entry of the Parameter RAM, and another N.
    bench.expected.parameter_ram[3] = np.float32(0.5)
    await bench.host.write_parameter_ram(bench.expected.parameter_ram, held=reset_parameter_ram())
    bench.expected.lane_state[7, 0] = np.float32(12.5)
    await bench.host.write_lane_state(bench.expected.lane_state, held=state.lane_state)
    await bench.run(program)
    found = await bench.state()
    result = found.sbuf[:, 0x200:0x204].copy().view(np.float32)[:, 0]
    assert result[1] == 1.5  # N = 3: 3 * 0.5
    assert result[7] == 1.0  # N = 12.5: 12.5 * fl(0.08) is 1 after rounding
    await bench.check()


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
@cocotb.parametrize(share=[0.0, 0.3])
async def traffic_beside_execution(dut, share):
    """The host works on bytes that no instruction touches; neither side notices the other."""
    rng, choices = np.random.default_rng(14), random.Random(14)
    bench = Bench(dut, share=share)
    await bench.start()
    await bench.fill(random_state(rng, CONFIG, special=0.02))
    program = 4 * b"".join(
        (
            back_prop(0x000, 0x100, 0x200, elements=64),
            back_prop(0x000, PSUM, PSUM + 0x80, elements=32),
            back_prop(0x200, 0x240, 0x220, elements=8),  # overlaps: one element at a time
            grad_accumulate(0x000, PSUM, 0x2C0, elements=32),
            grad_accumulate(0x100, 0x200, PSUM + 0xA0, elements=48),
        )
    )
    free = {Space.SBUF: range(0x300 // 8, 128), Space.PSUM: range(0x100 // 8, 64)}
    accesses = {"write": 0, "read": 0, "state": 0}
    completed = []

    async def execute():
        cocotb.start_soon(bench.records.send(program))
        for _ in range(len(program) // 64):
            completed.append(await bench.completions.receive())

    def place():
        space = choices.choice((Space.SBUF, Space.PSUM))
        return space, choices.randrange(ROWS), choices.choice(free[space])

    execution = cocotb.start_soon(execute())
    while len(completed) < len(program) // 64:
        kind = choices.choices(tuple(accesses), (40, 40, 1))[0]
        accesses[kind] += 1
        if kind == "write":
            data = rng.integers(0, 256, (LANES, 8), np.uint8)
            await bench.write(*place(), data, choices.getrandbits(ROW_BYTES))
        elif kind == "read":
            places = [place() for _ in range(choices.randint(1, 6))]
            for at, seen in zip(places, await bench.host.read(places), strict=True):
                assert seen == bench.view(*at).tobytes(), at
        else:  # waits for the end of an instruction
            row, field = choices.randrange(ROWS), choices.randrange(FIELDS)
            (seen,) = await bench.host.read([(Space.STATE, row, field)])
            held = bench.expected.lane_state.view(np.uint32)[row * LANES : (row + 1) * LANES, field]
            assert (np.frombuffer(seen, "<u4")[::2] == held).all(), (row, field)
    await execution
    assert accesses["write"] > 50, accesses
    assert accesses["read"] > 50, accesses
    assert accesses["state"] > 1, accesses
    assert [completion.reason for completion in completed] == [0] * len(completed)
    bench.expected.run(program)  # the free bytes take no part in it
    await bench.check()


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
async def lane_state_is_served_between_two_instructions(dut):
    """However many instructions wait, none begins before a request that came first is served."""
    bench = Bench(dut)
    await bench.start()
    await bench.fill(random_state(np.random.default_rng(16), CONFIG, special=0.02))
    program = 12 * back_prop(0x000, 0x100, 0x200, elements=16)
    completed = []

    async def execute():
        cocotb.start_soon(bench.records.send(program))
        for _ in range(len(program) // 64):
            completed.append(await bench.completions.receive())

    execution = cocotb.start_soon(execute())
    while not completed:
        await RisingEdge(dut.clk)
    # Reads take two clocks each: without the request's claim, instructions would slip in between.
    fields = [(Space.STATE, 0, field) for field in range(FIELDS)]
    for (_, _, field), seen in zip(fields, await bench.host.read(fields), strict=True):
        held = bench.expected.lane_state.view(np.uint32)[:LANES, field]
        words = np.frombuffer(seen, "<u4")
        assert (words[::2] == held).all(), field
        assert not words[1::2].any(), field
    assert len(completed) <= 3, "the one that runs, and one whose completion is on its way"
    await execution
    bench.expected.run(program)
    await bench.check()


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
async def a_control_value_counts_from_the_next_instruction_on(dut):
    """Written while one executes, whose results it must not change half way."""
    bench = Bench(dut)
    await bench.start()
    await bench.fill(random_state(np.random.default_rng(17), CONFIG, special=0.02))
    text = "tensor_tensor channels=128 op=bypass src0=sbuf[0:0x0]:fp32:64 src1=sbuf[0:0x0]:fp32:64"
    before, after = (assemble(f"{text} dst=sbuf[0:{at}]:int8:64") for at in (0x200, 0x240))
    cocotb.start_soon(bench.records.send(before + after))
    await ClockCycles(dut.clk, 60)  # the first one executes, for 2048 clocks
    rounding = CONTROL_WORDS.index("integer_rounding")
    await bench.host.write(Space.CONTROL, 0, rounding, (1).to_bytes(ROW_BYTES, "little"))
    bench.expected.execute(before)
    bench.expected.control[rounding] = 1
    bench.expected.execute(after)
    for _ in range(2):
        assert (await bench.completions.receive()).reason == 0
    assert (bench.expected.sbuf[:, 0x200:0x240] != bench.expected.sbuf[:, 0x240:0x280]).any()
    await bench.check()


@cocotb.test(timeout_time=10_000_000, timeout_unit="step")
async def registers_are_read_in_order_under_back_pressure(dut):
    rng = np.random.default_rng(15)
    bench = Bench(dut, share=0.7)
    await bench.start()
    values = rng.integers(0, 1 << 32, REGISTERS, np.uint32)
    for index in rng.permutation(REGISTERS):
        await bench.registers.write(int(index), int(values[index]))
    for index in rng.permutation(REGISTERS):
        assert await bench.registers.read(int(index)) == values[index]
