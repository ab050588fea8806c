"""``dve arith``: the arithmetic units alone, against IEEE 754 in integers and SoftFloat."""

import json
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from dve_cosim.arith.campaign import Outcome, Subject, examine
from dve_cosim.arith.operations import OPERATIONS
from dve_cosim.arith.units import UNITS
from dve_rtl.config import PRESETS
from rich import box
from rich.console import Console
from rich.table import Table

from dve_cli.bars import progress_bars
from dve_cli.choices import known
from dve_cli.files import write_atomically
from dve_cli.revision import revision
from dve_cli.targets import require_targets

DEEP_CASES = 100_000_000
DEPTHS = ("sim", "fpga")
"""Presets of the shallowest and the deepest units."""


def arith(
    unit: Annotated[
        list[str] | None,
        typer.Option(help=f"Only these, of {', '.join(UNITS)}; may be repeated. [default: all]"),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Whose units, of {', '.join(PRESETS)}; may be repeated."
            f" [default: {' and '.join(DEPTHS)}]"
        ),
    ] = None,
    level: Annotated[
        int, typer.Option(min=1, max=2, help="Of the grids: 1 takes seconds, 2 two minutes.")
    ] = 2,
    cases: Annotated[
        int,
        typer.Option(min=0, help="After the grid, random operands up to so many per operation."),
    ] = 0,
    deep: Annotated[
        bool, typer.Option("--deep", help=f"As --level 2 --cases {DEEP_CASES}.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the random operands.")] = 0,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")
    ] = None,
) -> None:
    """Compare the arithmetic units with IEEE 754 in integers and with SoftFloat.

    The units run under Verilator, at the latencies of each preset. The operands are grids in the
    manner of TestFloat: every class and boundary exponent, one-hot and all-ones significands, in
    all pairs; of sums every length of cancellation at every exponent; of elements of 8 and 16 bits
    all; of narrow results every value, midpoint and neighbour, under all control values that have
    a part in them; of the reciprocal every integer to 2^24, and every significand where operand or
    result are subnormal. SoftFloat computes one in 64 of the large grids. Where the golden model
    has the function, it is compared too.

    Exit status 0 if no bit differs, 1 if one does, 2 on bad input or if a simulation fails.

    Examples: dve arith; dve arith --deep --json arith.json; dve arith --unit narrow --level 1
    """
    units = known("--unit", unit or [], UNITS)
    presets = {name: PRESETS[name] for name in known("--preset", preset or DEPTHS, PRESETS)}
    require_targets({"--json": json_out})
    if deep:
        level, cases = 2, max(cases, DEEP_CASES)
    commit = revision()  # before the run: the checkout may move on meanwhile
    outcomes = []
    try:
        with progress_bars() as progress:
            for operation in OPERATIONS:
                if not units or operation.unit in units:
                    outcomes.append(
                        examine(
                            operation,
                            presets,
                            level=level,
                            cases=cases,
                            seed=seed,
                            progress=progress,
                        )
                    )
    finally:
        if outcomes:  # what is known when an interrupt comes is shown
            print_outcomes(outcomes)
    if json_out is not None:
        write_atomically(json_out, _report(outcomes, commit, level, seed))
    if any(outcome.differing for outcome in outcomes):
        raise typer.Exit(1)


def print_outcomes(outcomes: list[Outcome]) -> None:
    """Print the table, and the first difference of everything that differs."""
    console = Console(highlight=False)
    names = list(dict.fromkeys(name for outcome in outcomes for name in _columns(outcome)))
    table = Table(title="differing results", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("operation")
    for heading in ("cases", *names, "million/s"):
        table.add_column(heading, justify="right")
    for outcome in outcomes:
        columns = _columns(outcome)
        rate = outcome.cases / outcome.seconds / 1e6 if outcome.seconds else 0.0
        table.add_row(
            outcome.operation,
            f"{outcome.cases:,}",
            *(_cell(columns.get(name), outcome.cases) for name in names),
            f"{rate:.2f}",
        )
    console.print(table)
    for outcome in outcomes:
        for name, subject in outcome.subjects.items():
            if subject.first is not None:
                line = f"{outcome.operation}, {name}: {subject.first}"
                console.print(f"[bold red]different[/] {line}", soft_wrap=True)


def _columns(outcome: Outcome) -> dict[str, Subject]:
    """Subjects by column: presets that share a unit have a column each."""
    return {
        name: subject for names, subject in outcome.subjects.items() for name in names.split(", ")
    }


def _cell(subject: Subject | None, cases: int) -> str:
    if subject is None:
        return "-"
    part = "" if subject.compared == cases else f" of {subject.compared:,}"
    return f"{subject.differing:,}{part}"


def _report(outcomes: list[Outcome], commit: str | None, level: int, seed: int) -> bytes:
    document = {
        "version": metadata.version("opendve"),
        "revision": commit,
        "level": level,
        "seed": seed,
        "differing": sum(outcome.differing for outcome in outcomes),
        "operations": [outcome.described() for outcome in outcomes],
    }
    return f"{json.dumps(document, indent=2)}\n".encode()
