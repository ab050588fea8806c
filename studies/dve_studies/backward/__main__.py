"""``python -m dve_studies.backward``: measure, show, and write the page's figures."""

import os
from pathlib import Path
from typing import Annotated

import typer
from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import write_together
from dve_cli.main import run_module
from dve_cli.targets import require_targets
from rich import box
from rich.console import Console
from rich.table import Table

from dve_studies.backward import results, tables
from dve_studies.backward.study import run

COMMAND = "python -m dve_studies.backward"

PIPE_WIDTH = 160
"""Columns where standard output is not a terminal."""


def study(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help=f"Write {results.FILE} here; the page's is in docs/studies."
        ),
    ] = None,
) -> None:
    """Measure the backward pass on hard layers, beside one with bf16 intermediates.

    Takes about ten seconds on one core. `docs/studies/backward.md` explains the tables.

    Examples: python -m dve_studies.backward; python -m dve_studies.backward --out docs/studies
    """
    if out is not None:
        if not out.is_dir():
            raise UserError(f"--out {out} is not a directory; make it first")
        require_targets({f"--out, {results.FILE}:": out / results.FILE})
    with progress_bars() as progress:
        measured = results.dumps(run(progress=progress))
    if out is not None:
        write_together({out / results.FILE: measured})
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    for name, make in tables.TABLES.items():
        headings, rows = make(results.loads(measured))
        shown = Table(box=box.SIMPLE_HEAD, title=tables.TITLES[name], title_justify="left")
        for heading in headings:
            shown.add_column(heading, justify="left" if heading == tables.CASE else "right")
        for row in rows:
            shown.add_row(*row)
        console.print(shown)


def main() -> None:
    """Run the command; bad input ends it with one line and status 2."""
    run_module(study, COMMAND)


if __name__ == "__main__":
    main()
