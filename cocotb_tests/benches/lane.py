"""Bench of one lane alone, its control driven clock by clock; SoftFloat says what comes out."""

from collections import defaultdict
from functools import reduce

import cocotb
import numpy as np
import softfloatpy as softfloat
from benches.configs import LANE as CONFIG
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from dve_cosim.workloads import random_words
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_rtl.lane_orders import LOAD_LATENCY, HostField, LaneProgram, Result, control_layout
from dve_rtl.lane_program import BACK_PROP, GRAD_ACCUMULATE, PREPARE, Schedule

LAYOUT = control_layout(CONFIG)
SCHEDULE = Schedule(CONFIG)
ARRIVAL = LOAD_LATENCY + CONFIG.widen_latency
PORTS = ("state_enable", "store_enable", "host_data", "host_bytes")
PARTIALS = 8
NAN = 0x7FC00000


def operation(function):
    """A SoftFloat function on binary32 patterns, with the one NaN of the engine."""

    def apply(a, b):
        result = function(
            softfloat.Float32.from_bytes(a.to_bytes(4, "big")),
            softfloat.Float32.from_bytes(b.to_bytes(4, "big")),
        )
        return canonical(int.from_bytes(result.to_bytes(), "big"))

    return apply


def canonical(bits):
    return NAN if bits & 0x7FFFFFFF > 0x7F800000 else bits


add, sub, mul = (
    operation(function) for function in (softfloat.f32_add, softfloat.f32_sub, softfloat.f32_mul)
)


def widened(bits, dtype):
    if dtype is Dtype.BF16:
        return canonical(bits << 16)
    if dtype is Dtype.FP16:
        half = softfloat.Float16.from_bytes(bits.to_bytes(2, "big"))
        return canonical(int.from_bytes(softfloat.f16_to_f32(half).to_bytes(), "big"))
    return canonical(bits)


def narrowed(bits, dtype):
    if dtype is Dtype.FP32:
        return canonical(bits)
    assert dtype is Dtype.BF16
    if canonical(bits) == NAN:
        return NAN >> 16
    rest = bits & 0xFFFF  # nearest, ties to even; the carry runs into the exponent as it should
    return (bits >> 16) + (rest > 0x8000 or (rest == 0x8000 and bits >> 16 & 1))


