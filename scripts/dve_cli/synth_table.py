"""How ``dve synth`` shows what it measured."""

import linecache
import os
from pathlib import Path

import dve_rtl
from dve_synth.flow import DEVICE
from dve_synth.measure import Measurement
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 132
"""Columns where standard output is not a terminal."""


def console() -> Console:
    """Standard output, wide enough for a path and its source lines."""
    output = Console(highlight=False)
    if not output.is_terminal and "COLUMNS" not in os.environ:
        output.width = PIPE_WIDTH
    return output


def print_measurements(measurements: list[Measurement], versions: dict[str, str]) -> None:
    """Print the table of area and speed; the clocks by seed are in the order of the seeds."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("unit")
    table.add_column("latency")
    for heading in ("LUT4", "of carries", "FF", "DSP", "BRAM", "Fmax MHz", "by seed"):
        table.add_column(heading, justify="right")
    for measurement in measurements:
        area = measurement.area
        table.add_row(
            measurement.unit,
            measurement.clocks,
            *(f"{n:,}" for n in (area.lut4, area.carry, area.ff, area.dsp, area.bram)),
            f"{measurement.median_mhz:.0f}",
            " ".join(f"{mhz:.0f}" for mhz in measurement.mhz.values()),
        )
    output = console()
    output.print(table)
    tools = ", ".join(f"{tool} {version}" for tool, version in versions.items())
    speed = measurements[0].speed
    output.print(f"{DEVICE}, speed grade {speed}, harness included; {tools}", soft_wrap=True)


def print_path(measurement: Measurement) -> None:
    """Print the critical path: time, signal, place in the source and what stands there."""
    path = measurement.path
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()  # the one that gives way where there is not room for all
    for hop in path.hops:
        line = Text(source_line(hop.where), no_wrap=True, overflow="ellipsis")
        table.add_row(f"{hop.ns:.2f} ns", Text(hop.name), hop.where, line)
    output = console()
    output.print(
        f"\n{measurement.unit}, critical path: {path.logic_ns:.2f} ns logic, "
        f"{path.routing_ns:.2f} ns routing"
    )
    output.print(table)


def source_line(where: str) -> str:
    """The line of our source at a place such as ``dve_rtl/fp32/adder.py:130``; empty if unknown."""
    name, _, number = where.partition(":")
    package, *rest = Path(name).parts or ("",)
    if package != dve_rtl.__name__ or dve_rtl.__file__ is None:
        return ""
    return linecache.getline(
        str(Path(dve_rtl.__file__).parent.joinpath(*rest)), int(number)
    ).strip()
