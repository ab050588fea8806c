"""Fixtures that tests of several packages share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def golden_runner() -> Callable[..., Any]:
    """`dve_cosim.session.run_steps` with a golden machine in the simulator's place.

    An instruction is said to take 10 cycles, and the host none. Tests of what surrounds a run do
    not need a build.
    """
    from dve_cosim.session import RunResult, Timing
    from dve_cosim.state import ArchState
    from dve_cosim.traffic import HostTraffic, execution_spans
    from dve_golden.machine import Machine

    def run(steps, *, config, state, progress=None, **options) -> RunResult:
        machine = Machine(sbuf_bytes=config.sbuf_bytes, psum_bytes=config.psum_bytes)
        state.copy_into(machine)
        completions, results = [], []
        for step in steps:
            for image in step.images:
                image.place(machine.sbuf)
            completions += machine.run(step.program)
            results.append([extent.of(machine.sbuf).copy() for extent in step.results])
        cycles = np.full(len(completions), 10, np.uint32)
        nothing = np.zeros((len(steps), 2), np.int64)
        if progress is not None:
            progress("build", 0, 0)
            progress("simulate", len(completions), len(completions))
        return RunResult(
            ArchState.copy_of(machine),
            np.array([completion.opcode for completion in completions], np.uint8),
            np.array([completion.reason for completion in completions], np.uint8),
            cycles,
            Timing(build=0.0, simulate=0.0, python=0.0, dump=0.0, cycles=10 * len(completions)),
            HostTraffic(nothing, nothing, execution_spans(np.cumsum(cycles), cycles), 0, results),
        )

    return run
