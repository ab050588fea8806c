"""Batches of random programs for the fuzzer, each made from the seed and its number alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import EVENTS, SEMAPHORES, Reason
from dve_golden.isa.text import split_records
from dve_golden.machine import Machine
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.corners import MOST_WORK, CornerGenerator
from dve_cosim.generator import executed, with_events
from dve_cosim.mutants import mutants
from dve_cosim.state import ArchState
from dve_cosim.workloads import geometry_of, random_state, work_of

PROGRAMS = 64
"""Of a batch; they run one after the other on one state."""

MOST_INSTRUCTIONS = 8
"""Of a program."""

LONG_EVERY = 100
"""One program in so many is a single long instruction."""

_SHARES_OF_SPECIALS = (0.0, 0.02, 0.02, 0.3)
"""Of NaN, infinities, subnormals and any bits among the words of a state."""

_SHARE_OF_EVENTS = 0.5
"""Of the legal records that wait or update."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Programs to run one after the other.

    Parameters
    ----------
    number : int
        From 0; with the seed it says everything.
    state : ArchState
        Before the first program.
    programs : list of bytes
    """

    number: int
    state: ArchState
    programs: list[bytes]

    @property
    def joined(self) -> bytes:
        """All programs as one."""
        return b"".join(self.programs)


def make_batch(seed: int, number: int, *, config: EngineConfig, illegal: float) -> Batch:
    """One batch of `PROGRAMS` programs.

    Parameters
    ----------
    seed, number : int
    config : EngineConfig
        Of which only the memory sizes matter: the same programs run on any number of lanes.
    illegal : float
        Share of the records that are altered in fields or bits, or replaced by noise. About nine
        in ten of these are illegal.
    """
    rng = np.random.default_rng([seed, number])
    state = random_state(rng, config, special=rng.choice(_SHARES_OF_SPECIALS))
    state.semaphores[:] = rng.integers(-2, 4, SEMAPHORES).astype(np.uint32)
    state.events[:] = rng.integers(0, 2, EVENTS)
    generator = CornerGenerator(rng, geometry_of(config), state.registers)
    first = number * PROGRAMS
    legal = [
        generator.long_program()
        if at % LONG_EVERY == LONG_EVERY - 1
        else generator.program(int(rng.integers(1, MOST_INSTRUCTIONS + 1)))
        for at in range(first, first + PROGRAMS)
    ]
    # Fills registers that are free: before the machine takes the state.
    makes = mutants(rng, b"".join(legal), state.registers, keep=generator.registers_used)
    slots = _altered(rng, legal, makes, illegal, registers=state.registers, config=config)
    machine = Machine(sbuf_bytes=config.sbuf_bytes, psum_bytes=config.psum_bytes)
    state.copy_into(machine)
    return Batch(number, state, [b"".join(_settled(rng, program, machine)) for program in slots])


def _altered(
    rng: np.random.Generator,
    programs: list[bytes],
    makes: Iterator[bytes],
    share: float,
    *,
    registers: NDArray[np.uint32],
    config: EngineConfig,
) -> list[list[tuple[bytes, bool]]]:
    """The records of each program with whether they are altered: a share of them, by ``makes``."""
    geometry = geometry_of(config)

    def work(record: bytes) -> int:
        verdict = validate(record, registers=registers, geometry=geometry)
        return work_of(record) if verdict.reason is Reason.NONE else 0

    slots = []
    for program in programs:
        spent = sum(map(work_of, split_records(program)))
        is_long = spent > MOST_WORK  # too few of them to spoil any
        slot = []
        for record in split_records(program):
            altered = rng.random() < share and not is_long
            if altered:
                spent -= work_of(record)
                record = next(made for made in makes if spent + work(made) <= MOST_WORK)
                spent += work(record)
            slot.append((record, altered))
        slots.append(slot)
    return slots


def _settled(
    rng: np.random.Generator, slots: list[tuple[bytes, bool]], machine: Machine
) -> Iterator[bytes]:
    """The records with waits and updates, none of which waits in vain."""
    for record, altered in slots:
        if altered or rng.random() >= _SHARE_OF_EVENTS:
            yield executed(record, machine)
        else:
            yield with_events(rng, [record], machine)
