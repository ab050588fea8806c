"""Batches of random programs for the fuzzer, each made from the seed and its number alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import EVENTS, SEMAPHORES, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import split_records
from dve_golden.machine import Machine
from dve_golden.memory.address import Geometry
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.corners import MOST_WORK, CornerGenerator, Slot
from dve_cosim.crossing import Crossing
from dve_cosim.events import executed, with_events
from dve_cosim.long_programs import long_programs
from dve_cosim.mutants import mutants
from dve_cosim.reachable import reachable_crossings
from dve_cosim.reference import geometry_of, machine_of
from dve_cosim.state import ArchState
from dve_cosim.workloads import random_control, random_state, work_of

PROGRAMS = 64
"""Of a batch; they run one after the other on one state."""

MOST_INSTRUCTIONS = 8
"""Of a program."""

AIMS = 64
"""Crossings that a batch is sure to hold, if it has so many legal instructions."""

LONG_EVERY = 100
"""One program in so many is long: the first ones are those of `long_programs`, then random ones of
a single instruction."""

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
        Share of the records that are altered in fields or bits, or replaced by noise. About five
        in six of these are illegal.
    """
    rng = np.random.default_rng([seed, number])
    state = random_state(rng, config, special=rng.choice(_SHARES_OF_SPECIALS))
    state.semaphores[:] = rng.integers(-2, 4, SEMAPHORES).astype(np.uint32)
    state.events[:] = rng.integers(0, 2, EVENTS)
    state.control[:] = random_control(rng)
    geometry = geometry_of(config)
    generator = CornerGenerator(
        rng, geometry, state.registers, aims=_aims(seed, number, geometry.generation)
    )
    programs = [
        _long(generator, at // LONG_EVERY)
        if is_long(at)
        else generator.slots(int(rng.integers(1, MOST_INSTRUCTIONS + 1)), altered=illegal)
        for at in range(number * PROGRAMS, (number + 1) * PROGRAMS)
    ]
    # Fills registers that are free: before the machine takes the state.
    legal = b"".join(slot.record for slots in programs for slot in slots)
    makes = mutants(
        rng, legal, state.registers, keep=generator.registers_used, generation=geometry.generation
    )
    programs = [_altered(slots, makes, state.registers, geometry) for slots in programs]
    machine = machine_of(config)
    state.copy_into(machine)
    return Batch(number, state, [b"".join(_settled(rng, slots, machine)) for slots in programs])


def is_long(program: int) -> bool:
    """Whether the program of this number, over all batches, is a long one."""
    return program % LONG_EVERY == LONG_EVERY - 1


def _long(generator: CornerGenerator, index: int) -> list[Slot]:
    known = list(long_programs(generator.geometry.generation).values())
    program = known[index] if index < len(known) else generator.long_program()
    return [Slot(record, False) for record in split_records(program)]


def _aims(seed: int, batch: int, generation: Generation) -> Iterator[Crossing]:
    """What instructions of a batch shall be: batch by batch every crossing, then all once more."""
    crossings = reachable_crossings(generation)
    lap, first = divmod(batch * AIMS, len(crossings))
    order = np.random.default_rng([seed, lap]).permutation(len(crossings))
    return (crossings[index] for index in order[first : first + AIMS])


def _altered(
    slots: list[Slot],
    makes: Iterator[bytes],
    registers: NDArray[np.uint32],
    geometry: Geometry,
) -> list[Slot]:
    """The records of a program with others, by ``makes``, in the place of those to be altered."""

    def work(record: bytes) -> int:
        verdict = validate(record, registers=registers, geometry=geometry)
        return work_of(record) if verdict.reason is Reason.NONE else 0

    spent = sum(work_of(slot.record) for slot in slots)
    done = []
    for slot in slots:
        if slot.is_altered:
            spent -= work_of(slot.record)
            record = next(made for made in makes if spent + work(made) <= MOST_WORK)
            spent += work(record)
            slot = Slot(record, True)
        done.append(slot)
    return done


def _settled(rng: np.random.Generator, slots: list[Slot], machine: Machine) -> Iterator[bytes]:
    """The records with waits and updates, none of which waits in vain."""
    for slot in slots:
        if slot.is_altered or rng.random() >= _SHARE_OF_EVENTS:
            yield executed(slot.record, machine)
        else:
            yield with_events(rng, [slot.record], machine)
