"""What can be measured: the arithmetic units, a lane, the engine."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.back import verilog
from dve_rtl.alu.arith import STAGES as ARITH_STAGES
from dve_rtl.alu.arith import Arith
from dve_rtl.alu.bitvec import STAGES as BITVEC_STAGES
from dve_rtl.alu.bitvec import Bitvec
from dve_rtl.config import PARTIALS, EngineConfig
from dve_rtl.convert.narrow import STAGES as NARROW_STAGES
from dve_rtl.convert.narrow import Narrow
from dve_rtl.convert.widen import STAGES as WIDEN_STAGES
from dve_rtl.convert.widen import Widen
from dve_rtl.engine import LANE_MODULE, Engine
from dve_rtl.fp32.accumulator import Accumulator
from dve_rtl.fp32.adder import STAGES as ADDER_STAGES
from dve_rtl.fp32.adder import Adder
from dve_rtl.fp32.multiplier import STAGES as MULTIPLIER_STAGES
from dve_rtl.fp32.multiplier import Multiplier
from dve_rtl.fp32.reciprocal import Reciprocal
from dve_rtl.harness import Harness
from dve_rtl.lane import Lane
from dve_rtl.lane_program import ARITH, Schedule
from dve_rtl.memory.ram import ram_verilog

TOP = "harness"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One kind of component.

    Parameters
    ----------
    about : str
        What it is, in a few words.
    build : callable
        Configuration and latency to component.
    latency : callable or None
        The latency that a configuration has; None if it has none to choose.
    deepest : int
        Longest latency; the shortest is 1.
    clocks : callable
        Latency to what the table says of it, in clocks.
    modules : callable
        Configuration to the Verilog that the component instantiates.
    unobserved : tuple of str
        Outputs that only repeat others, see `Harness`.
    is_small : bool
        Whether it is measured by default.
    """

    about: str
    build: Callable[[EngineConfig, int], Any]
    latency: Callable[[EngineConfig], int] | None = None
    deepest: int = 0
    clocks: Callable[[int], str] = str
    modules: Callable[[EngineConfig], tuple[str, ...]] = lambda config: ()
    unobserved: tuple[str, ...] = ()
    is_small: bool = True

    def latency_of(self, config: EngineConfig) -> int | None:
        """The latency that a configuration has; None if there is none to choose."""
        return None if self.latency is None else self.latency(config)


def _memories(config: EngineConfig) -> tuple[str, ...]:
    return ram_verilog(reads=1), ram_verilog(reads=2)


def _lanes(config: EngineConfig) -> tuple[str, ...]:
    return *_memories(config), _verilog(Lane(config, primitive_ram=True), LANE_MODULE)


UNITS = {
    "add": Unit(
        about="adder and subtracter",
        build=lambda config, latency: Adder(latency=latency),
        latency=lambda config: config.add_latency,
        deepest=len(ADDER_STAGES),
    ),
    "mul": Unit(
        about="multiplier",
        build=lambda config, latency: Multiplier(latency=latency, target=config.target),
        latency=lambda config: config.mul_latency,
        deepest=len(MULTIPLIER_STAGES),
    ),
    "acc": Unit(
        about="accumulator of eight partials; the latency is that of its adder",
        build=lambda config, latency: Accumulator(adder_latency=latency),
        latency=lambda config: config.add_latency,
        deepest=PARTIALS - 1,
        clocks=lambda latency: f"{latency + 1}, fold {3 * latency + 8}",
        unobserved=("o",),  # the adder's result, as `sum` is
    ),
    "widen": Unit(
        about="storage formats to binary32",
        build=lambda config, latency: Widen(latency=latency),
        latency=lambda config: config.widen_latency,
        deepest=len(WIDEN_STAGES),
    ),
    "narrow": Unit(
        about="binary32 to storage formats",
        build=lambda config, latency: Narrow(latency=latency),
        latency=lambda config: config.narrow_latency,
        deepest=len(NARROW_STAGES),
    ),
    "arith": Unit(
        about="operators that do not round",
        build=lambda config, latency: Arith(latency=latency),
        latency=lambda config: Schedule(config).latency(ARITH),
        deepest=len(ARITH_STAGES),
    ),
    "bitvec": Unit(
        about="operators on raw bits",
        build=lambda config, latency: Bitvec(latency=latency),
        latency=lambda config: Schedule(config).bitvec_latency,
        deepest=len(BITVEC_STAGES),
    ),
    "recip": Unit(
        about="reciprocal, one operand at a time",
        build=lambda config, latency: Reciprocal(),
        clocks=lambda latency: "13, one operand a time",
    ),
    "lane": Unit(
        about="one lane with its memories",
        build=lambda config, latency: Lane(config, primitive_ram=True),
        clocks=lambda latency: "-",
        modules=_memories,
        is_small=False,
    ),
    "engine": Unit(
        about="the engine of a preset",
        build=lambda config, latency: Engine(config),
        clocks=lambda latency: "-",
        modules=_lanes,
        is_small=False,
    ),
}

SMALL = tuple(name for name, unit in UNITS.items() if unit.is_small)


@dataclass(frozen=True)
class Design:
    """A unit in its harness.

    Parameters
    ----------
    verilog : str
        Verilog-2005, top module ``harness``, with the places in our source.
    harness_lut4, harness_ff : int
        What of it is the harness.
    """

    verilog: str
    harness_lut4: int
    harness_ff: int


def design(name: str, config: EngineConfig, latency: int | None) -> Design:
    """A unit in its harness.

    Parameters
    ----------
    name : str
        A key of `UNITS`.
    config : EngineConfig
    latency : int or None
        Of a unit that has one to choose.

    Raises
    ------
    ValueError
        If the unit cannot have this latency.
    """
    unit = UNITS[name]
    harness = Harness(unit.build(config, latency or 0), unobserved=unit.unobserved)
    text = "\n".join([*unit.modules(config), _verilog(harness, TOP)])
    return Design(text, harness.lut4, harness.ff)


def without_places(verilog: str) -> str:
    """The same text without the places in our source: what the tools' results depend on."""
    return re.sub(r'\(\* src = "[^"]*" \*\)', "", verilog)


def _verilog(component: Any, name: str) -> str:
    text = verilog.convert(component, name=name, emit_src=True, strip_internal_attrs=False)
    return re.sub(r'(?<= src = ")[^"]+', lambda where: _without_machine(where[0]), text)


def _without_machine(where: str) -> str:
    """Places in the source with the part of their paths that is the same on every machine."""
    places = []
    for place in where.split("|"):
        ours = re.search(r".*/((?:dve_\w+|amaranth)/.*)", place)
        places.append(ours[1] if ours else place.rpartition("/")[2])
    return "|".join(places)
