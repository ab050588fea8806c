"""Child processes that end when we say so, with their children."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType

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
        started: list[subprocess.Popen[bytes]] = []
        with log.open("a") as output:
            output.write(f"$ {' '.join(command)}\n")
            output.flush()
            try:
                with _signals_held():
                    started.append(
                        subprocess.Popen(
                            command,
                            cwd=cwd,
                            env=environment,
                            stdin=subprocess.PIPE,
                            stdout=output,
                            stderr=subprocess.STDOUT,
                            start_new_session=True,  # one group, no SIGINT from the terminal
                        )
                    )
            except FileNotFoundError:
                raise CosimError(
                    f"{command[0]} is not installed; run `dve doctor` to see what is missing"
                ) from None
            except BaseException:
                for process in started:
                    _end(process)
                raise
        (self._process,) = started

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
        _end(self._process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.stdin is not None
    process.stdin.close()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Handle signals at the end: raised while a program starts, one would leave it ownerless."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if callable(handler := signal.getsignal(number))
    }
    for number in handlers:
        signal.signal(number, lambda *signal_and_frame: came.append(signal_and_frame))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number, frame in came:
        handlers[signal.Signals(number)](number, frame)


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
