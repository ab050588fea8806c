"""Whole backward passes without host arithmetic on the engine: every kind of plan and rectifier."""

import numpy as np
import pytest
from benches.configs import SMALL
from dve_cosim.main_job import run_main_job
from dve_cosim.main_result import Workload
from dve_cosim.schedule import INSTRUCTIONS, SLOTS, schedule
from dve_golden.batchnorm import Layer

LANES = 4
RESIDENT, STREAMED, PADDED = (40, 9), (200, 3), (6, 131)
"""[N, C]: everything fits; two buffers take turns; the last channel tile has three channels."""


def workload(shape, *, dtype="fp32", relu=None):
    rng = np.random.default_rng(shape)
    x = rng.normal(size=shape) + 2
    operands = {"inv_std": 1 / x.std(axis=0), "dtype": dtype}
    if relu == "mask":
        operands |= {"fuse_relu": True, "relu_mask": rng.integers(0, 2, shape).astype(np.uint8)}
    elif relu == "beta":
        operands |= {"fuse_relu": True, "beta": rng.normal(size=shape[1])}
    gamma = rng.normal(size=shape[1])
    return Workload(
        "test", Layer.from_arrays(rng.normal(size=shape), x, x.mean(0), gamma, **operands)
    )


@pytest.mark.parametrize(
    ("shape", "relu", "dtype", "options"),
    [
        (RESIDENT, None, "fp16", {"mean_coupling": False}),
        (RESIDENT, "mask", "fp32", {"seed": 5}),
        (STREAMED, None, "bf16", {}),
        (STREAMED, "beta", "fp32", {}),
        (STREAMED, "mask", "bf16", {"seed": 7}),
        (PADDED, "mask", "bf16", {}),
        (PADDED, "beta", "fp16", {"seed": 6}),
    ],
)
def test_no_bit_differs(shape, relu, dtype, options):
    result = run_main_job(workload(shape, dtype=dtype, relu=relu), config=SMALL[LANES], **options)
    assert result.first_differences == []
    assert result.differing_bits == 0
    assert {done.reason for done in result.instructions} == {0}
    assert {"tensor_tensor", "param_load2", "back_prop"} <= {share.name for share in result.mix}


def test_work_happens_within_its_instruction():
    """Counted back from real completions, by the clocks that the schedule is made of."""
    config = SMALL[LANES]
    result = run_main_job(workload(RESIDENT, relu="beta"), config=config)
    done = [(each.record, each.cycles) for each in result.instructions]
    stretches = list(schedule(config, done))
    spans = {busy.sequence: busy for busy in stretches if busy.track == INSTRUCTIONS}
    for busy in stretches:
        whole = spans[busy.sequence]
        assert whole.start <= busy.start, busy
        assert busy.start + busy.clocks <= whole.start + whole.clocks, busy
    assert 0.5 < result.utilisation[SLOTS] < 1
