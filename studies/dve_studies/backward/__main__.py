"""``python -m dve_studies.backward``: measure, show, and write the page's figures."""

from pathlib import Path
from typing import Annotated

import typer
from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import write_together
from dve_cli.main import run_module
from dve_cli.targets import require_targets

from dve_studies.backward import results, tables
from dve_studies.backward.study import run
from dve_studies.shown import show

COMMAND = "python -m dve_studies.backward"


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
    found = results.loads(measured)
    show(
        ((tables.TITLES[name], make(found)) for name, make in tables.TABLES.items()),
        words={tables.CASE},
    )


def main() -> None:
    """Run the command; bad input ends it with one line and status 2."""
    run_module(study, COMMAND)


if __name__ == "__main__":
    main()
