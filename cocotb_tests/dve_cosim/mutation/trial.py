"""One mutant under the selection, until a check fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import ParseError

from cocotb_tools.check_results import get_results

from dve_cosim.arith.campaign import first_difference
from dve_cosim.arith.operations import suite_size
from dve_cosim.arith.simulator import UnitSimulator
from dve_cosim.build import Simulator
from dve_cosim.cache import log_file
from dve_cosim.errors import CosimError, EngineError, WaitError
from dve_cosim.job import RESULTS_XML
from dve_cosim.mutation.instrument import PLUSARG
from dve_cosim.mutation.selection import BenchRun, EngineRun, Run
from dve_cosim.mutation.unit_alone import UnitRun
from dve_cosim.process import Child
from dve_cosim.scoreboard import Outcome, mismatch
from dve_cosim.session import child_environment, run_batches, temporary_folder
from dve_cosim.wrapper import SIM_TOP

SECONDS = 3600.0
"""Wall time after which a step counts as hung. Hangs of the engine end by cycles, long before:
this is for a simulator that stands still, not for a slow machine."""

Alive = Callable[[], None]
"""Called now and then; raises to stop a trial."""


@dataclass(frozen=True)
class Kill:
    """How a mutant was noticed: the check that failed, and what it said."""

    check: str
    message: str


def try_mutant(
    simulator: Simulator, number: int, runs: Sequence[Run | UnitRun], alive: Alive
) -> Kill | None:
    """Run a selection on a mutant.

    Parameters
    ----------
    simulator : Simulator
        Of the instrumented text.
    number : int
        Of the mutant in it; 0 for the design as it is.
    runs : sequence of Run or UnitRun
    alive : callable

    Returns
    -------
    Kill or None
        None if the mutant passes everything.
    """
    chosen = replace(simulator, arguments=(f"+{PLUSARG}={number}",))
    for run in runs:
        if isinstance(run, EngineRun):
            kill = _try_engine(chosen, run, alive)
        elif isinstance(run, UnitRun):
            kill = _try_unit(chosen.arguments, run, alive)
        else:
            kill = _try_bench(chosen, run, alive)
        if kill is not None:
            return kill
    return None


def _try_engine(simulator: Simulator, run: EngineRun, alive: Alive) -> Kill | None:
    results = run_batches(
        [step.program for step in run.steps],
        config=simulator.config,
        reloads={at: step.state for at, step in enumerate(run.steps) if step.state},
        gaps=run.gaps,
        stalls=run.stalls,
        simulator=simulator,
        most_cycles=run.most_cycles,
        timeout=SECONDS,
        progress=lambda *_: alive(),
    )
    at = 0
    try:
        with closing(results):
            for at, (step, result) in enumerate(zip(run.steps, results, strict=True)):
                got = Outcome(result.state, result.opcode.tolist(), result.reason.tolist())
                if message := mismatch(got, step.expected):
                    return Kill(step.check, message.partition("\n")[0])
                for index, (cycles, wanted) in enumerate(
                    zip(result.cycles.tolist(), step.cycles, strict=bool(step.cycles))
                ):
                    if wanted and cycles != wanted:
                        message = f"instruction {index}: {cycles} cycles, {wanted} documented"
                        return Kill(step.check, message)
                at += 1
    except (EngineError, WaitError) as error:
        return Kill(run.steps[at].check, _without_log(error))
    except CosimError as error:  # a simulator that crashes, or does not end
        return Kill(run.steps[at].check, _without_log(error))
    return None


def _try_unit(arguments: Sequence[str], run: UnitRun, alive: Alive) -> Kill | None:
    with UnitSimulator(run.verilog, arguments=arguments) as unit:
        for entry in run.operations:
            level, cases = suite_size(entry)
            try:
                difference = first_difference(
                    entry, unit, level=level, cases=cases, progress=lambda *_: alive()
                )
            except CosimError as error:  # no result, or one too many
                return Kill(run.check, f"{entry.name}: {error}")
            if difference is not None:
                return Kill(run.check, f"{entry.name} {difference}")
    return None


def _try_bench(simulator: Simulator, run: BenchRun, alive: Alive) -> Kill | None:
    with temporary_folder() as folder:
        log = log_file(f"bench-{folder.name}")
        command = [sys.executable, "-m", "dve_cosim.launch", SIM_TOP, str(simulator.build_dir)]
        command += ["1", RESULTS_XML, f"benches.{run.check}", *simulator.arguments]
        environment = {
            **child_environment(),
            "BENCH_LANES": str(simulator.config.lanes),
            "COCOTB_MAX_FAILURES": "1",
        }
        with Child(command, cwd=folder, environment=environment, log=log) as child:
            while child.wait() is None:
                alive()
        text = log.read_text(errors="replace")
        log.unlink()
        try:
            tests, failed = get_results(folder / RESULTS_XML)
        except (RuntimeError, ParseError):
            return Kill(run.check, "the simulator crashed")
    if failed or tests < run.tests:
        return Kill(run.check, _first_failure(text))
    assert tests == run.tests, f"{run.check} has {tests} tests, not {run.tests}"
    return None


def _first_failure(log: str) -> str:
    """The line of a log that names the test that failed."""
    lines = [line for line in log.splitlines() if " failed" in line]
    return lines[0].split("benches.")[-1].strip() if lines else "a test failed"


def _without_log(error: Exception) -> str:
    return str(error).partition("; see ")[0]


def benches_path(root: Path) -> None:
    """Let child processes find the package ``benches`` of a checkout."""
    paths = [str(root / "cocotb_tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
