"""What nextpnr says of a placed and routed unit, in the names of our source."""

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Area:
    """Cells of a unit with its harness.

    Parameters
    ----------
    lut4 : int
        Tables of four inputs, those of carry chains and of distributed RAM included.
    carry : int
        Of these, in carry chains.
    ff, dsp, bram : int
        Registers, 18 x 18 bit multipliers, block RAMs of 18 Kbit.
    """

    lut4: int
    carry: int
    ff: int
    dsp: int
    bram: int


@dataclass(frozen=True)
class Hop:
    """A place on a path.

    Parameters
    ----------
    ns : float
        Time from the clock edge to here.
    name : str
        Signal of our source, or empty.
    where : str
        File and line of our source, or empty.
    """

    ns: float
    name: str
    where: str


@dataclass(frozen=True)
class Path:
    """The slowest way from a register to a register."""

    hops: tuple[Hop, ...]
    logic_ns: float
    routing_ns: float


def area(report: dict[str, Any], log: str) -> Area:
    """Cells from nextpnr's JSON report and from its log, which alone counts tables by use."""
    used = {cell: count["used"] for cell, count in report["utilization"].items()}

    def count(label: str) -> int:
        match = re.search(rf"{label}: +(\d+)/", log)
        assert match, f"nextpnr's log has no {label}"
        return int(match[1])

    return Area(
        lut4=count("Total LUT4s"),
        carry=count("carry LUTs"),
        ff=count("Total DFFs"),
        dsp=used["MULT18X18D"],
        bram=used["DP16KD"],
    )


def fmax(report: dict[str, Any]) -> float:
    """Highest clock in MHz of a design with one clock."""
    (clock,) = report["fmax"].values()
    return clock["achieved"]


def critical_path(report: dict[str, Any], netlist: dict[str, Any]) -> Path:
    """The slowest path between registers, with the places that have a name in our source.

    Parameters
    ----------
    report : dict
        nextpnr's JSON report.
    netlist : dict
        Yosys's JSON that it is of.
    """
    (clock,) = report["fmax"]
    (path,) = (
        entry["path"]
        for entry in report["critical_paths"]
        if entry["from"] == entry["to"] == f"posedge {clock}"
    )
    (module,) = (m for m in netlist["modules"].values() if "top" in m["attributes"])

    def where(net: str) -> str:
        named = module["netnames"].get(re.sub(r"\[\d+\]$", "", net), {})
        return place(named.get("attributes", {}).get("src", "").split("|"))

    hops: list[Hop] = []
    passed = {"logic": 0.0, "routing": 0.0}
    total = 0.0
    for step in path:
        if step["type"] == "routing":  # a net begins, at the output of a cell
            hop = Hop(total, signal(step["net"]), where(step["net"]) or place(step["sources"]))
            if (hop.name or hop.where) and not (hops and hop.where == hops[-1].where):
                hops.append(hop)
        passed["routing" if step["type"] == "routing" else "logic"] += step["delay"]
        total += step["delay"]
    end = re.split(_CELL, path[-1]["to"]["cell"], maxsplit=1)[0]
    hops.append(Hop(total, signal(end), where(end)))
    return Path(tuple(hops), passed["logic"], passed["routing"])


def signal(net: str) -> str:
    """Name of a net as our source has it; empty if the tools made it up.

    Yosys names what has no name after a named neighbour and the cells between. The output of a
    block RAM stands for its memory.
    """
    net = re.sub(r"(\.\d+)+_DO[AB]\d+(\[\d+\])?$", "", net)
    made_up = re.search(_CELL, net) or net.startswith("$")
    # Amaranth appends a number to a name that another signal has as well.
    return "" if made_up else re.sub(r"\$\d+(?=\[|$)", "", net.removeprefix("unit."))


_CELL = re.compile(
    r"_(?:TRELLIS_(?:FF|COMB|DPR16X4|IO)|LUT4|CCU2C|PFUMX|L6MUX21|MULT18X18D|DP16KD|ALU54B)"
    r"(?![A-Z])|\$(?:CCU2|nextpnr)"
)


def place(sources: list[str]) -> str:
    """The first of the places that is in our source, file and line; empty if none is."""
    return next((at for at in sources if re.fullmatch(r"[\w/]+\.py:\d+", at)), "")
