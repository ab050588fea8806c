"""``python -m dve_synth``: measure what the documents show, and keep it in docs/synthesis.json."""

from typing import Annotated

import typer
from dve_cli.bars import progress_bars
from dve_cli.choices import known
from dve_cli.files import write_atomically
from dve_cli.main import run_module
from dve_cli.revision import revision
from dve_cli.synth_table import print_measurements

from dve_synth import recorded
from dve_synth.flow import tool_versions
from dve_synth.measure import measure
from dve_synth.units import SMALL

COMMAND = "python -m dve_synth"


def record(
    units: Annotated[
        list[str] | None,
        typer.Argument(metavar="[UNIT]...", help=f"Of {', '.join(SMALL)}: which to measure again."),
    ] = None,
) -> None:
    """Measure what docs/synthesis.md shows, and write the figures to docs/synthesis.json.

    Without a name all of them. Commit first: each figure names the commit that it is of. Then run
    tests/docs/doc_tables.py.

    Examples: python -m dve_synth; python -m dve_synth add acc
    """
    names = known("UNIT", units or SMALL, SMALL)
    versions = tool_versions()
    about = {"revision": revision(), "tools": versions}
    found = []
    with progress_bars() as progress:
        for row in recorded.ROWS:
            if row.unit in names:
                found.append(
                    measure(
                        row.unit,
                        recorded.CONFIG,
                        latency=row.latency,
                        speed=recorded.SPEED,
                        seeds=row.seeds,
                        progress=progress,
                    )
                )
    kept = [entry for entry in recorded.load() if entry["unit"] not in names]
    new = [measurement.described() | about for measurement in found]
    write_atomically(recorded.FILE, recorded.dumps(kept + new))
    print_measurements(found, versions)


def main() -> None:
    """Run the command; bad input ends it with one line and status 2."""
    run_module(record, COMMAND)


if __name__ == "__main__":
    main()
