"""The tables that ``dve fuzz`` prints."""

from collections import Counter
from collections.abc import Collection

from dve_cosim.coverage import Bin
from dve_cosim.crosses import KINDS, reachable_crosses
from dve_cosim.fuzz import FuzzResult
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.notation import MNEMONICS
from rich import box
from rich.console import Console
from rich.table import Table

SUBJECTS = {
    "rtl": "the RTL, {generation}, {lanes} lanes,",
    "golden": "the golden model started anew",
}


def print_result(result: FuzzResult, on: str) -> None:
    """Print the coverage, the figures, and the difference if there is one."""
    console = Console(highlight=False)
    console.print(_by_opcode(result))
    console.print(_by_cross(result))
    for title, field in (("reason", "reason"), ("memory", "memory"), ("aliasing", "aliasing")):
        counts = _counts(result, field)
        listed = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
        console.print(f"{title}: {listed}", markup=False)
    if never := _never(result):
        console.print(f"never: {', '.join(never)}", markup=False)
    rate = result.programs / result.seconds if result.seconds else 0.0
    console.print(
        f"seed {result.seed}: {result.programs:,} programs, {result.instructions:,} instructions "
        f"on {SUBJECTS[on].format(**vars(result.config))} against the golden model, "
        f"{rate:.1f} programs per second"
    )
    if result.failure is None:
        console.print("[bold green]no difference[/]")
    else:
        console.print(f"[bold red]a difference[/], in batch {result.batch}:")
        console.print(str(result.failure), markup=False, soft_wrap=True)


def _counts(result: FuzzResult, field: str) -> Counter[str]:
    """Instructions by one field of their bins, those left out that have no such thing."""
    counts: Counter[str] = Counter()
    for which, count in result.bins.items():
        counts[getattr(which, field)] += count
    counts.pop("-", None)
    return counts


def _never(result: FuzzResult) -> list[str]:
    """Values of one field that some bin could have had, and none has."""
    return [
        value
        for field in ("reason", "memory", "aliasing")
        for value in sorted({getattr(which, field) for which in result.missed})
        if value not in {getattr(which, field) for which in result.bins}
    ]


def _by_opcode(result: FuzzResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("opcode")
    for heading in ("legal", "illegal", "reasons", "types", "memory", "aliasing", "bins"):
        table.add_column(heading, justify="right")
    labels = {opcode.name: f"{opcode:#04x}" for opcode in sorted(Opcode)}
    labels["unknown"] = "unknown"
    for name, label in labels.items():
        bins = {which: count for which, count in result.bins.items() if which.opcode == name}
        reachable = {which for which in result.reachable if which.opcode == name}
        executed = sum(count for which, count in bins.items() if _is_legal(which))
        table.add_row(
            label,
            f"{executed:,}",
            f"{sum(bins.values()) - executed:,}",
            _share(
                {which.reason for which in bins if not _is_legal(which)},
                {which.reason for which in reachable if not _is_legal(which)},
            ),
            *(
                _share(
                    {getattr(which, field) for which in bins} - {"-"},
                    {getattr(which, field) for which in reachable} - {"-"},
                )
                for field in ("types", "memory", "aliasing")
            ),
            _share(bins.keys(), reachable),
        )
    return table


def _by_cross(result: FuzzResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("element by element")
    for kind in KINDS:
        table.add_column(kind, justify="right")
    reachable = reachable_crosses(result.config.generation)
    for opcode in sorted(Opcode):
        if all(which.opcode != opcode.name for which in reachable):
            continue
        shares = []
        for kind in KINDS:
            both = (
                {which for which in found if which[:2] == (opcode.name, kind)}
                for found in (result.crosses, reachable)
            )
            shares.append(_share(*both))
        table.add_row(f"{opcode:#04x} {MNEMONICS[opcode]}", *shares)
    return table


def _is_legal(which: Bin) -> bool:
    return which.reason == Reason.NONE.name


def _share(hit: Collection[object], reachable: Collection[object]) -> str:
    return f"{len(hit)}/{len(reachable)}" if reachable else "-"
