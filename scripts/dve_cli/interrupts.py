"""Ending on a signal: once, with every clean-up, and nothing left running."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CLEAN_UP_SECONDS = 2.0
"""For this long after a signal further ones are ignored: an impatient second Ctrl-C would end the
clean-up of the first."""

SWALLOWED_SECONDS = 0.01
"""Until an interrupt that fell into a destructor is raised again."""


class Terminated(KeyboardInterrupt):
    """A signal other than SIGINT: end as after an interrupt.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__()
        self.number = number


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_raised = float("-inf")
"""When a signal was raised last; whoever handles it, the others must not raise it again."""


@contextmanager
def raised_once() -> Iterator[None]:
    """Within the context, what `handle_signals` does; afterwards all is as before."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    hook = sys.unraisablehook
    handle_signals()
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def handle_signals() -> None:
    """Raise KeyboardInterrupt on SIGINT and `Terminated` on SIGTERM and SIGHUP.

    The default of the last two would skip every clean-up. A signal that is ignored stays so, as
    SIGHUP below ``nohup``.
    """
    global _raised
    _raised = float("-inf")
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)
    hook = sys.unraisablehook

    def unraisable(report: Any) -> None:
        """What is raised in a destructor is lost: an interrupt has to come again."""
        global _raised
        if not isinstance(report.exc_value, KeyboardInterrupt):
            hook(report)
            return
        _raised = float("-inf")
        number = getattr(report.exc_value, "number", signal.SIGINT)
        again = threading.Timer(SWALLOWED_SECONDS, signal.raise_signal, [number])
        again.daemon = True
        again.start()

    sys.unraisablehook = unraisable


def _raise(number: int, frame: object) -> None:
    global _raised
    now = time.monotonic()
    if now - _raised >= CLEAN_UP_SECONDS:
        _raised = now
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)
