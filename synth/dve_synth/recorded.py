"""The figures that the documents show: which, where they are kept, and whether they still hold."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dve_rtl.config import PRESETS
from dve_rtl.target import Target

from dve_synth.flow import fingerprint
from dve_synth.units import UNITS, design

FILE = Path(__file__).parents[2] / "docs" / "synthesis.json"

CONFIG = replace(PRESETS["fpga"], target=Target.ECP5)

SPEED = 8

COMMAND = ".venv/bin/python -m dve_synth"


@dataclass(frozen=True)
class Row:
    """A unit at a latency, or at none if it has none to choose, and the seeds that it takes."""

    unit: str
    latency: int | None = None
    seeds: tuple[int, ...] = (1, 2, 3)


ROWS = (
    *(Row("add", latency) for latency in (4, 6, CONFIG.add_latency, 8)),
    *(Row("mul", latency) for latency in (5, CONFIG.mul_latency)),
    Row("acc", CONFIG.add_latency),
    Row("widen", CONFIG.widen_latency),
    Row("narrow", CONFIG.narrow_latency),
    *(Row(unit, UNITS[unit].latency_of(CONFIG)) for unit in ("arith", "bitvec")),
    Row("recip"),
)
"""Those of preset ``fpga``, and what more or fewer registers would give."""


def load() -> list[dict[str, Any]]:
    """The measurements of the file, in its order; none if there is no file.

    Each is what `Measurement.described` gives, with ``revision`` and ``tools``.
    """
    return json.loads(FILE.read_text())["measurements"] if FILE.exists() else []


def recorded(row: Row) -> dict[str, Any]:
    """The measurement of a row.

    Raises
    ------
    KeyError
        If there is none.
    """
    for entry in load():
        if (entry["unit"], entry["latency"]) == (row.unit, row.latency):
            return entry
    raise KeyError(f"{row} is not in {FILE}")


def dumps(measurements: list[dict[str, Any]]) -> bytes:
    """The file with these measurements, in the order of `ROWS`."""
    order = [(row.unit, row.latency) for row in ROWS]
    rows = [entry for entry in measurements if (entry["unit"], entry["latency"]) in order]
    rows.sort(key=lambda entry: order.index((entry["unit"], entry["latency"])))
    return f"{json.dumps({'measurements': rows}, indent=1)}\n".encode()


def is_stale(entry: dict[str, Any]) -> bool:
    """Whether a measurement is of other sources, or of other options, than today's."""
    made = design(entry["unit"], CONFIG, entry["latency"])
    return entry["fingerprint"] != fingerprint(made.verilog)
