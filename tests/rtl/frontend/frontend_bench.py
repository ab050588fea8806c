"""Records and simulation shared by the tests of the front end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from dve_cosim.reference import geometry_of
from dve_golden.frontend.legality import validate as golden_validate
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import REGISTERS, Dtype, Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import format_instruction
from dve_rtl.config import EngineConfig
from dve_rtl.frontend.gather import GatheredRecord
from dve_rtl.frontend.validate import Validator
from dve_rtl.payloads import Operation
from numpy.typing import NDArray

GA = Opcode.BATCH_NORM_GRAD_ACCUMULATE
GA2 = Opcode.BATCH_NORM_GRAD_ACCUMULATE2
PL = Opcode.BATCH_NORM_PARAM_LOAD
PL2 = Opcode.BATCH_NORM_PARAM_LOAD2
PRAM = Opcode.LOAD_PARAMETER_RAM
BP = Opcode.BATCH_NORM_BACK_PROP
TT = Opcode.TENSOR_TENSOR_ARITH_OP
BITVEC = Opcode.TENSOR_TENSOR_BITVEC_OP
COPY = Opcode.COPY_PREDICATED
CAST = Opcode.CAST_PREDICATED

TENSOR_TENSOR_FAMILY = (BP, TT, BITVEC, COPY, CAST)
"""Opcodes of the struct S3S3D3_TT that every generation has."""

BF16_OPERATORS = {
    Opcode.TENSOR_TENSOR_ADD_BF16: 0x04,
    Opcode.TENSOR_TENSOR_MULT_BF16: 0x06,
    Opcode.TENSOR_TENSOR_SUB_BF16: 0x05,
}
"""Those of sunda, with the operator byte that each demands (isa_common.md 5.7)."""


def whole(generation: Generation) -> EngineConfig:
    """An engine with all the memory that the generation has; the front end alone is cheap."""
    sbuf_bytes = 1 << (20 if generation is Generation.MAVERICK else 18)
    return EngineConfig(sbuf_bytes=sbuf_bytes, psum_bytes=1 << 14, generation=generation)


CAYMAN = whole(Generation.CAYMAN)
"""0x38000 active bytes of SBUF and 0x4000 of PSUM."""

FP32, FP16, BF16 = int(Dtype.FP32), int(Dtype.FP16), int(Dtype.BF16)
INT32 = int(Dtype.INT32)
PSUM = 0x0200_0000
QUADRANT = 0x0080_0000
"""Address distance of two SBUF quadrants."""

Fields = Mapping[str, int | tuple[int, ...] | bytes]

_PATTERN_3D = {"step_elem": (1, 1, 1), "num_elem": (512, 1, 1)}


def _pattern(name: str, **members) -> dict:
    return {f"{name}.{member}": value for member, value in members.items()}


_GRAD_ACCUMULATE = {
    **_pattern("src0", start_addr=0x0000, **_PATTERN_3D),
    **_pattern("src1", start_addr=0x0800, **_PATTERN_3D),
    **_pattern("dst", start_addr=0x1000, step_elem=(1,), num_elem=(3,)),
    "in0_in1_dtype.lo": FP32,
    "in0_in1_dtype.hi": FP32,
    "imm0": 0x2000,
    "imm1": 0x2004,
    "num_active_channels": 128,
}

_TENSOR_TENSOR = {
    **_pattern("src0", start_addr=0x0000, **_PATTERN_3D),
    **_pattern("src1", start_addr=0x0800, **_PATTERN_3D),
    **_pattern("dst", start_addr=0x1000, **_PATTERN_3D),
    "num_active_channels": 128,
}


def _types(src0: int, src1: int, dst: int) -> dict:
    return {"in0_in1_dtype.lo": src0, "in0_in1_dtype.hi": src1, "out_dtype": dst}


_EVEN_STEPS = {f"{name}.step_elem": (1, 2, 2) for name in ("src0", "src1")}

LEGAL: dict[Opcode, Fields] = {
    GA: {**_GRAD_ACCUMULATE, "immediate_dtype": FP32, "out_dtype": FP32},
    GA2: {
        **_GRAD_ACCUMULATE,
        "immediate_out_dtype.lo": FP32,
        "immediate_out_dtype.hi": FP32,
        "imm0_imm1_src.lo": 1,
        "imm0_imm1_src.hi": 1,
    },
    PL: {
        **_pattern("src", start_addr=0x100, step_elem=(1, 1), num_elem=(3, 1)),
        "imm1": 0x4500_0000,  # 2048.0
        "dtype": FP32,
        "num_active_channels": 128,
        "imm0": 0x2000,
        "imm0_src": 1,
    },
    PL2: {
        **_pattern("src", start_addr=0x100, step_elem=(1, 1), num_elem=(2, 1)),
        "element_count": 0x4500_0000,
        "src_dtype": FP32,
        "immediate_dtype": FP32,
        "num_active_channels": 128,
        "imm0": 0x2000,
        "imm1": 0x2004,
        "imm0_src": 1,
        "imm1_src": 1,
    },
    PRAM: {"addr": 0x400, "first_entry": 0, "entry_count": 256, "dtype": FP32},
    BP: {**_TENSOR_TENSOR, **_types(FP32, FP32, FP32)},
    TT: {**_TENSOR_TENSOR, **_types(FP32, FP32, FP32), "op": 0x04},
    BITVEC: {**_TENSOR_TENSOR, **_types(INT32, INT32, INT32), "op": 0x0A},
    COPY: {**_TENSOR_TENSOR, **_types(INT32, FP32, FP32)},
    CAST: {**_TENSOR_TENSOR, **_types(INT32, FP32, FP32)},
    **{
        opcode: {**_TENSOR_TENSOR, **_EVEN_STEPS, **_types(BF16, BF16, FP32), "op": op}
        for opcode, op in BF16_OPERATORS.items()
    },
    Opcode.EVENT_SEMAPHORE: {},
    Opcode.NOP: {},
}
"""A legal instruction of every opcode, from which the cases differ in a field or two."""


def record(opcode: Opcode, **changes) -> bytes:
    """A legal record with some fields changed; ``__`` in a keyword stands for the dot."""
    renamed = {name.replace("__", "."): value for name, value in changes.items()}
    return encode(opcode, {**LEGAL[opcode], **renamed})


def elements(start: int, step: Sequence[int], num: Sequence[int]) -> list[int]:
    """First byte of every ordinal; steps are in bytes, index 0 is innermost."""
    ranges = [range(n) for n in reversed(num)]
    return [
        start + sum(i * s for i, s in zip(reversed(index), step, strict=True))
        for index in product(*ranges)
    ]


def touches(
    source: Sequence[int], source_bytes: int, result: Sequence[int], result_bytes: int
) -> bool:
    """Whether some ordinal writes a byte that a later one reads."""
    writer: dict[int, int] = {}
    for ordinal, (read, written) in enumerate(zip(source, result, strict=True)):
        if any(byte in writer for byte in range(read, read + source_bytes)):
            return True
        writer.update(dict.fromkeys(range(written, written + result_bytes), ordinal))
    return False


@dataclass
class Result:
    """What left the validator."""

    operations: list = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)
    """Clock in which each operation was seen first."""


class ValidatorWithRegisters(wiring.Component):
    """The validator with a constant register file."""

    i: In(stream.Signature(GatheredRecord))
    o: Out(stream.Signature(Operation))

    def __init__(self, config: EngineConfig, registers: Mapping[int, int]):
        self.config = config
        self.registers = registers
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.validator = validator = Validator(self.config)
        wiring.connect(m, wiring.flipped(self.i), validator.i)
        wiring.connect(m, validator.o, wiring.flipped(self.o))
        values = Array(Const(self.registers.get(index, 0), 32) for index in range(REGISTERS))
        m.d.comb += validator.register_value.eq(values[validator.register_index])
        return m


class ValidatorBench:
    """A simulation of the validator, run again for every program: elaboration takes longest."""

    def __init__(self, config: EngineConfig, registers: Mapping[int, int]):
        self.dut = ValidatorWithRegisters(config, registers)
        self.result = Result()
        self.fresh = True
        self.sim = Simulator(self.dut)
        self.sim.add_clock(1e-8)
        self.sim.add_testbench(self.feed)
        self.sim.add_testbench(self.drain)

    def run(self, records: Sequence[bytes], gaps: Sequence[int], stalls: Sequence[int]) -> Result:
        self.records, self.gaps, self.stalls = records, gaps, stalls
        self.result = Result()
        if not self.fresh:
            self.sim.reset()
        self.fresh = False
        self.sim.run()
        assert len(self.result.operations) == len(records)
        return self.result

    async def feed(self, ctx):
        i = self.dut.i
        for index, data in enumerate(self.records):
            if gap := self.gaps[index % len(self.gaps)]:
                await ctx.tick().repeat(gap)
            word = int.from_bytes(data, "little")
            ctx.set(i.payload, {"record": word, "accepted_at": index})
            ctx.set(i.valid, 1)
            await ctx.tick().until(i.ready)
            ctx.set(i.valid, 0)

    async def drain(self, ctx):
        o = self.dut.o
        limit = 40 * (len(self.records) + sum(self.gaps) + 2)
        cycle = 0
        for index in range(len(self.records)):
            while not ctx.get(o.valid):
                await ctx.tick()
                cycle += 1
                assert cycle < limit, "an operation never arrived"
            first_seen = ctx.get(o.payload.as_value())
            self.result.cycles.append(cycle)
            for _ in range(self.stalls[index % len(self.stalls)]):
                await ctx.tick()
                cycle += 1
                assert ctx.get(o.valid), "valid withdrawn"
                assert ctx.get(o.payload.as_value()) == first_seen, "payload changed"
            self.result.operations.append(ctx.get(o.payload))
            ctx.set(o.ready, 1)
            await ctx.tick()
            cycle += 1
            ctx.set(o.ready, 0)


@cache
def _bench(config: EngineConfig, registers: tuple[tuple[int, int], ...]) -> ValidatorBench:
    return ValidatorBench(config, dict(registers))


def validate(
    records: Sequence[bytes],
    *,
    registers: Mapping[int, int] | None = None,
    config: EngineConfig = CAYMAN,
    gaps: Sequence[int] = (0,),
    stalls: Sequence[int] = (0,),
) -> Result:
    """Run records through the validator.

    ``gaps`` and ``stalls`` are clocks to wait before each record is offered and before each
    operation is taken, repeated as often as needed. ``accepted_at`` of record n is n.
    """
    bench = _bench(config, tuple(sorted((registers or {}).items())))
    return bench.run(records, gaps, stalls)


def agreed_reasons(
    records: Sequence[bytes], registers: NDArray[np.uint32], config: EngineConfig
) -> list[Reason]:
    """Reasons of the records, on which the validator and the golden model must agree."""
    result = validate(records, registers=dict(enumerate(map(int, registers))), config=config)
    geometry = geometry_of(config)
    reasons = []
    for data, operation in zip(records, result.operations, strict=True):
        verdict = golden_validate(data, registers=registers, geometry=geometry)
        assert operation.reason == verdict.reason, format_instruction(data, config.generation)
        reasons.append(verdict.reason)
    return reasons
