"""The "rtl" backend of `dve_golden.batchnorm`: every step runs in a simulator that stays alive."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np
from dve_golden.batchnorm.engine import require_executed
from dve_golden.batchnorm.step import Step
from dve_golden.isa.enums import MAX_CHANNELS
from dve_golden.isa.generations import Generation
from dve_golden.machine import Completion
from dve_rtl.config import PRESETS, EngineConfig
from numpy.typing import NDArray

from dve_cosim.live import LiveSimulator
from dve_cosim.progress import Progress, silent


class Simulator(Protocol):
    """What `dve_cosim.live.LiveSimulator` is to the engine."""

    def execute(self, step: Step) -> tuple[list[Completion], list[NDArray[np.uint8]]]: ...
    def close(self) -> None: ...


class RtlEngine:
    """The Verilog under Verilator, as an engine of `dve_golden.batchnorm`; a context manager.

    The simulator starts with the first step and keeps its state until `close`, or until the engine
    is collected. A pickle holds the configuration alone: the engine that is loaded from it has a
    simulator of its own.

    Parameters
    ----------
    config : EngineConfig
        Which engine.
    progress : callable
        Told of the export and the build.
    start : callable
        Makes the simulator; tests put a golden machine in its place.
    """

    def __init__(
        self,
        config: EngineConfig,
        *,
        progress: Progress = silent,
        start: Callable[..., Simulator] = LiveSimulator,
    ) -> None:
        self._config = config
        self._make = lambda: start(config, progress=progress)
        self._simulator: Simulator | None = None
        self._sbuf = np.zeros((MAX_CHANNELS, config.sbuf_active_bytes), np.uint8)

    @property
    def sbuf_bytes(self) -> int:
        return self._config.sbuf_active_bytes

    @property
    def generation(self) -> Generation:
        return self._config.generation

    def execute(self, step: Step) -> NDArray[np.uint8]:
        """Run one step; see `dve_golden.batchnorm.Engine`. What is no result is out of date.

        Raises
        ------
        RuntimeError
            If the engine rejects an instruction.
        CosimError
            If the simulator cannot be built or fails.
        """
        completions, results = self.start().execute(step)
        require_executed(completions)
        for extent, data in zip(step.results, results, strict=True):
            extent.of(self._sbuf)[...] = data
        return self._sbuf

    def start(self) -> Simulator:
        """Build and start the simulator now, unless it runs; returns it.

        Raises
        ------
        CosimError
            If it cannot be built.
        """
        if self._simulator is None:
            self._simulator = self._make()
        return self._simulator

    def close(self) -> None:
        """End the simulator; another step would start it anew, after reset."""
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def __reduce__(self) -> tuple[type["RtlEngine"], tuple[EngineConfig]]:
        return type(self), (self._config,)

    def __enter__(self) -> "RtlEngine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def engine(
    *,
    config: EngineConfig | None = None,
    lanes: int | None = None,
    generation: Generation | None = None,
    progress: Progress = silent,
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
    progress : callable
        Told of steps ``export`` and ``build``, which come with the first step.

    Raises
    ------
    ValueError
        If there is no engine with so many lanes.
    """
    chosen = config or PRESETS["sim"]
    chosen = chosen if lanes is None else chosen.with_lanes(lanes)
    chosen = chosen if generation is None else replace(chosen, generation=generation)
    return RtlEngine(chosen, progress=progress)
