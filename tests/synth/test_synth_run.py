"""The real tools on a small unit, and an interrupt while they run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from dve_rtl.config import PRESETS
from dve_synth.measure import measure


def test_a_converter_on_the_device():
    """Against the shared cache: the tools run once for each state of the converter."""
    found = measure("narrow", PRESETS["fpga"], latency=4, speed=8, seeds=(1,))
    # Operands and results alone are 36 places of the chain, three pins, and 32 tables.
    assert found.area.ff > 36 + 3
    assert found.area.lut4 > 32
    assert (found.area.dsp, found.area.bram) == (0, 0)
    assert 50 < found.median_mhz < 600
    assert found.path.hops[-1].ns == sum((found.path.logic_ns, found.path.routing_ns))
    begin, *_, end = found.path.hops
    assert begin.name
    assert end.name


def running_below(folder):
    """Processes whose working directory is in ``folder``."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:  # it has ended
            continue
    return found


def test_an_interrupt_ends_the_tools_and_leaves_nothing(tmp_path):
    cache, report = tmp_path / "cache", tmp_path / "report.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from dve_cli.entry import entry; entry()"),
            *("synth", "--unit", "narrow", "--json", str(report)),
        ],
        env=os.environ | {"DVE_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while process.poll() is None and not running_below(cache):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate()
    assert (process.returncode, errors, shown) == (130, "dve: error: interrupted\n", "")
    assert running_below(cache) == []
    assert not report.exists()
    left = [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert [path.suffix for path in left] == [".log"], json.dumps([str(path) for path in left])
