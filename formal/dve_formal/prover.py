"""Proves the properties of a unit, or finds operands that refute them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any

from amaranth.back import verilog
from dve_cosim.arith.units import UNITS
from dve_cosim.progress import Progress, silent
from dve_rtl.config import EngineConfig

from dve_formal.netlist import NETLIST, UNIT, formula_terms, formulas
from dve_formal.pipeline import Unbalanced, latency
from dve_formal.properties import Property
from dve_formal.solver import Answer, decide

RESULT = "o"
"""Port of the units whose latency is promised."""

SHOWN = ("a", "b", "control", "i", "subtract", "sign", "first", "got", "want")
"""Ports of the properties' modules that make up a counterexample, in this order."""


class Verdict(Enum):
    """What became of a property."""

    PROVED = "proved"
    BOUNDED = "bounded"
    """Proved for the operands that the property restricts itself to; the whole took too long."""
    OPEN = "open"
    """Neither proved nor refuted in time."""
    REFUTED = "refuted"


@dataclass(frozen=True)
class Finding:
    """The verdict on one property of one unit.

    Parameters
    ----------
    entry : Property
    preset : str
        Whose unit it is.
    verdict : Verdict
    seconds : float
        Of the solver.
    counterexample : dict of str to int
        Operands and results that refute it.
    explanation : str
        What a structural property found.
    """

    entry: Property
    preset: str
    verdict: Verdict
    seconds: float
    counterexample: Mapping[str, int]
    explanation: str = ""

    def described(self) -> dict[str, Any]:
        """As JSON takes it; patterns in hexadecimal."""
        return {
            "property": self.entry.name,
            "unit": self.entry.unit,
            "preset": self.preset,
            "statement": self.entry.statement,
            "verdict": self.verdict.value,
            "within": self.entry.within if self.verdict is Verdict.BOUNDED else "",
            "seconds": round(self.seconds, 2),
            "counterexample": {name: f"{value:#x}" for name, value in self.counterexample.items()},
            "explanation": self.explanation,
        }


def unit_of(name: str, config: EngineConfig) -> tuple[str, int]:
    """Verilog of the unit that a preset has, module ``unit``, and its latency.

    Parameters
    ----------
    name : str
        A key of `dve_cosim.arith.units.UNITS`.
    config : EngineConfig
    """
    unit = UNITS[name](config)
    text = verilog.convert(unit, name=UNIT, emit_src=False, strip_internal_attrs=True)
    return text, unit.latency


def prove(
    properties: Sequence[Property],
    presets: Mapping[str, EngineConfig],
    *,
    seconds: float,
    progress: Progress = silent,
    units: Callable[[str, EngineConfig], tuple[str, int]] = unit_of,
) -> Iterator[Finding]:
    """Findings on properties, one after the other.

    Parameters
    ----------
    properties : sequence of Property
        Those of a unit beside each other.
    presets : mapping of str to EngineConfig
        Whose units.
    seconds : float
        For each property; as much again for the restricted one if that does not suffice.
    progress : callable
        Told of step ``yosys`` and of one named after each property.
    units : callable
        Gives Verilog and latency of a unit.

    Raises
    ------
    CosimError
        If Yosys or the solver is missing or fails.
    """
    for name, group in groupby(properties, key=lambda entry: entry.unit):
        entries = list(group)
        for preset, config in presets.items():
            text, promised = units(name, config)
            folder = formulas(name, text, entries, progress)
            for entry in entries:
                if entry.structural:
                    yield _check_pipeline(entry, preset, folder, promised)
                else:
                    yield _decide(entry, preset, folder, seconds, progress)


def _check_pipeline(entry: Property, preset: str, folder: Path, promised: int) -> Finding:
    started = monotonic()
    module = json.loads((folder / NETLIST).read_text())["modules"][UNIT]
    try:
        found = latency(module, RESULT)
        explanation = "" if found == promised else f"{found} registers, latency {promised}"
    except Unbalanced as error:
        explanation = str(error)
    verdict = Verdict.REFUTED if explanation else Verdict.PROVED
    return Finding(entry, preset, verdict, monotonic() - started, {}, explanation)


def _decide(
    entry: Property, preset: str, folder: Path, seconds: float, progress: Progress
) -> Finding:
    declarations = (folder / f"{entry.name}.smt2").read_text()
    there = formula_terms(declarations, entry.name)
    terms = {name: _term(entry, name) for name in SHOWN if name in there}

    def ask(*assertions: str) -> Answer:
        formula = "\n".join(
            [
                "(set-logic QF_UFBV)",
                declarations,
                f"(declare-const state |{entry.name}_s|)",
                *(f"(assert {assertion})" for assertion in assertions),
            ]
        )
        return decide(
            formula,
            list(terms.values()),
            seconds=seconds,
            poll=lambda: progress(entry.name, 0, 0),
        )

    started = monotonic()
    fails = f"(not {_term(entry, 'holds')})"
    answer, otherwise = ask(fails), Verdict.PROVED
    if answer.satisfiable is None and entry.within:
        answer, otherwise = ask(fails, _term(entry, "within")), Verdict.BOUNDED
    verdict = {True: Verdict.REFUTED, False: otherwise, None: Verdict.OPEN}[answer.satisfiable]
    values = {name: answer.values[term] for name, term in terms.items() if answer.values}
    return Finding(entry, preset, verdict, monotonic() - started, values)


def _term(entry: Property, name: str) -> str:
    """The value of a port of a property's module, as Yosys names it."""
    return f"(|{entry.name}_n {name}| state)"
