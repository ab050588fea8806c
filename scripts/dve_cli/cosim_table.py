"""The tables that ``dve cosim`` prints."""

from dve_cosim.figures import SCALES, error_rows, log2, power, short, timed_steps
from dve_cosim.main_result import MainResult
from dve_cosim.schedule import SLOTS
from rich import box
from rich.console import Console
from rich.table import Table


def print_result(result: MainResult) -> None:
    """Print the comparison, the wall times, and the errors of the gradients."""
    console = Console(highlight=False)
    shape = " x ".join(map(str, result.shape))
    lanes = result.config.lanes
    console.print(
        f"Batch-norm backward of {result.workload.source}: {shape}, "
        f"{result.dtype.name.lower()}, {lanes} lane{'s' if lanes > 1 else ''}",
        markup=False,
    )
    console.print(_comparison(result))
    console.print(_mix(result))
    for line in result.first_differences:
        console.print(line, markup=False)
    console.print(_gradients(result))
    scales = "; ".join(f"{name} {scale}" for name, scale in SCALES.items())
    console.print(f"relative to: {scales}", markup=False)
    bound = result.workload.bound_log2
    if bound is not None:
        worst = max(log2(errors.relative) for errors in result.errors.values())
        kept = "[green]kept[/]" if worst <= bound else "[bold red]exceeded[/]"
        console.print(f"bound of the relative errors of this layer: 2^{bound}, {kept}")


def _comparison(result: MainResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("RTL against golden")
    table.add_column("", justify="right")
    table.add_row("instructions", f"{len(result.instructions):,}")
    table.add_row("cycles", f"{result.cycles:,}")
    table.add_row("elements per lane and cycle", f"{result.elements_per_lane_cycle:.4f}")
    table.add_row("share of two-pass bound", f"{result.bound_cycles / result.cycles:.4f}")
    table.add_row("share of fixed costs", f"{1 - result.utilisation[SLOTS]:.4f}")
    host = result.host
    table.add_row("host transfers, cycles", f"{host.transfer:,}")
    table.add_row("  of which hidden", f"{host.hidden:,}")
    table.add_row("cycles with transfers", f"{host.total:,}")
    table.add_row("  share of two-pass bound", f"{result.bound_cycles / host.total:.4f}")
    colour = "bold red" if result.differing_bits else "bold green"
    table.add_row("differing bits", f"[{colour}]{result.differing_bits:,}[/]", end_section=True)
    for step, label in timed_steps(result):
        indent = "  " if step == "python" else ""
        table.add_row(f"{indent}{label}", f"{result.seconds[step]:.2f} s")
    return table


def _mix(result: MainResult) -> Table:
    where = "engine" if result.on_engine else "host"
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(f"coefficients on the {where}")
    for heading in ("instructions", "cycles", "share"):
        table.add_column(heading, justify="right")
    for share in result.mix:
        part = share.cycles / result.cycles
        table.add_row(share.name, f"{share.count:,}", f"{share.cycles:,}", f"{part:.1%}")
    return table


def _gradients(result: MainResult) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("error against float64")
    for heading in ("max ulp", "99.9 % ulp", "ulp of", "max relative"):
        table.add_column(heading, justify="right")
    for label, _, errors in error_rows(result):
        table.add_row(
            label,
            short(errors.max_ulp),
            short(errors.p999_ulp),
            errors.dtype.name.lower(),
            power(errors.relative),
        )
    return table
