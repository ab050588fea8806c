"""What of the test suite runs on every mutant, the cheapest and most telling first.

The programs are those of the suite at one lane: the same makers, other seeds where the suite has
several. What the golden machine makes of them is computed once for all mutants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
from dve_golden.isa.text import split_records
from dve_rtl.config import EngineConfig

from dve_cosim.alignments import alignments
from dve_cosim.case import Case
from dve_cosim.cycle_counts import (
    CycleCounts,
    behind_another,
    cases_alone,
    cases_behind,
    measured_from,
)
from dve_cosim.errors import CosimError
from dve_cosim.fuzz_batch import LONG_EVERY, PROGRAMS, make_batch
from dve_cosim.neighbours import neighbours
from dve_cosim.numeric_corners import numeric_corners
from dve_cosim.operator_corners import operator_corners
from dve_cosim.scoreboard import Outcome, golden
from dve_cosim.state import ArchState
from dve_cosim.walk_corners import walk_corners
from dve_cosim.workloads import Workload

CONFIG = EngineConfig(lanes=1, sbuf_bytes=1024, psum_bytes=512)
"""The engine of a campaign."""

ILLEGAL = 0.3
_SEED = 5
_PARTS = (8, 24, 32)
"""Programs of the first batch between two comparisons: most mutants end in the first part."""

_MOST_CYCLES = 600_000
"""Above what any instruction of these programs takes: 4,096 elements one by one."""

_LONG_CYCLES = 3_000_000
"""The same with 65,535 elements on one channel."""


@dataclass(frozen=True, eq=False)
class Step:
    """A program and what must come of it.

    Parameters
    ----------
    check : str
        What it belongs to.
    program : bytes
    state : ArchState, optional
        To load before it; else it goes on from the state of the step before.
    expected : Outcome
    cycles : tuple of int
        Of each instruction; empty where they may be anything.
    """

    check: str
    program: bytes
    state: ArchState | None
    expected: Outcome
    cycles: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class EngineRun:
    """Steps in one simulator.

    Parameters
    ----------
    checks : tuple of str
        In the order of their steps.
    steps : tuple of Step
    most_cycles : int
        After which an instruction counts as hung.
    gaps, stalls : float
        Share of transfers that are held back.
    """

    checks: tuple[str, ...]
    steps: tuple[Step, ...] = field(repr=False)
    most_cycles: int
    gaps: float = 0.0
    stalls: float = 0.0


BENCH_TESTS: Mapping[str, int] = {"waits": 2, "resets": 3, "two_engines": 3, "engine_host": 10}
"""Tests in each bench that a campaign runs: a bench that runs fewer has ended early."""


@dataclass(frozen=True)
class BenchRun:
    """A bench of the package ``benches``, by the name of its module."""

    check: str

    @property
    def tests(self) -> int:
        return BENCH_TESTS[self.check]

    @property
    def checks(self) -> tuple[str, ...]:
        return (self.check,)


Run = EngineRun | BenchRun

_FIRST: Mapping[str, str] = {
    "dve_engine.host": "engine_host",
    "dve_engine.frontend.wait_stage": "waits",
    "dve_engine.sync_bank": "waits",
}
"""Runs that tell most about a module, to begin with."""


class Selection:
    """The runs of a campaign.

    Parameters
    ----------
    root : Path
        Of the checkout, which holds vectors, regression cases and documents.

    Raises
    ------
    CosimError
        If this is no checkout.
    """

    def __init__(self, root: Path) -> None:
        if not (root / "cocotb_tests" / "benches").is_dir():
            raise CosimError(f"{root} holds no tests; mutants need a checkout of the repository")
        self.runs: tuple[Run, ...] = (
            EngineRun(
                ("fuzz", "neighbours", "alignments", "cycles"),
                tuple(
                    chain(
                        _parts("fuzz", _batch(0), _PARTS),
                        _steps("neighbours", neighbours(1, CONFIG)),
                        _steps("alignments", alignments(1, CONFIG)),
                        _cycles(root / "docs" / "architecture.md"),
                    )
                ),
                _MOST_CYCLES,
            ),
            EngineRun(
                ("corners", "operators", "walks", "vectors", "more fuzz"),
                tuple(
                    chain(
                        _steps("corners", numeric_corners(1, CONFIG)),
                        _steps("operators", operator_corners(1, CONFIG)),
                        _steps("walks", walk_corners(1, CONFIG)),
                        _steps("vectors", _stored(root / "tests")),
                        *(_parts("more fuzz", _batch(number), (PROGRAMS,)) for number in (2, 5)),
                    )
                ),
                _MOST_CYCLES,
            ),
            BenchRun("waits"),
            EngineRun(
                ("paused fuzz",),
                tuple(_parts("paused fuzz", _batch(8), (PROGRAMS,))),
                _MOST_CYCLES,
                gaps=0.3,
                stalls=0.3,
            ),
            BenchRun("resets"),
            BenchRun("two_engines"),
            BenchRun("engine_host"),
            EngineRun(("long",), tuple(_parts("long", _batch(1), (PROGRAMS,))), _LONG_CYCLES),
        )

    @property
    def checks(self) -> list[str]:
        """Names of all checks, in the order in which they run."""
        return [check for run in self.runs for check in run.checks]

    def order(self, module: str) -> Sequence[Run]:
        """The runs in the order for mutants of a module."""
        first = _FIRST.get(module)
        return sorted(self.runs, key=lambda run: first not in run.checks)


def _batch(number: int) -> tuple[ArchState, list[bytes]]:
    at = range(number * PROGRAMS, (number + 1) * PROGRAMS)
    has_long = any(program % LONG_EVERY == LONG_EVERY - 1 for program in at)
    assert has_long == (number == 1)
    batch = make_batch(_SEED, number, config=CONFIG, illegal=ILLEGAL)
    return batch.state, batch.programs


def _parts(
    check: str, batch: tuple[ArchState, list[bytes]], sizes: Sequence[int]
) -> Iterator[Step]:
    """The programs of a batch joined to a few, which are compared one by one."""
    state, programs = batch
    workload = Workload()
    ends = np.cumsum(sizes)
    assert ends[-1] == len(programs)
    joined = (b"".join(programs[end - size : end]) for size, end in zip(sizes, ends, strict=True))
    workload.append(state, joined)
    return _steps(check, workload)


def _steps(check: str, workload: Workload) -> Iterator[Step]:
    outcomes = golden(workload.programs, workload.states, config=CONFIG)
    for index, (program, outcome) in enumerate(zip(workload.programs, outcomes, strict=True)):
        yield Step(check, program, workload.states.get(index), outcome)


def _cycles(page: Path) -> Iterator[Step]:
    """Programs whose cycles are documented."""
    documented = CycleCounts(page.read_text())
    behind, alone = cases_behind(), cases_alone()
    workload = Workload()
    programs = [behind_another(behind), *(case.encode() for case in alone)]
    workload.append(measured_from(CONFIG), programs)
    first, *others = _steps("cycles", workload)
    # Of every pair the second instruction counts; of the first it depends on who gets it there.
    counts = [documented.expected(case, CONFIG, alone=False) for case in behind]
    yield Step(
        first.check,
        first.program,
        first.state,
        first.expected,
        tuple(count for pair in counts for count in (0, pair)),
    )
    for case, step in zip(alone, others, strict=True):
        count = documented.expected(case, CONFIG, alone=True)
        yield Step(step.check, step.program, step.state, step.expected, (count,))


def _stored(tests: Path) -> Workload:
    """The stored programs, and the programs that once failed."""
    workload = Workload()
    for path in sorted((tests / "vectors").glob("*.npz")):
        with np.load(path) as vector:
            state = ArchState.reset(CONFIG)
            for name in ("registers", "sbuf", "psum"):
                getattr(state, name)[:] = vector[name]
            workload.append(state, [vector["program"].tobytes()])
    for path in sorted((tests / "regression").glob("*.bin")):
        case = Case.load(path)
        if case.config(CONFIG.lanes) == CONFIG:
            workload.append(case.state, [case.program])
    if not workload.programs:
        raise CosimError(f"{tests} holds no vectors; mutants need a whole checkout")
    return workload


def instructions(selection: Selection) -> int:
    """Instructions of all steps."""
    return sum(
        len(split_records(step.program))
        for run in selection.runs
        if isinstance(run, EngineRun)
        for step in run.steps
    )
