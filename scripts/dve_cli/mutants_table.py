"""The tables that ``dve mutants`` prints."""

from collections.abc import Sequence

from dve_cosim.mutation.report import Report, Result, Verdict
from dve_cosim.mutation.sites import Mutant
from rich import box
from rich.console import Console
from rich.table import Table


def print_report(report: Report) -> None:
    """Print what became of the mutants by module, and every one that should not have survived."""
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("module", overflow="fold")
    for heading in ("mutants", *(verdict.value for verdict in Verdict)):
        table.add_column(heading, justify="right")
    for module in report.modules:
        counts = [report.count(verdict, module) for verdict in Verdict]
        table.add_row(module, *map(_count, (sum(counts), *counts)))
    table.add_section()
    counts = [report.count(verdict) for verdict in Verdict]
    table.add_row("all", *map(_count, (sum(counts), *counts)))
    console.print(table)
    kills = ", ".join(f"{check} {count:,}" for check, count in report.kills.most_common())
    console.print(f"killed by: {kills or '-'}", markup=False)
    console.print(
        f"{report.score:.1%} of the mutants that are not equivalent were killed; "
        f"{report.seconds / 60:.0f} minutes, {report.processor_seconds / 60:.0f} of processor time"
    )
    if report.left_out:
        console.print(f"{report.left_out:,} mutants were left out: no time")
    for result in report.open:
        console.print(_complaint(result), markup=False, soft_wrap=True)
    if not report.open:
        console.print("[bold green]no survivor without explanation[/]")


def print_list(mutants: Sequence[Mutant]) -> None:
    """Print one line for each mutant."""
    console = Console(highlight=False)
    for mutant in mutants:
        line = f"{mutant.id}  {mutant.module}: {mutant.site.shown}: {mutant.change.detail}"
        console.print(line, markup=False, soft_wrap=True)


def print_unknown(ids: Sequence[str]) -> None:
    """Print the entries of ``known.toml`` that the design has outgrown."""
    if ids:
        Console(highlight=False).print(
            f"known.toml describes mutants that this design does not have: {', '.join(ids)}",
            markup=False,
            soft_wrap=True,
        )


def _count(count: int) -> str:
    return f"{count:,}" if count else "-"


def _complaint(result: Result) -> str:
    if result.verdict is Verdict.SURVIVED:
        return f"survived: {result.mutant}"
    return f"killed by {result.check}, against known.toml: {result.mutant}: {result.reason}"
