"""Child processes that end when we say so, with their children."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from dve_cosim.errors import CosimError

POLL_SECONDS = 0.1


class Child:
    """A running program whose output goes to a log; a context manager.

    On leaving the context the program and every process that it has started are killed if they
    still run. Its standard input is a pipe that closes when this process is gone, however that
    happens.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    cwd, environment
        As for `subprocess.Popen`.
    log : Path
        Both outputs are appended here.

    Raises
    ------
    CosimError
        If the program is not there.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], log: Path
    ) -> None:
        with log.open("a") as output:
            output.write(f"$ {' '.join(command)}\n")
            output.flush()
            try:
                self._process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # one process group, no SIGINT from the terminal
                )
            except FileNotFoundError:
                raise CosimError(
                    f"{command[0]} is not installed; run `dve doctor` to see what is missing"
                ) from None

    def wait(self, seconds: float = POLL_SECONDS) -> int | None:
        """The exit code, or None if the program still runs after this time."""
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def __enter__(self) -> "Child":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()


def run_logged(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    log: Path,
    poll: Callable[[], None],
) -> int:
    """Run a `Child` to its end, calling ``poll`` every tenth of a second; the exit code."""
    with Child(command, cwd=cwd, environment=environment, log=log) as child:
        while (code := child.wait()) is None:
            poll()
        return code
