"""The console script: what an interrupt meets while the command is still being imported.

Only the standard library is imported before that is caught.
"""

import signal
import sys

from dve_cli.interrupts import handle_signals

INTERRUPTED = 128 + signal.SIGINT
"""As a shell reports a process that SIGINT ended."""


def entry() -> None:
    """Run ``dve``; an interrupt takes one line, however early or late it comes."""
    handle_signals()
    try:
        from dve_cli.main import app

        app()
    except KeyboardInterrupt:
        print("dve: error: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the exit of the interpreter is short
