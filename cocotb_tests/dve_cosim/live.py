"""A simulator that stays alive and executes steps as they come."""

import shutil
import weakref
from contextlib import ExitStack

import numpy as np
from dve_golden.batchnorm.step import Step
from dve_golden.isa.enums import Reason
from dve_golden.machine import Completion
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.build import build
from dve_cosim.cache import log_file
from dve_cosim.errors import CosimError
from dve_cosim.job import PROGRAM, RESULT, TRANSFERS, Job, batch_folder, step_folder
from dve_cosim.progress import Progress, silent
from dve_cosim.session import await_batch, start_child, temporary_folder, written_inputs
from dve_cosim.transfers import Transfers

_LONGEST_PAUSE = 0.01
"""Seconds between two looks for an answer: a step takes tens of milliseconds, and there are
hundreds of them."""


class LiveSimulator:
    """The engine under Verilator, from its reset on.

    What the composition of `dve_cosim.session.run_steps` knows beforehand may here depend on
    results: a step is placed, executed and read before the next one is there. It ends on `close`,
    when it is collected, or with this process.

    Parameters
    ----------
    config : EngineConfig
        Which engine.
    progress : callable
        Told of steps ``export`` and ``build``.

    Raises
    ------
    CosimError
        If the simulator cannot be built.
    """

    def __init__(self, config: EngineConfig, *, progress: Progress = silent) -> None:
        simulator = build(config, progress=progress)
        self._steps = 0
        with ExitStack() as resources:
            self._folder = resources.enter_context(temporary_folder())
            with written_inputs(self._folder):
                Job(config, 0, 0, 0.0, 0.0, live=True).save(self._folder)
            self._log = log_file(f"run-{self._folder.name}")
            child = start_child(simulator, self._folder, 0, self._log)
            self._child = resources.enter_context(child)
            held = resources.pop_all()
        self._without_log = weakref.finalize(self, self._log.unlink, missing_ok=True)
        self._end = weakref.finalize(self, held.close)  # runs first

    def close(self) -> None:
        """End the simulator; nothing is left but the log of a failure."""
        self._end()
        self._without_log()

    def execute(self, step: Step) -> tuple[list[Completion], list[NDArray[np.uint8]]]:
        """Run a step: its completions, and the bytes of each of its results.

        Raises
        ------
        CosimError
            If the simulator fails, now or before.
        """
        if not self._end.alive:
            raise CosimError("the simulator has ended; make another engine")
        index = self._steps
        self._steps += 1
        try:
            with written_inputs(self._folder):
                draft = self._folder / f"{step_folder(index)}.draft"
                draft.mkdir()
                (draft / PROGRAM).write_bytes(step.program)
                Transfers.of(step).save(draft / TRANSFERS)
                draft.rename(self._folder / step_folder(index))
            await_batch(self._child, self._folder, index, self._log, longest_pause=_LONGEST_PAUSE)
        except CosimError:
            self._without_log.detach()
            self._end()
            raise
        batch = self._folder / batch_folder(index)
        with np.load(batch / RESULT) as found:
            codes = found["completions"][:, :2].tolist()
            results = [found[f"result_0_{at}"] for at in range(len(step.results))]
        shutil.rmtree(batch)
        return [
            Completion(at, opcode, Reason(reason)) for at, (opcode, reason) in enumerate(codes)
        ], results
