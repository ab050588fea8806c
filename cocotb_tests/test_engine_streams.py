"""Pauses on the streams change no bit and no order; the clocks that instructions take."""

import pytest
from benches.configs import DEEP, SMALL
from dve_cosim.scoreboard import Outcome, golden, mismatch
from dve_cosim.session import run_batches
from dve_cosim.workloads import random_programs
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Dtype, Opcode

ILLEGAL = bytes([Opcode.BATCH_NORM_BACK_PROP, 15]) + bytes(62)
PROGRAMS = 4


def outcome(result):
    return Outcome(result.state, result.opcode.tolist(), result.reason.tolist())


@pytest.fixture(scope="module")
def workload():
    state, programs = random_programs(
        31, SMALL[4], programs=PROGRAMS, instructions=10, special=0.02
    )
    # Instructions of a few clocks, so that completions queue up.
    programs[1] = ILLEGAL.join(programs[1][at : at + 64] for at in range(0, 640, 64)) + ILLEGAL * 9
    return state, programs


@pytest.mark.parametrize(
    ("config", "seed", "gaps", "stalls"),
    [
        (SMALL[4], 1, 0.9, 0.0),
        (SMALL[4], 2, 0.0, 0.9),
        (SMALL[4], 3, 0.4, 0.4),
        (DEEP, 4, 0.2, 0.9),
        (DEEP, 5, 0.6, 0.1),
    ],
    ids=["gaps", "back-pressure", "both", "deep, mostly back-pressure", "deep, mostly gaps"],
)
def test_pauses_change_nothing(workload, config, seed, gaps, stalls):
    # The session checks that completions are numbered in order.
    state, programs = workload
    results = run_batches(programs, config=config, state=state, seed=seed, gaps=gaps, stalls=stalls)
    expected = golden(programs, {0: state}, config=config)
    for index, (result, after) in enumerate(zip(results, expected, strict=True)):
        assert not mismatch(outcome(result), after), f"program {index}"


LANES = 8
COUNTS = (1, 2, 3, 7, 8, 9, 16, 64, 512)
CHANNELS = (1, 8, 9, 32, 128)
FIXED = 64
"""Clocks that an instruction may take beyond its passes (issue: at most 64)."""


def walk(name, offset, count, *, channels_step=1):
    """A walk of ``count`` elements, in rows of 64 that follow each other by half a row."""
    inner = min(count, 64)
    return {
        f"{name}.start_addr": offset,
        f"{name}.step_elem": (channels_step, 32, 1),
        f"{name}.num_elem": (inner, count // inner, 1),
    }


def grad_accumulate(count, channels):
    return encode(
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2,
        {
            "in0_in1_dtype.lo": Dtype.BF16,
            "in0_in1_dtype.hi": Dtype.BF16,
            "immediate_out_dtype.lo": Dtype.FP32,
            "immediate_out_dtype.hi": Dtype.FP32,
            "imm0_imm1_src.lo": 1,
            "imm0_imm1_src.hi": 1,
            "imm0": 0x0,
            "imm1": 0x4,
            "num_active_channels": channels,
            **walk("src0", 0x000, count),
            **walk("src1", 0x040, count),
            "dst.start_addr": 0x3F0,
            "dst.step_elem": (1,),
            "dst.num_elem": (3,),
        },
    )


def back_prop(count, channels):
    # The destination needs bytes of its own: else its elements would take turns.
    return encode(
        Opcode.BATCH_NORM_BACK_PROP,
        {
            "in0_in1_dtype.lo": Dtype.FP32,
            "in0_in1_dtype.hi": Dtype.FP32,
            "out_dtype": Dtype.FP32,
            "num_active_channels": channels,
            **walk("src0", 0x000, count, channels_step=0) | {"src0.step_elem": (1, 0, 0)},
            **walk("src1", 0x100, count) | {"src1.step_elem": (1, 0, 0)},
            **walk("dst", 0x200, count) | {"dst.step_elem": (1, 0, 0)},
        },
    )


@pytest.fixture(scope="module")
def cycles():
    """Clocks by (opcode, elements, channels): of an instruction alone, and of those behind it."""
    keys, programs = [], []
    for make in (grad_accumulate, back_prop):
        for count in COUNTS:
            for channels in CHANNELS:
                keys.append((make.__name__, count, channels))
                programs.append(make(count, channels) * 4)
    found = {}
    config = SMALL[LANES]
    for key, result in zip(keys, run_batches(programs, config=config), strict=True):
        assert not result.reason.any(), key
        found[key] = result.cycles.tolist()
    return found


def test_cycles_are_bounded(cycles):
    assert len(cycles) == 2 * len(COUNTS) * len(CHANNELS)
    for (opcode, count, channels), (alone, *behind) in cycles.items():
        groups = -(-channels // LANES)
        most = groups * (count + 8) + FIXED
        assert alone <= most, f"{opcode}, {count} elements, {channels} channels, alone"
        assert max(behind) <= most, f"{opcode}, {count} elements, {channels} channels, behind one"


def test_cycles_are_those_of_the_passes(cycles):
    # Below this a group or an element would have been skipped, or the measure would be wrong.
    for (opcode, count, channels), measured in cycles.items():
        groups = -(-channels // LANES)
        assert min(measured) > groups * count, f"{opcode}, {count} elements, {channels} channels"


@pytest.mark.parametrize("opcode", ["grad_accumulate", "back_prop"])
def test_one_element_per_lane_and_clock(cycles, opcode):
    channels, count = 32, 512
    for measured in cycles[opcode, count, channels]:
        assert channels * count / (LANES * measured) >= 0.93
