"""Which engine the options ``--preset`` and ``--lanes`` mean."""

from typing import Annotated

import typer
from dve_rtl.config import LANE_COUNTS, PRESETS, EngineConfig

from dve_cli.errors import UserError

Preset = Annotated[str | None, typer.Option(help=f"Engine: {', '.join(PRESETS)}. [default: sim]")]
Lanes = Annotated[
    int | None,
    typer.Option(help=f"Preset sim with this many lanes: {', '.join(map(str, LANE_COUNTS))}."),
]


def chosen_engine(preset: str | None, lanes: int | None) -> EngineConfig:
    """The configuration asked for.

    Raises
    ------
    UserError
        If both options are given, or if there is no such engine.
    """
    if preset is not None and lanes is not None:
        raise UserError("give --preset or --lanes, not both: --lanes is preset sim with N lanes")
    if lanes is not None:
        try:
            return PRESETS["sim"].with_lanes(lanes)
        except ValueError as error:
            raise UserError(f"--lanes: {error}") from error
    try:
        return PRESETS[preset or "sim"]
    except KeyError:
        raise UserError(f"--preset must be one of {', '.join(PRESETS)}, got {preset!r}") from None
