"""The tables that ``dve train`` prints."""

from collections.abc import Callable

from dve_torch.comparison import LABELS, RTL, TORCH, Comparison
from rich import box
from rich.console import Console
from rich.table import Table

ROWS = 11
"""Steps that are shown, about evenly spread, the first and the last among them."""


def print_comparison(comparison: Comparison) -> None:
    """Print loss and accuracy, the deviations from PyTorch's run, and the bits of the RTL."""
    console = Console(highlight=False)
    runs = comparison.runs
    console.print(
        f"Training on handwritten digits, seed {comparison.seed}: "
        f"{runs[TORCH].steps:,} steps of {comparison.batch} digits, SGD"
    )
    others = [name for name in runs if name != TORCH]
    deviations = {name: comparison.deviation(name) for name in others}
    console.print(
        _table(comparison, "loss", list(runs), lambda name, step: f"{runs[name].loss[step]:.6f}")
    )
    console.print(
        _table(
            comparison,
            "held-out digits recognised",
            list(runs),
            lambda name, step: f"{runs[name].accuracy[step]:.1%}",
        )
    )
    console.print(
        _table(
            comparison,
            "largest deviation of a parameter from PyTorch's",
            others,
            lambda name, step: f"{deviations[name][step]:.2g}",
        )
    )
    seconds = ", ".join(f"{LABELS[name]} {run.seconds:.1f} s" for name, run in runs.items())
    console.print(f"time: {seconds}", markup=False)
    if RTL in runs:
        bits = comparison.differing_bits
        colour = "bold red" if bits else "bold green"
        console.print(
            f"differing bits, RTL against golden, {runs[RTL].steps} steps: [{colour}]{bits:,}[/]"
        )


def _table(
    comparison: Comparison, title: str, names: list[str], cell: Callable[[str, int], str]
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("step", justify="right")
    for name in names:
        table.add_column(LABELS[name], justify="right")
    for step in shown_steps(comparison):
        cells = (cell(name, step) if step < comparison.runs[name].steps else "" for name in names)
        table.add_row(f"{step + 1:,}", *cells)
    return table


def shown_steps(comparison: Comparison) -> list[int]:
    """Ordinals of the steps that are shown; the last one of the RTL is among them."""
    last = comparison.runs[TORCH].steps - 1
    steps = {round(last * row / (ROWS - 1)) for row in range(ROWS)}
    return sorted(steps | {run.steps - 1 for run in comparison.runs.values()})
