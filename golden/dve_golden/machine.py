"""The golden machine: 64-byte instructions in, architectural state out."""

from dataclasses import dataclass

import numpy as np

from dve_golden.execute import HANDLERS
from dve_golden.execute.operands import Operands
from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import decode
from dve_golden.isa.enums import RECORD_BYTES, Reason
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


class Machine(State):
    """Executes instructions one after the other, bit-exactly (isa_common.md 4.3, 5.8).

    The bits depend on the data only: not on numpy's version, reduction strategy or threads. Wait
    and update fields are validated and have no effect: there is nothing to wait for.

    Parameters
    ----------
    sbuf_bytes, psum_bytes
        Configured bytes per partition; the state is that of `dve_golden.state.State`.

    Raises
    ------
    ValueError
        If a size is not positive.
    """

    def __init__(self, *, sbuf_bytes: int = 64 * 1024, psum_bytes: int = 16 * 1024) -> None:
        super().__init__(sbuf_bytes=sbuf_bytes, psum_bytes=psum_bytes)
        self._executed = 0

    def execute(self, instruction: bytes) -> Completion:
        """Validate one record and, if it is legal, let its handler change the state.

        A handler loads and widens its sources, does the arithmetic in binary32, narrows the
        results and stores them. An illegal record changes nothing.

        Raises
        ------
        ValueError
            If there are not exactly 64 bytes.
        """
        if len(instruction) != RECORD_BYTES:
            raise ValueError(f"an instruction is {RECORD_BYTES} bytes long, got {len(instruction)}")
        reason = validate(instruction, registers=self.registers, geometry=self.geometry).reason
        if reason is Reason.NONE:
            opcode, fields = decode(instruction)
            with np.errstate(all="ignore"):  # infinities and NaN are results like any other
                HANDLERS[opcode](self, Operands(self, fields))
        completion = Completion(self._executed, instruction[0], reason)
        self._executed += 1
        return completion

    def run(self, program: bytes) -> list[Completion]:
        """Execute a flat array of records in order.

        Raises
        ------
        ValueError
            If the length is not a multiple of 64 bytes; nothing is executed then.
        """
        if len(program) % RECORD_BYTES:
            raise ValueError(
                f"a program is a multiple of {RECORD_BYTES} bytes long, got {len(program)}"
            )
        return [
            self.execute(program[at : at + RECORD_BYTES])
            for at in range(0, len(program), RECORD_BYTES)
        ]
