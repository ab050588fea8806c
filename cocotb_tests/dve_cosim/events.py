"""Random waits and updates for records, none of which waits in vain."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from dve_golden.isa.enums import REGISTER_OPERAND, REGISTERS, Opcode, UpdateMode, WaitMode
from dve_golden.machine import Machine, WaitingError

_VALUES = (0, 1, 2, 3, 5, REGISTERS - 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
"""Operands of waits and updates; small ones are also register numbers."""

_INDICES = (0, 1, 2, 255)
"""Few semaphores and events, so that instructions meet on them."""


def with_events(rng: np.random.Generator, records: Iterable[bytes], machine: Machine) -> bytes:
    """The records with random legal waits and updates, none of which waits in vain.

    Parameters
    ----------
    rng : numpy.random.Generator
    records : iterable of bytes
    machine : Machine
        In the state before the first record; left in the state after the last one.
    """
    done = []
    for record in records:
        changed = set_events(rng, record, list(WaitMode)[rng.integers(len(WaitMode))])
        if rng.random() < 0.5:
            changed = _make_equal(changed, machine)
        done.append(executed(changed, machine))
    return b"".join(done)


def executed(record: bytes, machine: Machine) -> bytes:
    """The record after ``machine`` has executed it, without its wait if that was in vain."""
    try:
        machine.execute(record)
    except WaitingError:
        record = record[:4] + bytes([WaitMode.NONE]) + record[5:]
        machine.execute(record)
    return record


def set_events(rng: np.random.Generator, record: bytes, wait: WaitMode) -> bytes:
    """The record with this wait and a random update."""
    update = list(UpdateMode)[rng.integers(len(UpdateMode))]
    data = bytearray(record)
    data[4:8] = wait, rng.choice(_INDICES), update, rng.choice(_INDICES)
    values = [int(value).to_bytes(4, "little") for value in rng.choice(_VALUES, 2)]
    registers = [
        int(rng.integers(REGISTERS)).to_bytes(4, "little") if mode & REGISTER_OPERAND else value
        for mode, value in zip((wait, update), values, strict=True)
    ]
    if record[0] == Opcode.EVENT_SEMAPHORE:
        data[8:16] = b"".join(registers)
    else:  # one word serves both: a register number for whoever takes one
        data[8:12] = registers[0] if wait & REGISTER_OPERAND else registers[1]
    return bytes(data)


def _make_equal(record: bytes, machine: Machine) -> bytes:
    """Let a wait compare with what its semaphore holds: chance would rarely have them equal."""
    held = int(machine.semaphores[record[5]])
    if record[4] & REGISTER_OPERAND:
        (equal,) = np.nonzero(machine.registers == held)
        held = int(equal[-1]) if equal.size else record[8]
    elif record[6] & REGISTER_OPERAND and record[0] != Opcode.EVENT_SEMAPHORE:
        return record  # the word is the number of a register, for the update
    return record[:8] + held.to_bytes(4, "little") + record[12:]
