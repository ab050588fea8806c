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
from dve_golden.isa.operators import AluOp
from dve_rtl.alu import arith
from dve_rtl.alu.bitvec import Function
from dve_rtl.lane_orders import LOAD_LATENCY, HostField, LaneProgram, Result, control_layout
from dve_rtl.lane_program import (
    BACK_PROP,
    GRAD_ACCUMULATE,
    POOL,
    PREPARE,
    SPREAD,
    WEIGH,
    Schedule,
)

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

    def __init__(self, dut, program, *, group=0, immediates=False, **constant):
        self.dut = dut
        self.group = group
        self.constant = {
            "program": program,
            "immediates": int(immediates),
            "operator": {"subtract": 1},
            **constant,
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

    async def sums(self):
        """Run the plan, and on to the clock in which sums are there."""
        await self.run_plan()
        for _ in range(100):
            if self.dut.sums_valid.value:
                return
            await self.tick()
        raise AssertionError("no sums")

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

    def raw_result(self, clock, address, index, dtype):
        """Plan the write of what was loaded by the read of ``clock``."""
        byte = index * DTYPE_BYTES[dtype]
        self.plan[clock + LOAD_LATENCY + SCHEDULE.bitvec_latency] |= {
            "store_log2_bytes": DTYPE_BYTES[dtype].bit_length() - 1,
            "store_byte": byte % 8,
            "sbuf_write": 1,
            "sbuf_write_address": address + byte // 8,
            "store_enable": 1,
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
    await bench.sums()
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
@cocotb.parametrize(tuples=[1, 3, 8, 20], tabulated=[False, True])
async def both_sweeps_of_tuples(dut, tuples, tabulated):
    """Counts are one number, or any; so the reciprocal comes from the table or from outside."""
    rng = np.random.default_rng([31, tuples])
    elements = words(rng, 3 * tuples)
    if tabulated:
        elements[0::3] = tuples * [int(np.float32(5).view(np.uint32))]
    bench = Bench(dut, LaneProgram.WEIGH, group=3, immediates=True)
    await bench.start()
    await bench.store(0x00, elements, Dtype.FP32)
    await bench.write(0x60, 0)
    scratch = {"write_bank": 1, "write_group": bench.group, "state_enable": 1}

    async def sweep(program, table):
        bench.constant["program"] = program
        first = bench.clock
        for index in range(len(elements)):
            bench.issue(first + index, 0, 0x00, index, Dtype.FP32)
            bench.plan[first + index + ARRIVAL + SCHEDULE.start(table, "acc0")] |= {
                "sum_valid": 1,
                "sum_last": int(index == len(elements) - 1),
                "sum_blank": int(index % 3 != 0),
            }
        await bench.sums()

    counts, means, nvars = ([canonical(v) for v in elements[i::3]] for i in range(3))
    n = fold(counts)
    weighted = fold([mul(count, mean) for count, mean in zip(counts, means, strict=True)])
    await sweep(LaneProgram.WEIGH, WEIGH)
    bench.plan[bench.clock] |= {"write_n": 1, "write_mean": 1, "values_from_sums": 1} | scratch
    await bench.run_plan()
    for _ in range(3):
        await bench.tick()
    assert dut.count.value.to_unsigned() == n
    assert bool(dut.in_table.value) == tabulated
    general = int(np.float32(0.75).view(np.uint32))
    bench.plan[bench.clock] |= {"write_n": 1, "n_value": n, "recip_value": general} | scratch
    product = bench.clock + 4 + CONFIG.mul_latency
    bench.plan[product] |= {"write_mean": 1, "write_scale": 1, "value_from_product": 1} | scratch
    await bench.run_plan()
    share = int(np.float32(1 / (5 * tuples)).view(np.uint32)) if tabulated else general

    await sweep(LaneProgram.SPREAD, SPREAD)
    variance_at = bench.clock + SCHEDULE.result(POOL)
    bench.result(variance_at - 1, Result.MEAN, 0x60, 0, Dtype.FP32)
    bench.result(variance_at, Result.BACK_PROP, 0x60, 1, Dtype.FP32)
    await bench.run_plan()

    mean = mul(weighted, share)
    distances = [sub(value, mean) for value in means]
    spread = [mul(count, mul(d, d)) for count, d in zip(counts, distances, strict=True)]
    expected = [mean, mul(add(fold(nvars), fold(spread)), share)]
    got = await bench.load(0x60, 2, Dtype.FP32)
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


def absolute_difference(a, b):
    return sub(a, b) & 0x7FFFFFFF


def value(bits):
    return np.uint32(bits).view(np.float32)


OPERATORS = {
    "add": (Result.SUM, {}, add),
    "subtract": (Result.SUM, {"subtract": 1}, sub),
    "absolute difference": (Result.SUM, {"subtract": 1, "magnitude": 1}, absolute_difference),
    "multiply": (Result.PRODUCT, {}, mul),
    "square": (Result.PRODUCT, {"square": 1}, lambda a, b: mul(a, a)),
    "second": (Result.CHOICE, {"arith": arith.SECOND}, lambda a, b: b),
    "is less": (
        Result.CHOICE,
        {"arith": arith.OPERATORS[AluOp.IS_LT]},
        lambda a, b: 0x3F800000 * int(value(a) < value(b)),
    ),
}


@cocotb.test(timeout_time=1_000_000, timeout_unit="step")
@cocotb.parametrize(name=list(OPERATORS))
async def elements_of_operators(dut, name):
    """All come out in the same clock; one is written only where its predicate is true."""
    which, operator, function = OPERATORS[name]
    rng = np.random.default_rng(22)
    count = 60
    source0, source1 = words(rng, count), words(rng, count)
    source0[::7] = len(source0[::7]) * [0]
    predicated = name == "second"
    bench = Bench(dut, LaneProgram.TENSOR_TENSOR, operator=operator, predicated=int(predicated))
    await bench.start()
    await bench.store(0x00, source0, Dtype.FP32)
    await bench.store(0x40, source1, Dtype.FP32)
    await bench.store(0x60, count * [0x12345678], Dtype.FP32)
    first = bench.clock
    for index in range(count):
        for port, address in enumerate((0x00, 0x40)):
            bench.issue(first + index, port, address, index, Dtype.FP32)
        arrived = first + index + ARRIVAL + SCHEDULE.result(SCHEDULE.tensor_tensor)
        bench.result(arrived, which, 0x60, index, Dtype.FP32)
    await bench.run_plan()
    expected = [
        0x12345678 if predicated and not a else canonical(function(canonical(a), canonical(b)))
        for a, b in zip(source0, source1, strict=True)
    ]
    got = await bench.load(0x60, count, Dtype.FP32)
    assert [f"{v:08x}" for v in got] == [f"{v:08x}" for v in expected]


@cocotb.test(timeout_time=1_000_000, timeout_unit="step")
@cocotb.parametrize(predicated=[False, True])
async def raw_elements(dut, predicated):
    """Bits as they are in memory, signalling NaN too; beside them what a predicate holds back."""
    rng = np.random.default_rng(23)
    count = 60
    source0 = [int(bits) for bits in rng.integers(0, 3, count)]
    source1 = [int(bits) for bits in rng.integers(0, 1 << 16, count)]
    function = Function.SECOND if predicated else Function.XOR
    operator = {"bitvec": {"function": function, "log2_bytes": 1}}
    bench = Bench(
        dut,
        LaneProgram.TENSOR_TENSOR,
        raw=1,
        predicated=int(predicated),
        operator=operator,
    )
    await bench.start()
    await bench.store(0x00, source0, Dtype.UINT16)
    await bench.store(0x20, source1, Dtype.BF16)
    await bench.store(0x60, count * [0x1234], Dtype.BF16)
    first = bench.clock
    for index in range(count):
        bench.issue(first + index, 0, 0x00, index, Dtype.UINT16)
        bench.issue(first + index, 1, 0x20, index, Dtype.BF16)
        bench.raw_result(first + index, 0x60, index, Dtype.BF16)
    await bench.run_plan()
    expected = [
        (b if a else 0x1234) if predicated else a ^ b for a, b in zip(source0, source1, strict=True)
    ]
    assert await bench.load(0x60, count, Dtype.BF16) == expected


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
