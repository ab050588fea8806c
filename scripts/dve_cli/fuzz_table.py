"""The tables that ``dve fuzz`` prints."""

from collections import Counter

from dve_cosim.coverage import ALL_TYPES
from dve_cosim.fuzz import FuzzResult
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.notation import MNEMONICS
from rich import box
from rich.console import Console
from rich.table import Table

SUBJECTS = {"rtl": "the RTL, {lanes} lanes,", "golden": "the golden model started anew"}


def print_result(result: FuzzResult, on: str) -> None:
    """Print the coverage, the figures, and the difference if there is one."""
    console = Console(highlight=False)
    console.print(_by_opcode(result))
    for title, field in (("reason", "reason"), ("memory", "memory"), ("aliasing", "aliasing")):
        counts = _counts(result, field)
        listed = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
        console.print(f"{title}: {listed}", markup=False)
    missing = [reason.name for reason in Reason if reason.name not in _counts(result, "reason")]
    if missing:
        console.print(f"never: {', '.join(missing)}", markup=False)
    rate = result.programs / result.seconds if result.seconds else 0.0
    console.print(
        f"seed {result.seed}: {result.programs:,} programs, {result.instructions:,} instructions "
        f"on {SUBJECTS[on].format(lanes=result.config.lanes)} against the golden model, "
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


def _by_opcode(result: FuzzResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("coverage")
    for heading in ("legal", "illegal", "reasons", "types", "memory", "aliasing", "bins"):
        table.add_column(heading, justify="right")
    labels = {opcode.name: MNEMONICS[opcode] for opcode in Opcode} | {"unknown": "unknown opcode"}
    for name, label in labels.items():
        bins = {which: count for which, count in result.bins.items() if which.opcode == name}
        legal = [which for which in bins if which.reason == Reason.NONE.name]
        executed = sum(bins[which] for which in legal)
        distinct = {
            field: len({getattr(which, field) for which in legal} - {"-"})
            for field in ("types", "memory", "aliasing")
        }
        types = f"{distinct['types']} of {len(ALL_TYPES[name])}" if name in ALL_TYPES else "-"
        table.add_row(
            label,
            f"{executed:,}",
            f"{sum(bins.values()) - executed:,}",
            str(len({which.reason for which in bins} - {Reason.NONE.name})),
            types,
            str(distinct["memory"] or "-"),
            str(distinct["aliasing"] or "-"),
            f"{len(bins):,}",
        )
    return table
