"""The console script: what an interrupt meets while the command is still being imported.

Only the standard library is imported before that is caught.
"""

import os
import signal
import sys
from pathlib import Path

from dve_cli.interrupts import handle_signals

INTERRUPTED = 128 + signal.SIGINT
"""As a shell reports a process that SIGINT ended."""


def entry() -> None:
    """Run ``dve``; an interrupt takes one line, however early or late it comes."""
    handle_signals()
    open_closed_streams()
    try:
        from dve_cli.main import app

        app()
    except KeyboardInterrupt:
        print("dve: error: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the exit of the interpreter is short


def open_closed_streams() -> None:
    """Put the null device, until the exit, in place of standard streams that the caller closed.

    Python has None for them, and the next files to be opened would take their numbers.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
