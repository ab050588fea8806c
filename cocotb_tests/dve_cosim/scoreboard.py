"""What the golden machine makes of programs, and the smallest program that shows a difference.

A failing batch is shrunk to the first instruction that fails on its own. If there is none, because
it takes instructions that overlap in the pipeline, it is shrunk on both sides: to the shortest
prefix that still fails, then to the shortest tail of that prefix, from the golden state before it,
and then by each instruction in between that it fails without.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from dve_golden.isa.enums import RECORD_BYTES, Reason
from dve_golden.isa.text import format_instruction, split_records
from dve_golden.machine import WaitingError
from dve_rtl.config import EngineConfig

from dve_cosim.compare import differences
from dve_cosim.errors import EngineError, WaitError
from dve_cosim.reference import machine_of
from dve_cosim.session import run_batches
from dve_cosim.state import ArchState

SHOWN = 8
"""Differences that a message lists."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one side says of a program.

    Parameters
    ----------
    state : ArchState
        After the last instruction.
    opcode, reason : list of int
        Of each completion.
    stopped : str
        Why the side gave up within the program, which it must not; the rest is void then.
    """

    state: ArchState
    opcode: list[int]
    reason: list[int]
    stopped: str = ""


Outcomes = Generator[Outcome, None, None]
"""One for each program, in order; closing it ends what produces them."""

Runner = Callable[[Sequence[bytes], Mapping[int, ArchState]], Outcomes]
"""Runs programs on persistent state; the mapping holds states to load before some of them."""


def golden(
    programs: Sequence[bytes], states: Mapping[int, ArchState], *, config: EngineConfig
) -> Outcomes:
    """The outcomes on the golden machine; see `Runner`."""
    machine = machine_of(config)
    for index, program in enumerate(programs):
        if index in states:
            states[index].copy_into(machine)
        completions = machine.run(program)
        yield Outcome(
            ArchState.copy_of(machine),
            [completion.opcode for completion in completions],
            [int(completion.reason) for completion in completions],
        )


def golden_afresh(
    programs: Sequence[bytes], states: Mapping[int, ArchState], *, config: EngineConfig
) -> Outcomes:
    """As `golden`, but with another machine for every instruction.

    Differs if a machine keeps anything that is not in the architectural state.
    """
    state = ArchState.reset(config)
    for index, program in enumerate(programs):
        state = states.get(index, state)
        opcode, reason = [], []
        for record in split_records(program):
            (outcome,) = golden([record], {0: state}, config=config)
            state = outcome.state
            opcode += outcome.opcode
            reason += outcome.reason
        yield Outcome(state, opcode, reason)


def rtl(
    programs: Sequence[bytes],
    states: Mapping[int, ArchState],
    *,
    config: EngineConfig,
    **options: Any,
) -> Outcomes:
    """The outcomes on the RTL; see `Runner`. Further options are those of `run_batches`.

    An instruction that hangs, or waits where the reference does not, is an outcome as well: the
    last one.
    """
    results = run_batches(programs, config=config, reloads=states, **options)
    try:
        for result in results:
            yield Outcome(result.state, result.opcode.tolist(), result.reason.tolist())
    except (EngineError, WaitError) as error:
        yield Outcome(ArchState.reset(config), [], [], stopped=str(error))


def mismatch(got: Outcome, expected: Outcome) -> str:
    """The first differences, one per line: completions, then state; empty if there is none."""
    if got.stopped:
        return got.stopped
    lines = []
    answers = zip(got.opcode, got.reason, expected.opcode, expected.reason, strict=True)
    for index, (*one, opcode, reason) in enumerate(answers):
        if one != [opcode, reason]:
            lines.append(
                f"instruction {index}: got opcode {one[0]:#04x} reason {_name(one[1])}, "
                f"expected opcode {opcode:#04x} reason {_name(reason)}"
            )
    lines += map(str, differences(got.state, expected.state, limit=SHOWN))
    return "\n".join(lines[:SHOWN])


def _name(reason: int) -> str:
    return f"{reason} ({Reason(reason).name})" if reason in list(Reason) else str(reason)


@dataclass(frozen=True, eq=False)
class Failure:
    """A program on which two sides differ.

    Parameters
    ----------
    program : bytes
        The instructions.
    state : ArchState
        Before the first of them.
    message : str
        The differences, as `mismatch` lists them.
    """

    program: bytes
    state: ArchState
    message: str

    def __str__(self) -> str:
        return "\n".join((*map(format_instruction, split_records(self.program)), self.message))


def first_failure(
    programs: Sequence[bytes],
    states: Mapping[int, ArchState],
    *,
    suspect: Runner,
    reference: Runner,
) -> Failure | None:
    """Compare two sides on persistent state after each program; shrink the first that differs.

    Parameters
    ----------
    programs : sequence of bytes
        Executed one after the other.
    states : mapping of int to ArchState
        States to load before the programs of these indices, 0 among them.
    suspect, reference : Runner
        The two sides.

    Returns
    -------
    Failure or None
        None if all outcomes are equal.
    """
    before = states[0]
    outcomes = zip(suspect(programs, states), reference(programs, states), strict=True)
    for index, (got, expected) in enumerate(outcomes):
        before = states.get(index, before)
        if message := mismatch(got, expected):
            whole = Failure(programs[index], before, message)
            return _shrink(whole, suspect=suspect, reference=reference)
        before = expected.state
    return None


def _shrink(failure: Failure, *, suspect: Runner, reference: Runner) -> Failure:
    records = split_records(failure.program)
    if alone := _first_alone(records, failure.state, suspect, reference):
        return alone
    ends = range(1, len(records) + 1)
    prefixes = [b"".join(records[:end]) for end in ends]
    shortest = _first(prefixes, [failure.state] * len(ends), suspect, reference)
    if shortest is None:  # it takes what ran before: not reproducible from its state
        return failure
    end = len(shortest.program) // RECORD_BYTES
    steps = reference(records[:end], {0: failure.state})
    states = list(chain([failure.state], (step.state for step in steps)))
    starts = range(end - 1, 0, -1)
    tails = [b"".join(records[start:end]) for start in starts]
    tail = _first(tails, [states[start] for start in starts], suspect, reference) or shortest
    return _thinned(tail, suspect, reference)


def _thinned(failure: Failure, suspect: Runner, reference: Runner) -> Failure:
    """Without every instruction but first and last that the failure does not take."""
    while True:
        records = split_records(failure.program)
        thinner = [
            b"".join((*records[:drop], *records[drop + 1 :])) for drop in range(1, len(records) - 1)
        ]
        # A wait may have been for what the instruction that is left out does.
        thinner = [program for program in thinner if _ends(program, failure.state, reference)]
        found = _first(thinner, [failure.state] * len(thinner), suspect, reference)
        if found is None:
            return failure
        failure = found


def _ends(program: bytes, state: ArchState, reference: Runner) -> bool:
    try:
        list(reference([program], {0: state}))
    except WaitingError:
        return False
    return True


def _first_alone(
    records: Sequence[bytes], state: ArchState, suspect: Runner, reference: Runner
) -> Failure | None:
    """The first instruction on which the sides differ if each one drains before the next."""
    outcomes = zip(suspect(records, {0: state}), reference(records, {0: state}), strict=True)
    for record, (got, expected) in zip(records, outcomes, strict=True):
        if message := mismatch(got, expected):
            return Failure(record, state, message)
        state = expected.state
    return None


def _first(
    programs: Sequence[bytes],
    states: Sequence[ArchState],
    suspect: Runner,
    reference: Runner,
) -> Failure | None:
    """The first program, each on its own state, on which the sides differ."""
    fresh = dict(enumerate(states))
    outcomes = zip(suspect(programs, fresh), reference(programs, fresh), strict=True)
    for program, state, (got, expected) in zip(programs, states, outcomes, strict=True):
        if message := mismatch(got, expected):
            return Failure(program, state, message)
    return None
