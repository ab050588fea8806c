"""``dve mutants``: single-point mutants of the exported Verilog, which the tests must notice."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from dve_cosim.engine import engine_verilog
from dve_cosim.mutation.campaign import Campaign, run_campaign
from dve_cosim.mutation.instrument import MOST
from dve_cosim.mutation.records import read_records
from dve_cosim.mutation.sample import sample
from dve_cosim.mutation.selection import CONFIG
from dve_cosim.mutation.sites import Mutant, Site, sites_of

from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import write_atomically
from dve_cli.mutants_table import print_list, print_report, print_unknown
from dve_cli.revision import revision
from dve_cli.targets import require_targets

ROOT = Path(__file__).parents[2]


def mutants(
    count: Annotated[
        int, typer.Option(min=1, max=MOST, help="Mutants, spread over the modules by their size.")
    ] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the choice.")] = 0,
    module: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only modules whose name has NAME in it.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Begin no further mutant after that time.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Mutants to simulate at a time.")] = 2,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write every mutant and its fate as JSON."),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the chosen mutants and run none.")
    ] = False,
) -> None:
    """Make the engine wrong in one place at a time, and see whether the tests notice.

    The mutants are single changes to the exported Verilog: stuck bits, inverted conditions,
    constants off by one, swapped operands, other operators, assignments left out. All are built
    into one simulator of one lane, each behind a select. A short selection of the test suite runs
    on each until a check fails; an arithmetic unit with a mutant inside is first compared with
    IEEE 754 alone, as by dve arith. What survives is compared with the design by Yosys, then looked
    up among the mutants that are known to be equivalent, or explained, with a reason.

    Exit status 0 if every mutant is killed, equivalent or explained, 1 if one is not, 2 on bad
    input or if a build fails.

    Examples: dve mutants; dve mutants --count 500 --seed 7 --json mutants.json;
    dve mutants --module sequencer --count 40; dve mutants --list
    """
    if minutes is not None and not minutes > 0:
        raise UserError(f"--minutes must be above 0, got {minutes:g}")
    require_targets({"--json": json_out})
    records = read_records()
    sites = sites_of(engine_verilog(CONFIG))
    chosen = sample(_of_module(sites, module), count=count, seed=seed)
    unknown = [name for name in records if name not in _ids(sites)]
    if listing:
        print_list(chosen)
        print_unknown(unknown)
        return
    commit = revision()  # before the campaign: the checkout may move on meanwhile
    campaign = Campaign(
        chosen, records, ROOT, jobs=jobs, seconds=None if minutes is None else 60 * minutes
    )
    with progress_bars() as progress:
        report = run_campaign(campaign, progress=progress)
    try:
        if json_out is not None:
            document = {"revision": commit, "seed": seed, **report.described()}
            write_atomically(json_out, f"{json.dumps(document, indent=2)}\n".encode())
    finally:
        print_report(report)
        print_unknown(unknown)
    if report.open:
        raise typer.Exit(1)


def _of_module(
    sites: Mapping[str, Sequence[Site]], module: str | None
) -> Mapping[str, Sequence[Site]]:
    found = {name: inside for name, inside in sites.items() if module is None or module in name}
    if not any(found.values()):
        raise UserError(
            f"--module: nothing to change in modules with {module!r} in their name; "
            f"there are {', '.join(name for name, inside in sites.items() if inside)}"
        )
    return found


def _ids(sites: Mapping[str, Sequence[Site]]) -> set[str]:
    """Of every mutant that could be made."""
    return {
        Mutant(site, change).id
        for inside in sites.values()
        for site in inside
        for change in site.changes
    }