def fold(values):
    """Eight partial sums, then pairs (batchnorm.md section 8)."""
    sums = [reduce(add, values[first::PARTIALS], 0) for first in range(PARTIALS)]
    while len(sums) > 1:
        sums = [add(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


class Bench:
    """A lane whose inputs are planned ahead: clock to field to value."""

    def __init__(self, dut, program, *, group=0, immediates=False):
        self.dut = dut
        self.group = group
        self.constant = {
            "program": program,
            "immediates": int(immediates),
            "operator": {"subtract": 1},  # of an instruction without an operator
            "groups": dict.fromkeys(dict(iter(LAYOUT["groups"].shape)), group),
        }
        self.plan = defaultdict(dict)
        self.clock = 0

    async def start(self):
        dut = self.dut
        dut.rst.value = 1
        Clock(dut.clk, 10, unit="step").start(start_high=False)
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0

    async def tick(self):
        """One clock; afterwards outputs show their values in it."""
        fields = self.plan.pop(self.clock, {})
        for name in PORTS:
            getattr(self.dut, name).value = fields.pop(name, 0)
        control = LAYOUT.const(self.constant | fields)
        self.dut.control.value = control.as_bits()
        await RisingEdge(self.dut.clk)
        self.clock += 1

    async def run_plan(self):
        while self.plan:
            await self.tick()

    async def write(self, address, word):
        """A host write of one SBUF word."""
        self.plan[self.clock] = {
            "sbuf_write": 1,
            "sbuf_write_address": address,
            "store_from_host": 1,
            "host_data": word,
            "host_bytes": 0xFF,
        }
        await self.tick()

    async def read(self, address):
        """One SBUF word, as the host sees it."""
        self.plan[self.clock]["sbuf_read0"] = address
        self.plan[self.clock + 1]["host_field"] = HostField.SBUF
        await self.tick()
        await self.tick()
        return self.dut.host_word.value.to_unsigned()

    async def store(self, address, values, dtype):
        """Elements into consecutive bytes from word ``address``."""
        size = DTYPE_BYTES[dtype]
        data = b"".join(value.to_bytes(size, "little") for value in values)
        data += bytes(-len(data) % 8)
        for at in range(0, len(data), 8):
            await self.write(address + at // 8, int.from_bytes(data[at : at + 8], "little"))

    async def load(self, address, count, dtype):
        """Elements from consecutive bytes."""
        size = DTYPE_BYTES[dtype]
        words = [await self.read(address + at) for at in range(-(-count * size // 8))]
        data = b"".join(word.to_bytes(8, "little") for word in words)
        return [int.from_bytes(data[i * size : (i + 1) * size], "little") for i in range(count)]

    def issue(self, clock, port, address, index, dtype):
        """Plan the read of an element that widening delivers ``ARRIVAL`` clocks later."""
        byte = index * DTYPE_BYTES[dtype]
        self.plan[clock][f"sbuf_read{port}"] = address + byte // 8
        self.plan[clock + 1][f"load{port}"] = {"psum": 0, "byte": byte % 8, "dtype": dtype}
        self.plan[clock + 2][f"widen{port}"] = dtype

    def result(self, clock, which, address, index, dtype, *, enable=1):
        """Plan the narrowing of a result, and its write."""
        byte = index * DTYPE_BYTES[dtype]
        self.plan[clock] |= {"result": which, "narrow": dtype}
        self.plan[clock + CONFIG.narrow_latency] |= {
            "store_log2_bytes": DTYPE_BYTES[dtype].bit_length() - 1,
            "store_byte": byte % 8,
            "sbuf_write": 1,
            "sbuf_write_address": address + byte // 8,
            "store_enable": enable,
        }

    def set_state(self, clock, name, value, *, enable=1):
        """Plan a host write of one parameter of the lane state."""
        self.plan[clock] |= {
            "value_from_host": 1,
            f"write_{name}": 1,
            "write_group": self.group,
            "host_data": value,
            "state_enable": enable,
        }

    async def set_count(self, count, reciprocal):
        self.plan[self.clock] = {
            "write_n": 1,
            "write_group": self.group,
            "n_value": count,
            "recip_value": reciprocal,
            "state_enable": 1,
        }
        await self.tick()


def words(rng, count):
    return [int(word) for word in random_words(rng, (count,), special=0.02)]


@cocotb.test(timeout_time=1_000_000, timeout_unit="step")
@cocotb.parametrize(
    count=[1, 2, 7, 8, 9, 40],
    dtypes=[(Dtype.FP32, Dtype.FP32, Dtype.FP32), (Dtype.FP16, Dtype.BF16, Dtype.BF16)],
)
async def sums_of_a_pass(dut, count, dtypes):
    dtype0, dtype1, out = dtypes
    rng = np.random.default_rng([count, out])
    source0 = [word & (1 << 8 * DTYPE_BYTES[dtype0]) - 1 for word in words(rng, count)]
    source1 = [word & (1 << 8 * DTYPE_BYTES[dtype1]) - 1 for word in words(rng, count)]
    mean, scale = (int(np.float32(value).view(np.uint32)) for value in rng.standard_normal(2))
    bench = Bench(dut, LaneProgram.GRAD_ACCUMULATE, group=2, immediates=True)
    await bench.start()
    await bench.store(0x00, source0, dtype0)
    await bench.store(0x40, source1, dtype1)
    await bench.store(0x80, [mean, scale], Dtype.FP32)
    await bench.write(0x90, 0)
    await bench.write(0x91, 0)

    start = bench.clock
    for index, name in enumerate(("mean", "scale")):  # immediates come as elements
        bench.issue(start + index, 0, 0x80, index, Dtype.FP32)
        bench.plan[start + index + ARRIVAL] |= {
            f"write_{name}": 1,
            "write_bank": 1,
            "write_group": bench.group,
            "state_enable": 1,
        }
    first = start + 8
    for index in range(count):
        bench.issue(first + index, 0, 0x00, index, dtype0)
        bench.issue(first + index, 1, 0x40, index, dtype1)
        at = first + index + ARRIVAL + SCHEDULE.start(GRAD_ACCUMULATE, "acc0")
        bench.plan[at] |= {"sum_valid": 1, "sum_last": int(index == count - 1)}
    await bench.run_plan()
    for _ in range(100):
        if dut.sums_valid.value:
            break
        await bench.tick()
    else:
        raise AssertionError("no sums")
    for index, which in enumerate((Result.SUM0, Result.SUM1, Result.SUM2)):
        bench.result(bench.clock + index, which, 0x90, index, out)
    await bench.run_plan()

    om, dy = ([widened(v, d) for v in s] for s, d in ((source0, dtype0), (source1, dtype1)))
    normalised = [mul(sub(value, mean), scale) for value in om]
    products = [mul(a, b) for a, b in zip(dy, normalised, strict=True)]
    expected = [narrowed(fold(values), out) for values in (dy, products, normalised)]
    got = await bench.load(0x90, 3, out)
    assert [f"{v:08x}" for v in got] == [f"{v:08x}" for v in expected]


@cocotb.test(timeout_time=1_000_000, timeout_unit="step")
async def elements_of_back_prop(dut):
    rng = np.random.default_rng(21)
    count = 60
    source0, source1 = words(rng, count), words(rng, count)
    mean, scale, a, b, n, general = words(rng, 6)
    n = int(np.float32(300).view(np.uint32))  # not in the Parameter RAM: the general reciprocal
    bench = Bench(dut, LaneProgram.BACK_PROP, group=1)
    await bench.start()
    await bench.store(0x00, source0, Dtype.FP32)
    await bench.store(0x40, source1, Dtype.FP32)
    await bench.set_count(n, general)
    for name, value in (("mean", mean), ("scale", scale), ("a", a), ("b", b)):
        bench.set_state(bench.clock, name, value)
        await bench.tick()

    prefactor = bench.clock + 4
    bench.plan[prefactor]["prepare"] = 1
    bench.plan[prefactor + CONFIG.mul_latency] |= {
        "write_prefactor": 1,
        "prefactor_group": bench.group,
    }
    first = prefactor + CONFIG.mul_latency + 2
    assert SCHEDULE.start(PREPARE, "mul2") == SCHEDULE.start(BACK_PROP, "mul2")
    for index in range(count):
        bench.issue(first + index, 0, 0x00, index, Dtype.FP32)
        bench.issue(first + index, 1, 0x40, index, Dtype.FP32)
        arrived = first + index + ARRIVAL + SCHEDULE.result(BACK_PROP)
        bench.result(arrived, Result.BACK_PROP, 0x60, index, Dtype.FP32)
    await bench.run_plan()

    expected = []
    for x, dy in zip(source0, source1, strict=True):
        t3 = mul(sub(canonical(x), mean), scale)
        t2 = sub(mul(n, canonical(dy)), b)
        expected.append(mul(mul(a, general), sub(t2, t3)))
    got = await bench.load(0x60, count, Dtype.FP32)
    assert [f"{v:08x}" for v in got] == [f"{v:08x}" for v in expected]


@cocotb.test(timeout_time=1_000_000, timeout_unit="step")
async def a_lane_that_takes_no_part_writes_nothing(dut):
    bench = Bench(dut, LaneProgram.BACK_PROP, group=3)
    await bench.start()
    await bench.write(0x70, 0x1122334455667788)
    bench.set_state(bench.clock, "a", 0x3F800000)
    await bench.tick()
    bench.set_state(bench.clock, "a", 0x40000000, enable=0)
    await bench.tick()
    bench.result(bench.clock, Result.BACK_PROP, 0x70, 0, Dtype.FP32, enable=0)
    await bench.run_plan()
    assert await bench.read(0x70) == 0x1122334455667788
    bench.plan[bench.clock + 1]["host_field"] = HostField.A
    await bench.run_plan()
    assert dut.host_word.value.to_unsigned() == 0x3F800000
