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
COUNTS_ALONE = (1, 8, 64, 512)
CHANNELS_ALONE = (1, 128)
FIXED = 64
"""Clocks that an instruction may take beyond its passes."""


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


def test_cycles():
    """At most groups * (n + 8) + 64; which is 0.93 elements per lane and clock at 32 x 512."""
    makers = {"grad_accumulate": grad_accumulate, "back_prop": back_prop}
    behind = [
        (name, count, channels) for name in makers for count in COUNTS for channels in CHANNELS
    ]
    alone = [
        (name, count, channels)
        for name in makers
        for count in COUNTS_ALONE
        for channels in CHANNELS_ALONE
    ]
    # Twice each: behind another instruction, and behind the same.
    programs = [b"".join(2 * makers[name](count, channels) for name, count, channels in behind)]
    programs += [makers[name](count, channels) for name, count, channels in alone]
    results = run_batches(programs, config=SMALL[LANES])
    first = next(results)
    assert not first.reason.any()
    measured = [
        (*key, "behind", int(cycles))
        for key, pair in zip(behind, first.cycles.reshape(-1, 2), strict=True)
        for cycles in pair
    ]
    for key, result in zip(alone, results, strict=True):
        assert not result.reason.any(), key
        measured.append((*key, "alone", int(result.cycles[0])))

    for name, count, channels, place, cycles in measured:
        what = f"{name}, {count} elements, {channels} channels, {place}: {cycles} clocks"
        groups = -(-channels // LANES)
        assert cycles <= groups * (count + 8) + FIXED, what
        # Fewer than its elements take: one was left out, or the measure is wrong.
        assert cycles > groups * count, what
        if (channels, count) == (32, 512):
            assert channels * count / (LANES * cycles) >= 0.93, what
