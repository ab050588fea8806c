"""Tables of the arithmetic units: what their stages do, why they are right, area and speed."""

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from dve_rtl.config import PRESETS, EngineConfig
from dve_rtl.convert import narrow, widen
from dve_rtl.fp32 import adder, multiplier, reciprocal
from dve_rtl.fp32.staging import Stage, place_registers
from dve_synth.recorded import CONFIG, load
from dve_synth.units import UNITS

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
"""Headings and rows."""

# --- stage maps and derivations --------------------------------------------------------------

STAGED: dict[str, tuple[tuple[Stage, ...], Callable[[EngineConfig], int]]] = {
    "adder": (adder.STAGES, lambda config: config.add_latency),
    "multiplier": (multiplier.STAGES, lambda config: config.mul_latency),
    "widen": (widen.STAGES, lambda config: config.widen_latency),
    "narrow": (narrow.STAGES, lambda config: config.narrow_latency),
}
"""Stages of each unit, and the latency that a configuration gives it."""


def stage_map(name: str) -> Table:
    """The clock of each stage at each latency; the presets stand beside theirs."""
    stages, latency_of = STAGED[name]
    latencies = range(1, len(stages) + 1)
    clocks = []
    for latency in latencies:
        registers = place_registers(stages, latency)
        clocks.append([1 + sum(registers[:stage]) for stage in range(len(stages))])
    users: dict[int, list[str]] = {latency: [] for latency in latencies}
    for preset, config in PRESETS.items():
        users[latency_of(config)].append(preset)
    headings = [f"{latency} {', '.join(users[latency])}".strip() for latency in latencies]
    rows: list[tuple[object, ...]] = [
        (stage.does, stage.depth, *(column[index] for column in clocks))
        for index, stage in enumerate(stages)
    ]
    return ("stage", "depth", *headings), rows


DERIVED = {
    module.__name__.rpartition(".")[2]: module
    for module in (adder, multiplier, widen, narrow, reciprocal)
}
"""Modules whose docstring derives the widths, below its first paragraph."""


def derivation(name: str) -> str:
    """What a module says of its algorithm, as Markdown."""
    docstring = ast.get_docstring(ast.parse(inspect.getsource(DERIVED[name])))
    assert docstring, name
    _, _, text = docstring.partition("\n\n")
    assert text, f"{name} derives nothing"
    text = text.replace("``", "`")
    return re.sub(r",? ?::\n\n((?:    .*\n?|\n)+)", _fenced, text).rstrip() + "\n"


def _fenced(block: re.Match[str]) -> str:
    return f":\n\n```text\n{inspect.cleandoc(block[1])}\n```\n\n"


# --- area and speed --------------------------------------------------------------------------


class Peer(NamedTuple):
    """A unit of another project, measured in the same flow and a harness of 33 LUT4 and 68 FF."""

    name: str
    lut4: str
    ff: str
    dsp: int
    mhz: int
    subnormals: str


ADDERS = (
    Peer("HardFloat", "1,410", "316", 0, 68, "yes"),
    Peer("FROST, fused unit as adder; note", "1,714", "678", 0, 102, "yes"),
    Peer("FPnew, 5 stages", "2,398", "453", 0, 43, "yes"),
    Peer("Libre-SOC", "1,607", "334", 0, 48, "yes"),
    Peer("FloPoCo, f = 600", "547", "723", 0, 227, "no"),
)
MULTIPLIERS = (
    Peer("HardFloat", "1,208", "319", 4, 90, "yes"),
    Peer("FROST, latency 11; note", "1,048", "673", 4, 108, "yes"),
    Peer("FPnew, 3 stages", "1,984", "331", 4, 42, "yes"),
    Peer("FloPoCo, any f", "235 to 258", "233 to 451", 4, 115, "no"),
    Peer("bare 24 x 24 product, registers of the DSP used", "114", "267", 4, 317, "-"),
    Peer("bare 24 x 24 product, registers outside the DSP", "114", "363", 4, 175, "-"),
)


def _peers(unit: str, peers: tuple[Peer, ...]) -> Table:
    """Ours, then theirs."""
    headings = ("unit", "LUT4", "FF", "DSP", "Fmax MHz", "subnormals")
    ours = [
        (
            f"**OpenDVE, latency {entry['latency']}**",
            *(f"{entry[cells]:,}" for cells in ("lut4", "ff", "dsp")),
            f"{entry['mhz']:.0f}",
            "yes",
        )
        for entry in load()
        if entry["unit"] == unit
    ]
    return headings, [*ours, *peers]


def add_peers() -> Table:
    """Adders."""
    return _peers("add", ADDERS)


def mul_peers() -> Table:
    """Multipliers."""
    return _peers("mul", MULTIPLIERS)


def figures() -> Table:
    """Every recorded measurement."""

    def row(entry: dict[str, Any]) -> tuple[object, ...]:
        seeds = entry["mhz_by_seed"].values()
        return (
            entry["unit"],
            entry["clocks"],
            *(f"{entry[cells]:,}" for cells in ("lut4", "ff")),
            f"{entry['harness']['lut4']:,} and {entry['harness']['ff']:,}",
            *(f"{entry[cells]:,}" for cells in ("dsp", "bram")),
            f"{entry['mhz']:.0f}",
            f"{min(seeds):.0f} to {max(seeds):.0f}",
        )

    headings = (
        *("unit", "latency", "LUT4", "FF", "of these the harness", "DSP", "BRAM"),
        *("Fmax MHz, median", "by seed"),
    )
    return headings, [row(entry) for entry in load()]


def summary() -> Table:
    """The units as preset ``fpga`` has them."""
    return ("unit on an ECP5-85F", "latency", "LUT4", "FF", "DSP", "BRAM", "Fmax MHz"), [
        (
            *(entry["unit"], entry["clocks"]),
            *(f"{entry[cells]:,}" for cells in ("lut4", "ff", "dsp", "bram")),
            f"{entry['mhz']:.0f}",
        )
        for entry in load()
        if entry["latency"] == UNITS[entry["unit"]].latency_of(CONFIG)
    ]


def paths() -> Table:
    """Where each slowest path runs."""

    def cell(hop: dict[str, Any]) -> str:
        name = re.sub(r"\[\d+\]$", "", hop["name"])
        file, _, line = hop["where"].rpartition("/")[2].partition(":")
        place = f" of `{file}`" if name else f"line {line} of `{file}`"
        return (f"`{name}`" if name else "") + (place if file else "")

    rows = []
    for entry in load():
        path = entry["critical_path"]
        begin, *_, end = path["hops"]
        ns = (f"{path[kind]:.1f}" for kind in ("logic_ns", "routing_ns"))
        rows.append((entry["unit"], entry["clocks"], cell(begin), cell(end), *ns))
    return ("unit", "latency", "from", "to", "logic ns", "routing ns"), rows


def made_of() -> Table:
    """Commit and tools of each measurement."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for entry in load():
        about = (entry["revision"], *entry["tools"].values())
        units = groups.setdefault(about, [])
        if entry["unit"] not in units:
            units.append(entry["unit"])
    return ("figures of", "commit", "Yosys", "nextpnr"), [
        (", ".join(units), f"`{revision}`", *tools) for (revision, *tools), units in groups.items()
    ]


MEASURED: dict[str, Callable[[], Table]] = {
    function.__name__: function
    for function in (summary, add_peers, mul_peers, figures, paths, made_of)
}
