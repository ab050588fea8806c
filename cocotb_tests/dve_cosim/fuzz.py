"""Differential fuzzing: random programs on two sides, until they differ or enough have run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count as numbers
from typing import Any

from dve_golden.isa.enums import Reason
from dve_golden.isa.text import split_records
from dve_rtl.config import EngineConfig

from dve_cosim.case import Case
from dve_cosim.coverage import Bin, observe
from dve_cosim.crosses import Cross, crosses, reachable_crosses
from dve_cosim.fuzz_batch import PROGRAMS, Batch, make_batch
from dve_cosim.progress import Progress, silent
from dve_cosim.reachable import reachable_bins, unreachable_counts
from dve_cosim.reference import geometry_of
from dve_cosim.scoreboard import Failure, Runner, first_failure, mismatch

BATCHES_PER_RUN = 8
"""Of one simulator: enough to forget how long it takes to start, few enough for its files."""


@dataclass(eq=False)
class FuzzResult:
    """What a campaign has done.

    Parameters
    ----------
    seed : int
    config : EngineConfig
    illegal : float
        Share of altered records.
    programs, instructions : int
        Compared, a failing batch included.
    seconds : float
        Wall time.
    bins : Counter of Bin
        Instructions of each bin.
    crosses : Counter of Cross
        Legal instructions of each cross.
    features : Counter of str
        Instructions that exercise each feature.
    batch : int
        Number of the batch that failed, -1 if none did.
    failure : Failure, optional
        The smallest program that shows the first difference.
    """

    seed: int
    config: EngineConfig
    illegal: float
    programs: int = 0
    instructions: int = 0
    seconds: float = 0.0
    bins: Counter[Bin] = field(default_factory=Counter)
    crosses: Counter[Cross] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    batch: int = -1
    failure: Failure | None = None

    @property
    def reachable(self) -> frozenset[Bin]:
        """Every bin that a campaign of this configuration can hit."""
        return reachable_bins(self.config.generation)

    @property
    def missed(self) -> frozenset[Bin]:
        """Those of them that this one has not hit."""
        return self.reachable - self.bins.keys()

    @property
    def missed_crosses(self) -> frozenset[Cross]:
        """The same of the crosses."""
        return reachable_crosses(self.config.generation) - self.crosses.keys()

    @property
    def name(self) -> str:
        """Of the failing case: the seed and the batch, which make it again."""
        return f"fuzz_{self.seed}_{self.batch}"

    @property
    def case(self) -> Case:
        """The failing case."""
        assert self.failure is not None
        return Case(
            self.failure.program,
            self.failure.state,
            self.config.sbuf_bytes,
            self.config.psum_bytes,
            self.config.generation,
        )

    def count(self, batch: Batch) -> None:
        """Take a batch into the counts."""
        geometry, registers = geometry_of(self.config), batch.state.registers
        records = split_records(batch.joined)
        self.programs += len(batch.programs)
        self.instructions += len(records)
        for record in records:
            which, names = observe(record, registers, geometry)
            self.bins[which] += 1
            self.features.update(names)
            if which.reason == Reason.NONE.name:
                self.crosses.update(crosses(record, batch.state.control))

    def described(self) -> dict[str, Any]:
        """For JSON."""
        failure = self.failure
        return {
            "seed": self.seed,
            "lanes": self.config.lanes,
            "generation": self.config.generation.value,
            "sbuf_bytes": self.config.sbuf_bytes,
            "psum_bytes": self.config.psum_bytes,
            "illegal": self.illegal,
            "programs": self.programs,
            "instructions": self.instructions,
            "differences": int(failure is not None),
            "failure": None
            if failure is None
            else {"name": self.name, "batch": self.batch, "text": str(failure).splitlines()},
            "seconds": self.seconds,
            "programs_per_second": self.programs / self.seconds if self.seconds else 0.0,
            "coverage": {
                "bins": [
                    {**which._asdict(), "count": count}
                    for which, count in sorted(self.bins.items())
                ],
                "missed": [which._asdict() for which in sorted(self.missed)],
                "unreachable": unreachable_counts(self.config.generation),
                "crosses": self._described_crosses(),
                "features": dict(sorted(self.features.items())),
            },
        }

    def _described_crosses(self) -> list[dict[str, Any]]:
        """How many of each kind are hit, and which are not."""
        hit, missed = self.crosses, self.missed_crosses
        return [
            {
                "opcode": opcode,
                "kind": kind,
                "hit": sum(which[:2] == (opcode, kind) for which in hit),
                "missed": sorted(which.value for which in missed if which[:2] == (opcode, kind)),
            }
            for opcode, kind in sorted({which[:2] for which in (*hit, *missed)})
        ]


def fuzz(
    *,
    seed: int,
    count: int | None,
    config: EngineConfig,
    illegal: float,
    suspect: Runner,
    reference: Runner,
    first_batch: int = 0,
    seconds: float | None = None,
    progress: Progress = silent,
) -> FuzzResult:
    """Run random programs on two sides and compare the whole state after each batch.

    A batch that differs is run again, program by program, and the first program that differs is
    shrunk; see `first_failure`. The campaign ends there.

    Parameters
    ----------
    seed : int
    count : int, optional
        Number of programs; no limit if not given. The first ones of a longer campaign are the same.
    config : EngineConfig
        Memory sizes of both sides.
    illegal : float
        See `make_batch`.
    suspect, reference : Runner
        The two sides.
    first_batch : int
        Leave out the batches before that.
    seconds : float, optional
        Wall time after which no further batch is compared.
    progress : callable
        Told of programs compared, as step ``fuzz``.
    """
    result = FuzzResult(seed, config, illegal)
    start = time.monotonic()
    batches = _batches(seed, first_batch, count, config, illegal)
    while result.failure is None and (run := _take(batches, BATCHES_PER_RUN)):
        states = {index: batch.state for index, batch in enumerate(run)}
        joined = [batch.joined for batch in run]
        with closing(suspect(joined, states)) as answers:  # one simulator at a time
            for batch, got, expected in zip(run, answers, reference(joined, states), strict=False):
                result.count(batch)
                progress("fuzz", result.programs, count or 0)
                if message := mismatch(got, expected):
                    result.batch = batch.number
                    result.failure = _smallest(batch, message, suspect, reference)
                    break
                if seconds is not None and time.monotonic() - start > seconds:
                    break
        if seconds is not None and time.monotonic() - start > seconds:
            break
    result.seconds = time.monotonic() - start
    return result


def _batches(
    seed: int, first: int, count: int | None, config: EngineConfig, illegal: float
) -> Iterator[Batch]:
    for number in numbers(first):
        done = (number - first) * PROGRAMS
        left = PROGRAMS if count is None else min(PROGRAMS, count - done)
        if left <= 0:
            return
        batch = make_batch(seed, number, config=config, illegal=illegal)
        yield Batch(number, batch.state, batch.programs[:left])


def _take(batches: Iterator[Batch], limit: int) -> Sequence[Batch]:
    return [batch for _, batch in zip(range(limit), batches, strict=False)]


def _smallest(batch: Batch, message: str, suspect: Runner, reference: Runner) -> Failure:
    """The smallest program of a failing batch; the batch itself if nothing less fails."""
    states = {0: batch.state}
    for programs in (batch.programs, [batch.joined]):  # apart, programs do not overlap
        failure = first_failure(programs, states, suspect=suspect, reference=reference)
        if failure is not None:
            return failure
    return Failure(batch.joined, batch.state, message)
