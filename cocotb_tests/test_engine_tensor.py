"""The tensor-tensor family: random programs, and each kind of instruction behind every other."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from benches.configs import DEEP, GENERATIONS, SMALL
from dve_cosim.aliasing import Alias
from dve_cosim.coverage import features
from dve_cosim.operand_types import PAIRED
from dve_cosim.reference import geometry_of
from dve_cosim.scoreboard import first_failure, golden, rtl
from dve_cosim.session import run_batches
from dve_cosim.workloads import Workload, random_control, random_programs, random_state
from dve_golden.isa.enums import PLAIN_DTYPES, RESULT_DTYPES, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import GENERAL_ARITHMETIC, GENERAL_BITVECTOR
from dve_golden.isa.text import assemble

SUNDA = replace(SMALL[1], generation=Generation.SUNDA)
ENGINES = {
    "4 lanes": SMALL[4],
    "deep": DEEP,
    "sunda": SUNDA,
    "mariana": GENERATIONS[Generation.MARIANA],
}
SHARES_OF_SPECIALS = (0.0, 0.02, 0.3)
OP = 14
"""Byte of the operator."""


def compare(workload, config):
    """Fail with the smallest program on which the RTL and the golden machine differ."""
    failure = first_failure(
        workload.programs,
        workload.states,
        suspect=partial(rtl, config=config),
        reference=partial(golden, config=config),
    )
    if failure is not None:
        pytest.fail(f"{config}:\n{failure}", pytrace=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_random_programs(engine):
    config = ENGINES[engine]
    seed = 100 * list(ENGINES).index(engine)
    workload = Workload()
    for offset in range(9):
        special = SHARES_OF_SPECIALS[offset % 3]
        state, programs = random_programs(
            seed + offset, config, programs=3, instructions=32, special=special
        )
        state.control[:] = random_control(np.random.default_rng(seed + offset))
        workload.append(state, programs)
    seen = Counter(
        name
        for record, state in workload.records()
        for name in (
            (Opcode(record[0]), record[OP]),
            *features(record, state.registers, geometry_of(config)),
        )
    )
    arithmetic = GENERAL_ARITHMETIC[config.generation]
    assert {op for code, op in filter(is_pair, seen) if code == 0x41} == arithmetic
    assert {op for code, op in filter(is_pair, seen) if code == 0x51} == GENERAL_BITVECTOR
    family = {Opcode.COPY_PREDICATED, Opcode.CAST_PREDICATED}
    family |= set(PAIRED) if config.generation is Generation.SUNDA else set()
    expected = {opcode.name for opcode in family}
    expected |= {f"source {dtype.name}" for dtype in PLAIN_DTYPES}
    expected |= {f"destination {dtype.name}" for dtype in RESULT_DTYPES}
    if config is not ENGINES["mariana"]:  # operands hardly meet in a large memory
        expected |= {f"{name} {alias}" for name in ("src0", "src1") for alias in Alias}
    assert not expected - seen.keys()
    compare(workload, config)


def is_pair(name):
    return isinstance(name, tuple)


KINDS = (
    "tensor_tensor channels=5 op=max src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:bf16:4"
    " dst=sbuf[0:0x80]:int8:4",
    # Serial: each element is the next one's source.
    "tensor_tensor channels=9 op=subtract src0=sbuf[0:0x0]:fp32:6 src1=sbuf[0:0x40]:fp32:6"
    " dst=sbuf[0:0x44]:fp32:6",
    "tensor_tensor_bitvec channels=12 op=bitwise_xor src0=sbuf[0:0x80]:int8:3"
    " src1=psum[0:0x1]:int8:3 dst=sbuf[0:0xa0]:int8:3",
    "tensor_tensor_bitvec channels=3 op=logical_shift_right src0=sbuf[0:0x80]:uint16:7"
    " src1=sbuf[0:0x80]:uint16:7 dst=sbuf[0:0x82]:uint16:7",
    "copy_predicated channels=8 src0=sbuf[0:0xa0]:uint8:5 src1=sbuf[0:0x0]:fp32:5"
    " dst=psum[0:0x10]:fp32:5",
    "cast_predicated channels=8 src0=sbuf[0:0xa0]:int8:5 src1=psum[0:0x10]:fp32:5"
    " dst=sbuf[0:0xc0]:fp16:5",
    "cast_predicated channels=5 src0=sbuf[0:0xa0]:int8:1 src1=sbuf[0:0xc0]:fp16:1"
    " dst=sbuf[0:0xc4]:fp16:1",
    "back_prop channels=6 src0=sbuf[0:0x0]:fp32:3 src1=sbuf[0:0x40]:fp32:3 dst=sbuf[0:0x8]:bf16:3",
    "grad_accumulate2 channels=7 src0=sbuf[0:0x0]:fp32:5 src1=sbuf[0:0x40]:fp32:5"
    " dst=sbuf[0:0xe0]:fp32:3 imm0=sbuf[0:0x4] imm1=sbuf[0:0x8] imm_dtype=fp32",
    "param_load2 channels=9 src=sbuf[0:0xe0]:fp32:2 imm0=sbuf[0:0x20] imm1=sbuf[0:0x24]"
    " element_count=5.0 imm_dtype=fp32",
)
"""Paths of different length through the lanes; most read what another one writes."""


@pytest.mark.parametrize("engine", ["4 lanes", "deep"])
def test_each_kind_behind_every_other(engine):
    """An instruction ends with its own path: nothing of it gets into a longer one behind it."""
    config = ENGINES[engine]
    rng = np.random.default_rng(7)
    state = random_state(rng, config, special=0.0)
    state.control[:] = random_control(rng)
    kinds = [assemble(text) for text in KINDS]
    workload = Workload()
    workload.append(state, (b"".join(pair) for pair in product(kinds, repeat=2)))
    compare(workload, config)


PAIRS = (
    "tensor_tensor_add_bf16 channels=3 src0=sbuf[0:0x0]:bf16:24x1x1@1,2,2"
    " src1=sbuf[0:0x40]:bf16:24x1x1@1,2,2 dst="
)


@pytest.mark.parametrize(
    ("dst", "slots"),
    [
        ("sbuf[0:0x80]:bf16:8x3x1@1,10,1", 12),
        ("psum[0:0x10]:fp32:8x3x1@1,8,1", 12),
        ("sbuf[0:0x81]:int8:8x3x1@1,8,1", 24),  # no start for pairs
        ("sbuf[0:0x100]:fp32:24x1x1@-1,1,1", 24),
    ],
)
def test_a_pair_takes_as_long_as_an_element(dst, slots):
    (result,) = run_batches([2 * assemble(PAIRS + dst)], config=SUNDA)
    assert not result.reason.any()
    # One clock more than on cayman: an accumulator adds the second elements.
    assert result.cycles[1] == 3 * slots + 11


def test_serial_elements_are_no_pairs():
    (result,) = run_batches([2 * assemble(PAIRS + "sbuf[0:0x4]:bf16:24x1x1@1,1,1")], config=SUNDA)
    latency = 2 + 1 + 4 + 1  # load, widen, add, narrow
    assert result.cycles[1] > 3 * 24 * latency
