"""``python -m dve_studies.training``: measure, show, and write the page's figures."""

from pathlib import Path
from typing import Annotated

import typer
from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import write_together
from dve_cli.main import run_module
from dve_cli.targets import require_targets
from dve_cosim.packages import package_version

from dve_studies.shown import show
from dve_studies.training import plots, results, tables

COMMAND = "python -m dve_studies.training"


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
    steps: Annotated[int, typer.Option(min=1, max=10_000, help="Of each training run.")] = 150,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Runs of each kind.")] = 5,
) -> None:
    """Measure what formats, means and orders of addition do to gradients and to training.

    Takes about four minutes on one core; needs the extra `opendve[torch]`.
    `docs/studies/training.md` explains the tables.

    Examples: python -m dve_studies.training --steps 20 --seeds 1;
    python -m dve_studies.training --out docs/studies
    """
    outputs: dict[str, Path | None] = {"--json": json_out}
    if out is not None:
        if not out.is_dir():
            raise UserError(f"--out {out} is not a directory; make it first")
        outputs |= {f"--out, {name}:": out / name for name in (results.FILE, *plots.FIGURES)}
    require_targets(outputs)
    for package in ("torch", "scikit-learn"):
        package_version(package, what_needs="the study needs", extra="torch")
    from dve_studies.training.study import run  # which loads PyTorch

    with progress_bars() as progress:
        measured = results.dumps(run(steps, seeds, progress))
    found = results.loads(measured)
    files = {} if json_out is None else {json_out: measured}
    if out is not None:
        files[out / results.FILE] = measured
        files |= {out / name: figure for name, figure in plots.figures(found).items()}
    write_together(files)
    show(
        ((tables.TITLES[name], make(found)) for name, make in tables.TABLES.items()),
        words={tables.WAY},
    )


def main() -> None:
    """Run the command; bad input ends it with one line and status 2."""
    run_module(study, COMMAND)


if __name__ == "__main__":
    main()
