"""A campaign: mutants chosen, built into one simulator, tried, and judged."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from dve_cosim.build import Simulator, build
from dve_cosim.engine import engine_verilog
from dve_cosim.errors import CosimError
from dve_cosim.mutation.equivalence import PROVED, can_prove, is_proved
from dve_cosim.mutation.instrument import instrumented
from dve_cosim.mutation.records import EQUIVALENT, Record
from dve_cosim.mutation.report import Report, Result, Verdict
from dve_cosim.mutation.selection import CONFIG, Selection
from dve_cosim.mutation.sites import Mutant
from dve_cosim.mutation.trial import benches_path, try_mutant
from dve_cosim.mutation.unit_alone import UnitRun, unit_of, unit_runs
from dve_cosim.progress import Progress, silent


@dataclass(frozen=True, eq=False)
class Campaign:
    """What to do.

    Parameters
    ----------
    mutants : sequence of Mutant
        Of the export of `CONFIG`, no two of one site.
    records : mapping of str to Record
        What is known of survivors, by id.
    root : Path
        Of the checkout.
    jobs : int
        Mutants tried at a time.
    seconds : float, optional
        Wall time after which no further mutant is begun.
    """

    mutants: Sequence[Mutant]
    records: Mapping[str, Record]
    root: Path
    jobs: int = 2
    seconds: float | None = None


def run_campaign(campaign: Campaign, *, progress: Progress = silent) -> Report:
    """Try every mutant.

    An interrupt ends all simulators and is raised again.

    Parameters
    ----------
    campaign : Campaign
    progress : callable
        Told of steps ``select``, ``build`` and ``mutants``.

    Raises
    ------
    CosimError
        If the design as it is does not pass, if there is no checkout, or if a build fails.
    """
    start = time.monotonic()
    processor = _processor_seconds()
    benches_path(campaign.root)
    progress("select", 0, 0)
    selection = Selection(campaign.root)
    text = engine_verilog(CONFIG)
    simulator = build(CONFIG, engine=instrumented(text, campaign.mutants), progress=progress)
    units = unit_runs(text, campaign.mutants, CONFIG)
    if kill := try_mutant(simulator, 0, [*units.values(), *selection.runs], lambda: None):
        raise CosimError(f"the design itself fails {kill.check}: {kill.message}")
    results = _try_all(campaign, text, simulator, units, selection, start, progress)
    return Report(
        results=results,
        left_out=len(campaign.mutants) - len(results),
        seconds=time.monotonic() - start,
        processor_seconds=_processor_seconds() - processor,
    )


def _processor_seconds() -> float:
    """Of this process and of all children that have ended."""
    return sum(os.times()[:4])


def _try_all(
    campaign: Campaign,
    text: str,
    simulator: Simulator,
    units: Mapping[str, UnitRun],
    selection: Selection,
    start: float,
    progress: Progress,
) -> list[Result]:
    stop = Event()

    def alive() -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    def judge(number: int, mutant: Mutant) -> Result:
        begun = time.monotonic()
        unit = unit_of(mutant.module)
        alone = [units[unit]] if unit else []  # seconds, and mostly the first operands tell
        first, *others = [*alone, *selection.order(mutant.module)]
        kill = try_mutant(simulator, number, [first], alive)
        # A proof takes seconds, and the other runs a minute.
        proved = kill is None and can_prove() and is_proved(text, mutant, alive)
        if kill is None and not proved:
            kill = try_mutant(simulator, number, others, alive)
        record = campaign.records.get(mutant.id)
        if kill is not None:
            verdict, reason = Verdict.KILLED, kill.message
        elif proved:
            verdict, reason = Verdict.EQUIVALENT, PROVED
        elif record is None:
            verdict, reason = Verdict.SURVIVED, ""
        else:
            is_equivalent = record.verdict == EQUIVALENT
            verdict = Verdict.EQUIVALENT if is_equivalent else Verdict.EXPLAINED
            reason = record.reason
        return Result(
            mutant,
            verdict,
            kill.check if kill else "",
            reason,
            is_contradicted=kill is not None and record is not None,
            seconds=time.monotonic() - begun,
        )

    total = len(campaign.mutants)
    results: dict[int, Result] = {}
    waiting = list(enumerate(campaign.mutants, 1))[::-1]
    running: dict[Future[Result], int] = {}
    pool = ThreadPoolExecutor(campaign.jobs)
    try:
        while True:
            late = campaign.seconds is not None and time.monotonic() - start > campaign.seconds
            while waiting and len(running) < campaign.jobs and not late:
                number, mutant = waiting.pop()
                running[pool.submit(judge, number, mutant)] = number
            if not running:
                break
            progress("mutants", len(results), total)
            for future in wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done:
                results[running.pop(future)] = future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
    progress("mutants", len(results), total)
    return [results[number] for number in sorted(results)]
