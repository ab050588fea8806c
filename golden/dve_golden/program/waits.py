"""Waits and updates of an instruction (isa_common.md 1.3 to 1.5)."""

from typing import NamedTuple, TypedDict

from dve_golden.isa.codec import Fields
from dve_golden.isa.enums import UpdateMode, WaitMode

_U32 = (1 << 32) - 1


class Wait(NamedTuple):
    """What must hold before the instruction starts.

    Members
    -------
    mode : WaitMode
    index : int
        Number of the semaphore or event.
    value : int
        Threshold; in the register forms the number of a register.
    """

    mode: WaitMode
    index: int
    value: int = 0


class Update(NamedTuple):
    """What happens to a semaphore or event when sources are read or the instruction is done.

    Members
    -------
    mode : UpdateMode
    index : int
    value : int
        Addend or new value; in the register forms the number of a register.
    """

    mode: UpdateMode
    index: int
    value: int = 0


class Events(TypedDict, total=False):
    """Keywords of every instruction."""

    wait: Wait
    update: Update


def event_fields(
    *, wait: Wait | None = None, update: Update | None = None, extended: bool = False
) -> Fields:
    """The events of a record; ``extended`` for 0xA0, whose two operands are fields of their own.

    Raises
    ------
    ValueError
        If both need an operand, they differ, and the record has room for one; or a mode is none.
    """
    fields: Fields = {}
    if wait is not None:
        wait = wait._replace(mode=WaitMode(wait.mode))
        fields |= {"events.wait_mode": int(wait.mode), "events.wait_idx": wait.index}
    if update is not None:
        update = update._replace(mode=UpdateMode(update.mode))
        fields |= {"events.update_mode": int(update.mode), "events.update_idx": update.index}
    operands = [part.value for part in (wait, update) if part is not None and _has_operand(part)]
    if extended:
        fields["events.wait_value"] = 0 if wait is None else wait.value & _U32
        fields["events.update_value"] = 0 if update is None else update.value & _U32
    elif operands:
        if operands[0] != operands[-1]:
            raise ValueError(
                f"wait and update share one operand, got {operands[0]} and {operands[1]};"
                " use event_semaphore for one of them"
            )
        fields["events.semaphore_value"] = operands[0] & _U32
    return fields


def _has_operand(part: Wait | Update) -> bool:
    return not {"IMM", "REG"}.isdisjoint(part.mode.name.split("_"))
