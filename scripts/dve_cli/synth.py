"""``dve synth``: area and speed of the units on an FPGA."""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from dve_rtl.config import LANE_COUNTS, PRESETS, EngineConfig
from dve_rtl.target import Target
from dve_synth.flow import SPEEDS, tool_versions
from dve_synth.measure import Measurement, measure
from dve_synth.units import SMALL, UNITS

from dve_cli.bars import progress_bars
from dve_cli.choices import known
from dve_cli.errors import UserError
from dve_cli.files import write_atomically
from dve_cli.revision import revision
from dve_cli.synth_table import print_measurements, print_path
from dve_cli.targets import require_targets

DEFAULT_PRESET = "fpga"

DEVICES = Target.ECP5.value
"""Families of devices that the tools are run for."""


def synth(
    unit: Annotated[
        list[str] | None,
        typer.Option(
            help=f"What to measure, of {', '.join(UNITS)}; may be repeated."
            f" [default: {', '.join(SMALL)}]"
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="NAME", help=f"Family of the device: {DEVICES}.")
    ] = DEVICES,
    preset: Annotated[
        str, typer.Option(help=f"Whose units, of {', '.join(PRESETS)}.")
    ] = DEFAULT_PRESET,
    lanes: Annotated[
        int | None, typer.Option(metavar="N", help="Lanes of the engine instead of the preset's.")
    ] = None,
    latency: Annotated[
        int | None,
        typer.Option(metavar="N", help="Latency of the unit instead of the preset's, in clocks."),
    ] = None,
    speed: Annotated[
        int, typer.Option(help=f"Speed grade, of {', '.join(map(str, SPEEDS))}; 8 is the fastest.")
    ] = 8,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Place and route with seeds 1 to N.")
    ] = 3,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")
    ] = None,
) -> None:
    """Measure area and speed of the units on an FPGA, with open tools.

    Yosys maps a unit to an ECP5-85F, nextpnr places and routes it once for each seed. Around the
    unit is a chain of registers that loads operands and unloads results serially: the figures
    include it. Fmax is the median of the seeds. The critical path has the names and lines of our
    source.

    Results are cached. A lane takes minutes, an engine an hour.

    Examples: dve synth; dve synth --unit add --latency 6 --seeds 5;
    dve synth --unit mul --unit acc --json figures.json; dve synth --unit engine --lanes 1
    """
    names = known("--unit", list(dict.fromkeys(unit or SMALL)), UNITS)
    known("--target", [target], [DEVICES])
    config = replace(_config(preset, lanes), target=Target(target))
    if speed not in SPEEDS:
        raise UserError(f"--speed must be one of {', '.join(map(str, SPEEDS))}, got {speed}")
    large = [name for name in UNITS if name not in SMALL]
    if lanes is not None and not set(large) & set(names):
        raise UserError(f"--lanes is for --unit {' and '.join(large)}; no other unit has lanes")
    if latency is not None:
        _check_latency(names, latency)
    require_targets({"--json": json_out})
    versions = tool_versions()
    commit = revision()  # before the run: the checkout may move on meanwhile
    measurements: list[Measurement] = []
    try:
        with progress_bars() as progress:
            for name in names:
                measurements.append(
                    measure(
                        name,
                        config,
                        latency=latency,
                        speed=speed,
                        seeds=range(1, seeds + 1),
                        progress=progress,
                    )
                )
    finally:
        if measurements:  # what is known when an interrupt comes is shown
            print_measurements(measurements, versions)
            for measurement in measurements:
                print_path(measurement)
    if json_out is not None:
        document = {
            "version": metadata.version("opendve"),
            "revision": commit,
            "tools": versions,
            "measurements": [measurement.described() for measurement in measurements],
        }
        write_atomically(json_out, f"{json.dumps(document, indent=2)}\n".encode())


def _config(preset: str, lanes: int | None) -> EngineConfig:
    known("--preset", [preset], PRESETS)
    if lanes is None:
        return PRESETS[preset]
    if lanes not in LANE_COUNTS:
        raise UserError(f"--lanes must be one of {', '.join(map(str, LANE_COUNTS))}, got {lanes}")
    return replace(PRESETS[preset], lanes=lanes)


def _check_latency(names: Sequence[str], latency: int) -> None:
    for name in names:
        deepest = UNITS[name].deepest
        if not deepest:
            raise UserError(f"--latency: {name} has no latency to choose")
        if not 1 <= latency <= deepest:
            raise UserError(f"--latency of {name} must be 1 to {deepest}, got {latency}")
