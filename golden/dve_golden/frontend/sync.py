"""Semaphores and events: waits, updates and the posts of other engines (isa_common.md 1.3 to 1.6).

Functions on the state. A semaphore is a counter modulo 2^32 that compares read as a signed number;
an event is one bit. Setting an event that is set, or clearing one that is clear, is no error.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum

from dve_golden.isa.codec import Fields
from dve_golden.isa.enums import (
    EVENTS,
    REGISTER_OPERAND,
    REGISTERS,
    SEMAPHORES,
    Opcode,
    UpdateMode,
    WaitMode,
)
from dve_golden.state import State

WORD = 1 << 32
"""Semaphores count modulo this."""

DEFINED: Mapping[type[IntEnum], frozenset[int]] = {
    codes: frozenset(map(int, codes)) for codes in (WaitMode, UpdateMode)
}
"""The codes that wait and update modes may have."""

_ACTION = 0x0F
"""Bits of an update mode that say what is done (isa_common.md 1.5)."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a record's events ask for: one wait or one update.

    Parameters
    ----------
    mode
        The code, which may be undefined.
    index
        Number of the semaphore or event.
    value
        The 32-bit operand; in the register forms, bits 7:0 are the number of the register that
        holds it and the rest is ignored.
    """

    mode: int
    index: int
    value: int

    @property
    def register(self) -> int | None:
        """The register that holds the operand; None if it is an immediate."""
        return self.value & 0xFF if self.mode & REGISTER_OPERAND else None

    def is_legal(self, codes: type[IntEnum]) -> bool:
        """Whether the mode is among ``codes`` and its register, if any, exists (reasons 3, 4)."""
        defined = self.mode in DEFINED[codes]
        return defined and (self.register is None or self.register < REGISTERS)


def operand_field(opcode: Opcode, part: str) -> str:
    """Field with the operand of ``part``, "wait" or "update"; only in 0xA0 are there two."""
    if opcode is Opcode.EVENT_SEMAPHORE:
        return f"events.{part}_value"
    return "events.semaphore_value"


def request_of(opcode: Opcode, fields: Fields, part: str) -> Request:
    """The wait or the update of a decoded record; ``part`` is "wait" or "update"."""
    names = (f"events.{part}_mode", f"events.{part}_idx", operand_field(opcode, part))
    mode, index, value = (fields[name] for name in names)
    assert isinstance(mode, int)
    assert isinstance(index, int)
    assert isinstance(value, int)
    return Request(mode, index, value)


def operand_of(state: State, request: Request) -> int:
    """The operand, unsigned 32-bit: the immediate, or what the register holds now."""
    if request.register is None:
        return request.value
    return int(state.registers[request.register])


# --- waits ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Awaited:
    """The condition of a wait.

    Parameters
    ----------
    mode
        The wait mode.
    index
        Number of the semaphore or event.
    threshold
        What it is compared with: a signed 32-bit number, or for an event the awaited bit.
    """

    mode: WaitMode
    index: int
    threshold: int

    @property
    def what(self) -> str:
        """Semaphore or event, and its number."""
        return f"{'event' if self.mode in _EVENT_WAITS else 'semaphore'} {self.index}"

    @property
    def needed(self) -> int | None:
        """The value nearest to the threshold that would end the wait; None if there is none."""
        if self.mode in _EVENT_WAITS:
            return self.threshold
        needed = self.threshold + _compare(self.mode).distance
        return needed if -WORD // 2 <= needed < WORD // 2 else None

    @property
    def remedy(self) -> str:
        """What another engine has to post."""
        if self.needed is None:
            return f"no value of {self.what} ends that"
        return f"another engine has to set {self.what} to {self.needed}"

    def __str__(self) -> str:
        sign = "==" if self.mode in _EVENT_WAITS else _compare(self.mode).sign
        return f"{self.what} {sign} {self.threshold} ({self.mode.name.lower()})"


@dataclass(frozen=True, slots=True)
class Unmet(Awaited):
    """A wait whose condition does not hold.

    Parameters
    ----------
    value
        What the semaphore or event holds, in the notation of the threshold.
    """

    value: int

    def __str__(self) -> str:
        return f"{Awaited.__str__(self)}, but it is {self.value}"


def awaited(mode: WaitMode, index: int, operand: int) -> Awaited:
    """The condition of a wait.

    Parameters
    ----------
    mode
        Not NONE.
    index
        Number of the semaphore or event.
    operand
        The 32-bit word with which a semaphore is compared; an event has none.
    """
    bit = _EVENT_WAITS.get(mode)
    return Awaited(mode, index, _signed(operand) if bit is None else bit[0])


@dataclass(frozen=True, slots=True)
class _Compare:
    """A relation of semaphore and threshold, its sign, and from where on it holds."""

    holds: Callable[[int, int], bool]
    sign: str
    distance: int = 0


_COMPARES: Mapping[int, _Compare] = {
    WaitMode.SEM_EQ_IMM: _Compare(operator.eq, "=="),
    WaitMode.SEM_LT_IMM: _Compare(operator.lt, "<", -1),
    WaitMode.SEM_LE_IMM: _Compare(operator.le, "<="),
    WaitMode.SEM_GT_IMM: _Compare(operator.gt, ">", 1),
    WaitMode.SEM_GE_IMM: _Compare(operator.ge, ">="),
}


def _compare(mode: int) -> _Compare:
    """The register forms compare alike."""
    return _COMPARES[mode & ~REGISTER_OPERAND]


_EVENT_WAITS: Mapping[int, tuple[int, int]] = {
    WaitMode.EVT_SET: (1, 1),
    WaitMode.EVT_SET_THEN_CLEAR: (1, 0),
    WaitMode.EVT_CLEAR: (0, 0),
    WaitMode.EVT_CLEAR_THEN_SET: (0, 1),
}
"""The awaited bit, and the bit that is left behind."""


def wait(state: State, request: Request) -> Unmet | None:
    """Test a legal wait, and if it holds take its side effect.

    THEN_CLEAR and THEN_SET happen together with the successful test. A semaphore wait changes
    nothing, and neither does any wait that does not hold.

    Returns
    -------
    Unmet or None
        What is missing; None if the record may go on.
    """
    if request.mode == WaitMode.NONE:
        return None
    if request.mode in _EVENT_WAITS:
        awaited, left = _EVENT_WAITS[request.mode]
        threshold, value = awaited, int(state.events[request.index])
        if value == awaited:
            state.events[request.index] = left
            return None
    else:
        threshold = _signed(operand_of(state, request))
        value = _signed(int(state.semaphores[request.index]))
        if _compare(request.mode).holds(value, threshold):
            return None
    return Unmet(WaitMode(request.mode), request.index, threshold, value)


# --- updates --------------------------------------------------------------------------------

_EVENT_UPDATES: Mapping[int, int] = {UpdateMode.EVT_SET_READ: 1, UpdateMode.EVT_CLR_READ: 0}
"""The bit that is left behind, by action."""

_SEMAPHORE_UPDATES: Mapping[int, Callable[[int, int], int]] = {
    UpdateMode.SEM_INC_READ: lambda count, _: count + 1,
    UpdateMode.SEM_DEC_READ: lambda count, _: count - 1,
    UpdateMode.SEM_ADD_IMM_READ: lambda count, operand: count + operand,
    UpdateMode.SEM_SUB_IMM_READ: lambda count, operand: count - operand,
    UpdateMode.SEM_WR_IMM_READ: lambda _, operand: operand,
}
"""The new count, by action, before it is taken modulo 2^32. INC and DEC have no operand."""


def update(state: State, request: Request, operand: int) -> None:
    """Carry out a legal update.

    READ and COMPLETE differ in when they happen, which nobody can tell here: an instruction is
    one step of the machine.

    Parameters
    ----------
    operand
        The operand, unsigned 32-bit, as it was when the record was validated.
    """
    if request.mode == UpdateMode.NONE:
        return
    action = request.mode & _ACTION
    if action in _EVENT_UPDATES:
        state.events[request.index] = _EVENT_UPDATES[action]
    else:
        count = int(state.semaphores[request.index])
        state.semaphores[request.index] = _SEMAPHORE_UPDATES[action](count, operand) % WORD


# --- posts ----------------------------------------------------------------------------------


class Post(Enum):
    """What another engine, or the host, can do to a semaphore or an event (isa_common.md 1.6)."""

    SEM_SET = "sem_set"
    SEM_ADD = "sem_add"
    SEM_SUB = "sem_sub"
    EVT_SET = "evt_set"
    EVT_CLR = "evt_clr"


_ACTIONS: Mapping[Post, UpdateMode] = {
    Post.SEM_SET: UpdateMode.SEM_WR_IMM_COMPLETE,
    Post.SEM_ADD: UpdateMode.SEM_ADD_IMM_COMPLETE,
    Post.SEM_SUB: UpdateMode.SEM_SUB_IMM_COMPLETE,
    Post.EVT_SET: UpdateMode.EVT_SET_COMPLETE,
    Post.EVT_CLR: UpdateMode.EVT_CLR_COMPLETE,
}
"""The update that has the same effect."""


def post(state: State, kind: Post, index: int, value: int = 0) -> None:
    """Change a semaphore or an event from outside, between two instructions.

    Parameters
    ----------
    value
        Operand of the semaphore posts, taken modulo 2^32; the event posts have none.

    Raises
    ------
    ValueError
        If there is no semaphore or event of that number.
    """
    semaphore = kind in (Post.SEM_SET, Post.SEM_ADD, Post.SEM_SUB)
    what, count = ("semaphores", SEMAPHORES) if semaphore else ("events", EVENTS)
    if not 0 <= index < count:
        raise ValueError(f"{what} are numbered 0 to {count - 1}, got {index}")
    update(state, Request(_ACTIONS[kind], index, 0), value % WORD)


def _signed(word: int) -> int:
    """An unsigned 32-bit word read as two's complement."""
    return word - WORD if word >> 31 else word
