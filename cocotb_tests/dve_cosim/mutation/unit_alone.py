"""The unit of a mutant alone, on the operands that the suite gives to the units.

The suite compares the sources of adder, multiplier and converters, at several latencies, with IEEE
754 on millions of operands (``dve_cosim.arith``); through the engine it gives them far fewer. An
instance in the lane is such a source at the latencies of the engine. A mutant inside it stands for
a mistake in the source, so it meets what the source would meet: the operands, the references and
the clock in which a result is due are those of the suite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from amaranth import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib.wiring import Component, In
from dve_rtl.config import EngineConfig
from dve_rtl.lane_program import ACCUMULATORS, MULTIPLIERS

from dve_cosim.arith.operations import OPERATIONS, Operation
from dve_cosim.arith.units import TOP, UNITS, unit_verilog
from dve_cosim.engine import LANE
from dve_cosim.mutation import verilog
from dve_cosim.mutation.instrument import instrumented
from dve_cosim.mutation.sites import Mutant, plain_name

KINDS: Mapping[str, str] = {
    **{f"{LANE}.units.{name}": "multiplier" for name in MULTIPLIERS},
    **{f"{LANE}.units.{name}.adder": "adder" for name in ACCUMULATORS},
    f"{LANE}.units.sub": "adder",
    f"{LANE}.widen0": "widen",
    f"{LANE}.widen1": "widen",
    f"{LANE}.narrow": "narrow",
}
"""The pipelined units of a lane, by module: which of `UNITS` each is."""


@dataclass(frozen=True, eq=False)
class UnitRun:
    """A unit on the operands of its operations.

    Parameters
    ----------
    check : str
    verilog : str
        Of the unit with its mutants behind the ports of `unit_verilog`.
    operations : tuple of Operation
    """

    check: str
    verilog: str = field(repr=False)
    operations: tuple[Operation, ...]

    @property
    def checks(self) -> tuple[str, ...]:
        return (self.check,)


def unit_of(module: str) -> str | None:
    """The unit that a module is, or is a part of; a key of `KINDS`."""
    return next((unit for unit in KINDS if f"{module}.".startswith(f"{unit}.")), None)


def unit_runs(text: str, mutants: Sequence[Mutant], config: EngineConfig) -> dict[str, UnitRun]:
    """The run of every unit that has mutants, by the unit's module.

    Parameters
    ----------
    text : str
        The export that the mutants are of.
    mutants : sequence of Mutant
        With the numbers that they have in `instrumented`.
    config : EngineConfig
        Of the export.
    """
    units = dict.fromkeys(unit for mutant in mutants if (unit := unit_of(mutant.module)))
    if not units:
        return {}
    modules = {plain_name(module.name): module for module in verilog.parse(text)}
    runs = {}
    for unit in units:
        alone = _Alone(UNITS[KINDS[unit]](config), modules[unit])
        behind_ports = f"{text}\n{unit_verilog(alone)}"
        operations = tuple(entry for entry in OPERATIONS if entry.unit == KINDS[unit])
        runs[unit] = UnitRun("arith", instrumented(behind_ports, mutants, top=TOP), operations)
    return runs


class _Alone(Component):
    """A module of the text with the ports of the unit that it was made of."""

    def __init__(self, unit: Any, module: verilog.Module) -> None:
        self.latency: int = unit.latency
        self._module = module
        super().__init__(unit.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        members = self.signature.members
        inputs = [name for name in members if members[name].flow is In]
        connections: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for side, names, ports in (
            ("i", inputs, self._module.inputs - {"clk", "rst"}),
            ("o", ["o"], self._module.outputs),
        ):
            for name, port in _matched(names, ports).items():
                connections[f"{side}_{_plain(port)}"] = getattr(self, name)
        m.submodules.unit = Instance(_plain(self._module.name), **connections)
        return m


def _matched(members: Sequence[str], ports: Set[str]) -> dict[str, str]:
    """Member of a unit to port of its module.

    The back end adds a number to a name that occurs twice, and may call a port by something else
    that has its value, which is then the one port without a member. A constant has no port.
    """
    by_name = {_plain(port).partition("$")[0]: port for port in ports}
    matched = {name: by_name[name] for name in members if name in by_name}
    if len(matched) < len(ports):
        unknown, left = ports - set(matched.values()), set(members) - set(matched)
        if len(unknown) != 1 or len(left) != 1:
            raise ValueError(
                f"ports {sorted(unknown)} of a module are of none of the members {sorted(left)}"
            )
        matched |= zip(left, unknown, strict=True)
    return matched


def _plain(name: str) -> str:
    """Without the backslash of an escaped name."""
    return name.removeprefix("\\")
