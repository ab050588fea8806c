"""Compares the units, at the latencies of several presets, with the references."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dve_rtl.config import EngineConfig

from dve_cosim.arith.ieee import Patterns
from dve_cosim.arith.operation import Block, Operation
from dve_cosim.arith.simulator import UnitSimulator
from dve_cosim.arith.units import UNITS, unit_verilog
from dve_cosim.progress import Progress, silent

SAMPLE = 64
"""Of so many cases SoftFloat computes one; of blocks up to `FEW`, which it can, all."""

FEW = 1 << 16

SECOND = "SoftFloat"
GOLDEN = "golden"


@dataclass(frozen=True)
class Difference:
    """A result that is not the reference's.

    Parameters
    ----------
    operands : tuple of int
    got, expected : int
        Patterns.
    """

    operands: tuple[int, ...]
    got: int
    expected: int

    def __str__(self) -> str:
        operands = ", ".join(f"{operand:#010x}" for operand in self.operands)
        return f"of {operands}: got {self.got:#010x}, expected {self.expected:#010x}"

    def described(self) -> dict[str, Any]:
        """As JSON takes it; patterns in hexadecimal."""
        return {
            "operands": [f"{operand:#010x}" for operand in self.operands],
            "got": f"{self.got:#010x}",
            "expected": f"{self.expected:#010x}",
        }


@dataclass
class Subject:
    """What is compared with the reference, and how it fared.

    Members
    -------
    compared, differing : int
        Cases.
    first : Difference or None
    """

    compared: int = 0
    differing: int = 0
    first: Difference | None = None

    def compare(self, operands: Block, got: Patterns, expected: Patterns) -> None:
        """Count the cases of a block and those that differ."""
        self.compared += len(expected)
        wrong = np.flatnonzero(got != expected)
        self.differing += len(wrong)
        if len(wrong) and self.first is None:
            at = wrong[0]
            self.first = Difference(
                tuple(int(operand[at]) for operand in operands), int(got[at]), int(expected[at])
            )


@dataclass
class Outcome:
    """What a campaign of one operation found.

    Members
    -------
    operation : str
    cases : int
        Operands for which the reference computed the result.
    seconds : float
        Without the building of simulators.
    subjects : dict of str to Subject
        By preset, or presets, whose unit it is; `GOLDEN` and `SECOND` if the operation has them.
    """

    operation: str
    cases: int = 0
    seconds: float = 0.0
    subjects: dict[str, Subject] = field(default_factory=dict)

    @property
    def differing(self) -> int:
        """Wrong results of all subjects."""
        return sum(subject.differing for subject in self.subjects.values())

    def described(self) -> dict[str, Any]:
        """The figures as JSON takes them; patterns in hexadecimal."""
        return {
            "operation": self.operation,
            "cases": self.cases,
            "seconds": round(self.seconds, 3),
            "subjects": {
                name: {
                    "compared": subject.compared,
                    "differing": subject.differing,
                    "first": None if subject.first is None else subject.first.described(),
                }
                for name, subject in self.subjects.items()
            },
        }


def examine(
    operation: Operation,
    presets: Mapping[str, EngineConfig],
    *,
    level: int,
    cases: int = 0,
    seed: int = 0,
    progress: Progress = silent,
) -> Outcome:
    """Give the operands of a grid, and random ones, to all that computes an operation.

    Parameters
    ----------
    operation : Operation
    presets : mapping of str to EngineConfig
        Whose units to run under Verilator. Those that are the same run once.
    level : int
        Of the grid, 1 or 2.
    cases : int
        Go on with random operands until so many have been compared.
    seed : int
    progress : callable
        Told of step ``build`` and of one named after the operation.

    Raises
    ------
    CosimError
        If a simulator cannot be built or ends early, or if SoftFloat is missing.
    """
    names: dict[str, list[str]] = {}
    for preset, config in presets.items():
        names.setdefault(unit_verilog(UNITS[operation.unit](config)), []).append(preset)
    with ExitStack() as stack:
        simulators = {
            ", ".join(same): stack.enter_context(UnitSimulator(verilog, progress=progress))
            for verilog, same in names.items()
        }
        return _compare(operation, simulators, level, cases, seed, progress)


def _compare(
    operation: Operation,
    simulators: Mapping[str, UnitSimulator],
    level: int,
    cases: int,
    seed: int,
    progress: Progress,
) -> Outcome:
    outcome = Outcome(operation.name)
    subjects = outcome.subjects
    subjects |= {name: Subject() for name in simulators}
    if operation.golden is not None:
        subjects[GOLDEN] = Subject()
    if operation.second is not None:
        subjects[SECOND] = Subject()
    defined = operation.defined
    started = time.monotonic()
    for operands in _blocks(operation, level, cases, seed):
        for simulator in simulators.values():  # they work while the reference does
            simulator.send(*operands, select=operation.select)
        expected = operation.exact(*operands)
        if operation.golden is not None:
            subjects[GOLDEN].compare(operands, operation.golden(*operands), expected)
        if operation.second is not None:
            chosen = slice(None, None, 1 if len(expected) <= FEW else SAMPLE)
            few = tuple(operand[chosen] for operand in operands)
            if (second := operation.second(*few)) is not None:
                subjects[SECOND].compare(few, second, expected[chosen])
        for name, simulator in simulators.items():
            subjects[name].compare(operands, simulator.receive() & defined, expected)
        outcome.cases += len(expected)
        progress(operation.name, outcome.cases, cases if cases >= outcome.cases else 0)
    outcome.seconds = time.monotonic() - started
    return outcome


def first_difference(
    operation: Operation,
    simulator: UnitSimulator,
    *,
    level: int,
    cases: int = 0,
    seed: int = 0,
    progress: Progress = silent,
) -> Difference | None:
    """The first wrong result of one unit on the operands of `examine`; it stops there.

    Raises
    ------
    CosimError
        If the simulator ends early.
    """
    subject = Subject()
    defined = operation.defined
    for operands in _blocks(operation, level, cases, seed):
        simulator.send(*operands, select=operation.select)
        expected = operation.exact(*operands)
        subject.compare(operands, simulator.receive() & defined, expected)
        if subject.first is not None:
            break
        progress(operation.name, subject.compared, 0)
    return subject.first


def _blocks(operation: Operation, level: int, cases: int, seed: int) -> Iterator[Block]:
    """The grid, then as many random operands as are missing then."""
    given = 0
    for block in operation.grid(level, seed):
        given += len(block[0])
        yield block
    if (missing := cases - given) > 0:
        yield from operation.random(missing, seed)
