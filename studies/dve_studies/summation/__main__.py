"""``python -m dve_studies.summation``: measure, show, and write the page's figures."""

from pathlib import Path
from typing import Annotated

import typer
from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import write_together
from dve_cli.main import run_module
from dve_cli.targets import require_targets

from dve_studies.shown import show
from dve_studies.summation import plots, results, tables
from dve_studies.summation.study import CHANNEL, LARGEST, run

COMMAND = "python -m dve_studies.summation"


def study(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help=f"Write {results.FILE} and the figures here; the page's are in docs/studies.",
        ),
    ] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all measurements as JSON.")
    ] = None,
    largest: Annotated[
        int, typer.Option(min=CHANNEL, help="Terms of the longest sum; fewer are quicker.")
    ] = LARGEST,
) -> None:
    """Compare the engine's eight-partial fold with other ways of summing.

    Real gradients and hard cases, errors against exact sums, and what each way costs in hardware.
    Takes about half a minute on one core. `docs/studies/summation.md` explains the tables.

    Examples: python -m dve_studies.summation; python -m dve_studies.summation --largest 4096
    --json sums.json; python -m dve_studies.summation --out docs/studies
    """
    outputs: dict[str, Path | None] = {"--json": json_out}
    if out is not None:
        if not out.is_dir():
            raise UserError(f"--out {out} is not a directory; make it first")
        outputs |= {f"--out, {name}:": out / name for name in (results.FILE, *plots.FIGURES)}
    require_targets(outputs)
    with progress_bars() as progress:
        found = results.rounded(run(largest, progress))
        measured = results.dumps(found)
        files = {} if json_out is None else {json_out: measured}
        if out is not None:
            files[out / results.FILE] = measured
            figures = plots.figures(found, progress)
            files |= {out / name: figure for name, figure in figures.items()}
    write_together(files)
    show(
        ((tables.TITLES[name], make(found)) for name, make in tables.TABLES.items()),
        words=tables.WORDS,
    )


def main() -> None:
    """Run the command; bad input ends it with one line and status 2."""
    run_module(study, COMMAND)


if __name__ == "__main__":
    main()
