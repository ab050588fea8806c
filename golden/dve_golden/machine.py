"""The golden machine: 64-byte instructions in, architectural state out."""

from dataclasses import dataclass

import numpy as np

from dve_golden.execute import HANDLERS
from dve_golden.execute.operands import Operands
from dve_golden.frontend import sync
from dve_golden.frontend.legality import check_header, validate
from dve_golden.frontend.sync import Post, Unmet
from dve_golden.isa.codec import decode
from dve_golden.isa.enums import RECORD_BYTES, Opcode, Reason, UpdateMode, WaitMode
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import MNEMONICS
from dve_golden.state import State


@dataclass(frozen=True)
class Completion:
    """What the engine reports for one instruction.

    Parameters
    ----------
    sequence
        Position in the order of execution since reset, from 0.
    opcode
        Byte 0 of the record, whether or not the engine knows it.
    reason
        NONE if executed, otherwise the lowest rule that the record breaks.
    """

    sequence: int
    opcode: int
    reason: Reason


class WaitingError(Exception):
    """An instruction waits, and nothing that the machine does by itself will end that.

    The state is as the previous instruction left it: post what is missing and execute again.

    Attributes
    ----------
    sequence : int
        Number of the instruction since reset, from 0.
    opcode : int
        Byte 0 of the record.
    wait_mode : WaitMode
    index : int
        Number of the semaphore or event.
    threshold, value : int
        What it is compared with and what it holds; signed, or 0 or 1 for an event.
    remedy : str
        What another engine has to post.
    completions : tuple of Completion
        Of the instructions before it in the same `Machine.run`.
    """

    def __init__(self, sequence: int, opcode: Opcode, unmet: Unmet) -> None:
        super().__init__(f"instruction {sequence} ({MNEMONICS[opcode]}) waits for {unmet}")
        self.sequence = sequence
        self.opcode = int(opcode)
        self.wait_mode = unmet.mode
        self.index = unmet.index
        self.threshold = unmet.threshold
        self.value = unmet.value
        self.remedy = unmet.remedy
        self.completions: tuple[Completion, ...] = ()


class Machine(State):
    """Executes instructions one after the other, bit-exactly (isa_common.md 4.3, 5.8).

    The bits depend on the data only: not on numpy's version, reduction strategy or threads.

    Nothing happens between two instructions but what the caller does to the state: an instruction
    whose wait does not hold raises `WaitingError`, and executes after the missing `post`.

    Parameters
    ----------
    sbuf_bytes, psum_bytes, generation
        As of the state, `dve_golden.state.State`.

    Raises
    ------
    ValueError
        If a size is not positive.
    """

    def __init__(
        self,
        *,
        sbuf_bytes: int = 64 * 1024,
        psum_bytes: int = 16 * 1024,
        generation: Generation = Generation.CAYMAN,
    ) -> None:
        super().__init__(sbuf_bytes=sbuf_bytes, psum_bytes=psum_bytes, generation=generation)
        self._executed = 0

    def execute(self, instruction: bytes) -> Completion:
        """Wait, validate one record and, if it is legal, let its handler change the state; update.

        A handler loads and widens its sources, does the arithmetic in binary32, narrows the
        results and stores them. An illegal record changes nothing but what its update, if that is
        legal, does to a semaphore or an event. A record with an unknown opcode or a wrong length
        (reasons 1 and 2) neither waits nor updates.

        Raises
        ------
        ValueError
            If there are not exactly 64 bytes, or the record is legal and a control value is none.
        WaitingError
            If its wait does not hold; the state is unchanged.
        """
        if len(instruction) != RECORD_BYTES:
            raise ValueError(f"an instruction is {RECORD_BYTES} bytes long, got {len(instruction)}")
        # The steps are those of isa_common.md 5.8: a to f.
        header = check_header(instruction, self.geometry.generation)
        if header is not None:
            return self._complete(instruction, header.reason)
        opcode, fields = decode(instruction)
        self._wait(opcode, sync.request_of(opcode, fields, "wait"))
        reason = validate(instruction, registers=self.registers, geometry=self.geometry).reason
        update = sync.request_of(opcode, fields, "update")
        updates = update.is_legal(UpdateMode)
        operand = sync.operand_of(self, update) if updates else 0
        if reason is Reason.NONE:
            with np.errstate(all="ignore"):  # infinities and NaN are results like any other
                HANDLERS[opcode](self, Operands(self, fields))
        if updates:
            sync.update(self, update, operand)
        return self._complete(instruction, reason)

    def run(self, program: bytes) -> list[Completion]:
        """Execute a flat array of records in order.

        Raises
        ------
        ValueError
            If the length is not a multiple of 64 bytes; nothing is executed then.
        WaitingError
            If an instruction waits; those before it have been executed, and are named there.
        """
        if len(program) % RECORD_BYTES:
            raise ValueError(
                f"a program is a multiple of {RECORD_BYTES} bytes long, got {len(program)}"
            )
        completions: list[Completion] = []
        try:
            for at in range(0, len(program), RECORD_BYTES):
                completions.append(self.execute(program[at : at + RECORD_BYTES]))
        except WaitingError as error:
            error.completions = tuple(completions)
            raise
        return completions

    def post(self, kind: Post, index: int, value: int = 0) -> None:
        """Change a semaphore or an event as another engine would; see `frontend.sync.post`."""
        sync.post(self, kind, index, value)

    def _wait(self, opcode: Opcode, wait: sync.Request) -> None:
        unmet = sync.wait(self, wait) if wait.is_legal(WaitMode) else None
        if unmet is not None:
            raise WaitingError(self._executed, opcode, unmet)

    def _complete(self, instruction: bytes, reason: Reason) -> Completion:
        completion = Completion(self._executed, instruction[0], reason)
        self._executed += 1
        return completion
