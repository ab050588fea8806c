"""Records one bit away from legal ones: the rules of the front end on either side of a border."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from dve_golden.isa.enums import MAX_CHANNELS, RECORD_BYTES, Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import split_records
from dve_golden.machine import Machine, WaitingError
from dve_rtl.config import EngineConfig

from dve_cosim.operand_types import opcodes_of
from dve_cosim.reference import machine_of
from dve_cosim.state import ArchState
from dve_cosim.workloads import Workload, random_control, random_programs, work_of

MOST_WORK = 8 * MAX_CHANNELS
"""Elements times channels of a neighbour that is legal."""

_SMALL = 4 * 4
"""Elements times channels of the legal records."""

_SMALLEST = {Opcode.TRANSPOSE_BATCH_NORM_STATS2: 32 * 32}
"""The same of an opcode that has no smaller ones."""

_PROGRAM = 1024
"""Records of a program."""


def neighbours(seed: int, config: EngineConfig) -> Workload:
    """Legal records of every opcode with each of their 512 bits flipped, one after the other.

    Left out are neighbours whose wait does not come true, and those with much work to do.
    """
    state, (program,) = random_programs(
        seed, config, programs=1, instructions=600, special=0.02, max_elements=4
    )
    state.control[:] = random_control(np.random.default_rng(seed))
    machine = machine_of(config)
    state.copy_into(machine)
    records = list(_executable(_flipped(_bases(program, config.generation)), machine))
    workload = Workload()
    programs = [b"".join(records[at : at + _PROGRAM]) for at in range(0, len(records), _PROGRAM)]
    workload.append(state, programs)
    return workload


def _bases(program: bytes, generation: Generation) -> list[bytes]:
    """The first record of each opcode that has little work."""
    found: dict[int, bytes] = {}
    for record in split_records(program):
        if work_of(record) <= _SMALLEST.get(Opcode(record[0]), _SMALL):
            found.setdefault(record[0], record)
    assert found.keys() == set(opcodes_of(generation))
    return [found[opcode] for opcode in sorted(found)]


def _flipped(bases: list[bytes]) -> Iterator[bytes]:
    for base in bases:
        word = int.from_bytes(base, "little")
        for bit in range(8 * RECORD_BYTES):
            yield (word ^ 1 << bit).to_bytes(RECORD_BYTES, "little")


def _executable(records: Iterator[bytes], machine: Machine) -> Iterator[bytes]:
    for record in records:
        before = ArchState.copy_of(machine)
        try:
            reason = machine.execute(record).reason
        except WaitingError:
            continue
        if reason is Reason.NONE and work_of(record) > MOST_WORK:
            before.copy_into(machine)
            continue
        yield record
