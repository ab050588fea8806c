"""A unit as a program that runs, and answers whole arrays of operands."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np

from dve_cosim.arith.ieee import Patterns
from dve_cosim.arith.units import TOP
from dve_cosim.build import build_program
from dve_cosim.errors import CosimError
from dve_cosim.progress import Progress, silent

MAIN = Path(__file__).with_name("unit_bench.cpp")


class UnitSimulator:
    """A unit under Verilator; a context manager that ends it.

    Parameters
    ----------
    verilog : str
        Of `dve_cosim.arith.units.unit_verilog`.
    arguments : sequence of str
        Plus arguments, for what else the text reads.
    progress : callable
        Told of step ``build``.

    Raises
    ------
    CosimError
        If it cannot be built or started.
    """

    def __init__(
        self, verilog: str, *, arguments: Sequence[str] = (), progress: Progress = silent
    ) -> None:
        executable = build_program(TOP, verilog, MAIN, progress=progress)
        try:
            self._process = subprocess.Popen(
                [executable, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,  # at most one line, when it ends
                start_new_session=True,  # an interrupt is ours to handle
            )
        except OSError as error:
            raise CosimError(f"cannot start {executable}: {error.strerror}") from error

    def send(self, a: Patterns, b: Patterns | None = None, select: int = 0) -> None:
        """Begin with an array of operands; `receive` must come before the next one.

        Parameters
        ----------
        a, b
            [n]; ``b`` may be left out where the unit has one operand.
        select
            Operation or element type.
        """
        operands = np.empty((len(a), 3), np.uint32)
        operands[:, 0] = a
        operands[:, 1] = 0 if b is None else b
        operands[:, 2] = select
        self._count = len(a)
        assert self._process.stdin is not None
        try:
            # The program reads all of it before it answers: neither waits for the other.
            self._process.stdin.write(np.uint32(len(a)).tobytes())
            self._process.stdin.write(operands.data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def receive(self) -> Patterns:
        """The results for the operands sent, [n].

        Raises
        ------
        CosimError
            If the unit did not give as many, or the program ended.
        """
        assert self._process.stdout is not None
        answer = self._process.stdout.read(4 * self._count)
        if len(answer) != 4 * self._count:
            raise self._died()
        return np.frombuffer(answer, np.uint32)

    def _died(self) -> CosimError:
        code = self._process.wait()
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode(errors="replace").strip()
        return CosimError(f"the unit's simulator ended with exit code {code}: {said or 'silently'}")

    def __enter__(self) -> "UnitSimulator":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):  # of what was not sent any more
                stream.close()
