"""``dve prove``: properties of the arithmetic units, for all operands."""

import json
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from dve_formal.netlist import yosys_version
from dve_formal.properties import PROPERTIES, Property
from dve_formal.prover import Finding, Verdict
from dve_formal.prover import prove as prove_properties
from dve_formal.solver import bitwuzla_version
from dve_rtl.config import PRESETS
from rich import box
from rich.console import Console
from rich.table import Table

from dve_cli.bars import progress_bars
from dve_cli.choices import known
from dve_cli.errors import UserError
from dve_cli.files import write_atomically
from dve_cli.revision import revision
from dve_cli.targets import require_targets

DEPTHS = ("sim", "fpga")
"""Presets of the shallowest and the deepest units."""

STYLES = {
    Verdict.PROVED: "green",
    Verdict.BOUNDED: "yellow",
    Verdict.OPEN: "yellow",
    Verdict.REFUTED: "bold red",
}


def prove(
    property_: Annotated[
        list[str] | None,
        typer.Option(
            "--property", help="Only these; may be repeated; --list shows them. [default: all]"
        ),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Whose units, of {', '.join(PRESETS)}; may be repeated."
            f" [default: {' and '.join(DEPTHS)}]"
        ),
    ] = None,
    minutes: Annotated[
        float, typer.Option(help="For one proof; then for its restricted form, if it has one.")
    ] = 10,
    list_: Annotated[
        bool, typer.Option("--list", help="Show the properties and prove nothing.")
    ] = False,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the findings as JSON.")
    ] = None,
) -> None:
    """Prove what the arithmetic units promise, for all operands.

    Adder, multiplier and converters, at the latencies of each preset. The specifications are
    separate Verilog, written from IEEE 754; Yosys makes the formulas, with registers as wires, and
    Bitwuzla decides them. That the registers only delay is a property of its own.

    proved: for all operands. bounded: for those named beside it; the whole took too long. open:
    not decided in time. refuted: the operands are shown.

    Exit status 0 if nothing is refuted, 1 if something is, 2 on bad input or if a tool fails.

    Examples: dve prove; dve prove --property add_is_ieee --preset fpga; dve prove --list
    """
    names = known("--property", property_ or [], [entry.name for entry in PROPERTIES])
    chosen = [entry for entry in PROPERTIES if not names or entry.name in names]
    if list_:
        print_properties(chosen)
        return
    presets = {name: PRESETS[name] for name in known("--preset", preset or DEPTHS, PRESETS)}
    if not minutes > 0:
        raise UserError(f"--minutes must be above 0, got {minutes:g}")
    require_targets({"--json": json_out})
    versions = {"Yosys": yosys_version(), "Bitwuzla": bitwuzla_version()}
    commit = revision()  # before the run: the checkout may move on meanwhile
    findings: list[Finding] = []
    try:
        with progress_bars() as progress:
            for finding in prove_properties(
                chosen, presets, seconds=60 * minutes, progress=progress
            ):
                findings.append(finding)
    finally:
        if findings:  # what is known when an interrupt comes is shown
            print_findings(findings, versions)
    if json_out is not None:
        document = {
            "version": metadata.version("opendve"),
            "revision": commit,
            "tools": versions,
            "minutes": minutes,
            "findings": [finding.described() for finding in findings],
        }
        write_atomically(json_out, f"{json.dumps(document, indent=2)}\n".encode())
    if any(finding.verdict is Verdict.REFUTED for finding in findings):
        raise typer.Exit(1)


def print_properties(properties: list[Property]) -> None:
    """Print names and statements."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("property", "unit", "statement"):
        table.add_column(heading)
    for entry in properties:
        table.add_row(entry.name, entry.unit, entry.statement)
    Console(highlight=False).print(table)


def print_findings(findings: list[Finding], versions: dict[str, str]) -> None:
    """Print the table, and the operands that refute a property."""
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("property", "preset", "verdict"):
        table.add_column(heading)
    table.add_column("seconds", justify="right")
    for finding in findings:
        verdict = f"[{STYLES[finding.verdict]}]{finding.verdict.value}[/]"
        if finding.verdict is Verdict.BOUNDED:
            verdict += f": {finding.entry.within}"
        table.add_row(finding.entry.name, finding.preset, verdict, f"{finding.seconds:.1f}")
    console.print(table)
    console.print(", ".join(f"{tool} {version}" for tool, version in versions.items()))
    for finding in findings:
        if finding.verdict is Verdict.REFUTED:
            values = ", ".join(
                f"{name} = {value:#010x}" for name, value in finding.counterexample.items()
            )
            line = f"{finding.entry.name}, {finding.preset}: {values or finding.explanation}"
            console.print("[bold red]refuted[/]", end=" ")
            console.print(line, markup=False, soft_wrap=True)
