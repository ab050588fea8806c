"""The "rtl" backend of `dve_golden.batchnorm.backward`: every step is a run of the simulator."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from dve_golden.batchnorm.engine import require_executed
from dve_golden.batchnorm.step import Step
from dve_golden.isa.enums import Reason
from dve_golden.isa.generations import Generation
from dve_golden.machine import Completion
from dve_rtl.config import PRESETS, EngineConfig
from numpy.typing import NDArray

from dve_cosim.session import RunResult, run_steps
from dve_cosim.state import ArchState

Runner = Callable[..., RunResult]
"""What `dve_cosim.session.run_steps` is; tests put a golden machine in its place."""


class RtlEngine:
    """The Verilog under Verilator, as an engine of `dve_golden.batchnorm`.

    Parameters
    ----------
    config : EngineConfig
        Which engine.
    run : callable
        Executes steps.

    Members
    -------
    state : ArchState
        The state after the last step.
    """

    def __init__(self, config: EngineConfig, *, run: Runner = run_steps) -> None:
        self.state = ArchState.reset(config)
        self._config = config
        self._run = run

    @property
    def sbuf_bytes(self) -> int:
        return self._config.sbuf_active_bytes

    @property
    def generation(self) -> Generation:
        return self._config.generation

    def execute(self, step: Step) -> NDArray[np.uint8]:
        """Run one step; see `dve_golden.batchnorm.Engine`.

        Raises
        ------
        RuntimeError
            If the engine rejects an instruction.
        CosimError
            If the simulator cannot be built or fails.
        """
        result = self._run([step], state=self.state, config=self._config)
        require_executed(completions(result))
        self.state = result.state
        return self.state.sbuf


def completions(result: RunResult) -> list[Completion]:
    """The completions of a run as the golden machine reports them, numbered from 0."""
    return [
        Completion(sequence, int(opcode), Reason(int(reason)))
        for sequence, (opcode, reason) in enumerate(zip(result.opcode, result.reason, strict=True))
    ]


def engine(
    *,
    config: EngineConfig | None = None,
    lanes: int | None = None,
    generation: Generation | None = None,
) -> RtlEngine:
    """The engine of ``backward(..., backend="rtl", config=..., lanes=..., generation=...)``.

    Parameters
    ----------
    config : EngineConfig, optional
        Sizes; the preset ``sim`` if not given.
    lanes : int, optional
        Replaces the number of lanes.
    generation : Generation, optional
        Replaces the generation.

    Raises
    ------
    ValueError
        If there is no engine with so many lanes.
    """
    chosen = config or PRESETS["sim"]
    chosen = chosen if lanes is None else chosen.with_lanes(lanes)
    return RtlEngine(chosen if generation is None else replace(chosen, generation=generation))
