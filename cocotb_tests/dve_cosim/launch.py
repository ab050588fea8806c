"""Runs a built simulator through cocotb's runner; the process between the parent and it.

A process of its own, because the runner blocks, prints, exits the interpreter on failure, and
behaves differently under pytest and under a user's ``COCOTB_*``, ``WAVES`` and ``GUI`` variables.

Usage, in the job's directory:
``python -m dve_cosim.launch TOP BUILD_DIR SEED RESULTS BENCH [ARGUMENT ...]``.
BENCH is a module of cocotb tests; the arguments are the simulator's.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from cocotb_tools.runner import get_runner


def main(
    top: str, build_dir: str, seed: str, results_xml: str, bench: str, *arguments: str
) -> None:
    """Run a bench to its end."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    get_runner("verilator").test(
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        test_module=bench,
        build_dir=build_dir,
        test_dir=Path.cwd(),
        results_xml=results_xml,
        seed=int(seed),
        test_args=arguments,
    )


def _die_with_parent() -> None:
    """Kill this process group when the parent's end of our standard input closes."""
    while os.read(sys.stdin.fileno(), 1):  # not through the buffer, whose lock blocks our exit
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
