"""The host port moves the tiles of a plan while the engine executes others."""

from functools import cache

import numpy as np
import pytest
from benches.configs import SMALL
from dve_cosim.compare import differences
from dve_cosim.session import run_steps
from dve_golden.batchnorm import GoldenEngine, Layer
from dve_golden.batchnorm.on_engine import EngineBackward

CONFIG = SMALL[4]
SHAPE = (700, 6)
"""Tiles that take turns in two buffers; two groups of channels on four lanes."""


class Recorder(GoldenEngine):
    """Keeps the steps, and what the host reads after each."""

    def __init__(self):
        super().__init__(sbuf_bytes=CONFIG.sbuf_bytes, psum_bytes=CONFIG.psum_bytes)
        self.steps, self.results = [], []

    def execute(self, step):
        sbuf = super().execute(step)
        self.steps.append(step)
        self.results.append([extent.of(sbuf).copy() for extent in step.results])
        return sbuf


@cache
def recorded():
    rng = np.random.default_rng(1)
    x, dy = rng.normal(size=(2, *SHAPE))
    layer = Layer.from_arrays(dy, x, x.mean(0), np.ones(SHAPE[1]), inv_std=1 / x.std(0))
    engine = Recorder()
    job = EngineBackward(layer, engine)
    job.run()
    assert not job.plan.resident
    assert job.plan.element_tiles >= 6
    return engine


def traffic_of(result):
    assert result.traffic is not None
    return result.traffic


@pytest.mark.parametrize("share", [0, 0.25, 0.6])
def test_no_bit_depends_on_when_the_host_works(share):
    golden = recorded()
    result = run_steps(golden.steps, config=CONFIG, seed=3, gaps=share, stalls=share)
    assert not result.reason.any()
    assert differences(result.state, golden.machine, limit=4) == []
    for got, expected in zip(traffic_of(result).results, golden.results, strict=True):
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_tiles_are_placed_while_the_one_before_executes():
    golden = recorded()
    traffic = traffic_of(run_steps(golden.steps, config=CONFIG))
    accumulating = range(1, sum(step.program[0] == 0x94 for step in golden.steps))
    placed = traffic.writes[accumulating]
    whole = np.diff(placed).ravel()
    assert whole.min() > 50
    # GradAccum stores nothing until its end, so that the write port is the host's.
    for span, clocks in zip(placed, whole, strict=True):
        assert traffic.executing(span) > 0.9 * clocks
    assert traffic.cycles.hidden > 0.8 * whole.sum()


def test_a_step_waits_for_its_operands():
    """The engine would be faster than a host that is held back."""
    traffic = traffic_of(run_steps(recorded().steps, config=CONFIG, seed=4, gaps=0.9))
    for number in (0, 1, 2):  # each begins with the instruction of its number
        assert traffic.executed[number, 0] >= traffic.writes[number, 1]
    assert traffic.executed[1, 0] > traffic.executed[0, 1] + 50
