# amaranth: UnusedElaboratable=no
# For callers who only ask a unit for its ports and its latency.
"""The units under test behind one set of ports, at the latencies of a preset."""

from collections.abc import Callable
from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.back import verilog
from amaranth.lib.wiring import In
from dve_rtl.alu.arith import Arith
from dve_rtl.alu.bitvec import Bitvec
from dve_rtl.config import EngineConfig
from dve_rtl.convert.narrow import Narrow
from dve_rtl.convert.widen import Widen
from dve_rtl.fp32.adder import Adder
from dve_rtl.fp32.multiplier import Multiplier
from dve_rtl.fp32.reciprocal import Reciprocal
from dve_rtl.lane_program import ARITH, Schedule

from dve_cosim.arith.operator_unit import OPERATOR_BITS, SIZE_BITS, OperatorUnit

TOP = "unit_bench"

UNITS: dict[str, Callable[[EngineConfig], Any]] = {
    "adder": lambda config: Adder(latency=config.add_latency),
    "multiplier": lambda config: Multiplier(latency=config.mul_latency, target=config.target),
    "reciprocal": lambda config: Reciprocal(),
    "widen": lambda config: Widen(latency=config.widen_latency),
    "narrow": lambda config: Narrow(latency=config.narrow_latency),
    "arith": lambda config: OperatorUnit(Arith(latency=Schedule(config).latency(ARITH))),
    "bitvec": lambda config: OperatorUnit(Bitvec(latency=Schedule(config).bitvec_latency)),
}
"""The unit of each name as a preset has it."""


def unit_verilog(unit: Any) -> str:
    """Verilog-2005 of a unit behind the ports that ``unit_bench.cpp`` drives, top ``unit_bench``.

    ``valid`` says that there is an operand, ``ready`` that it is taken in this clock, ``done`` for
    one clock that ``o`` is a result. A pipelined unit's is done exactly its ``latency`` after the
    operand: what comes earlier or later is a wrong result. ``select`` is 1 to subtract, or the
    element type of a converter, whose control values are ``b``, or as an `OperatorUnit` takes it.

    Parameters
    ----------
    unit : Component
        One that `UNITS` gives, or any other that has a ``latency``, an ``o``, and operands with the
        names that those have.
    """
    m = Module()
    m.submodules.unit = unit
    valid, ready, done = Signal(name="valid"), Signal(name="ready"), Signal(name="done")
    a, b, o = (Signal(32, name=name) for name in "abo")
    select = Signal(OPERATOR_BITS + SIZE_BITS, name="select")
    match unit:
        case Reciprocal():
            m.d.comb += [
                unit.i.payload.eq(a),
                unit.i.valid.eq(valid),
                ready.eq(unit.i.ready),
                unit.o.ready.eq(1),
                done.eq(unit.o.valid),
                o.eq(unit.o.payload),
            ]
        case _:
            arriving = Signal(unit.latency)
            m.d.sync += arriving.eq(Cat(valid, arriving))
            m.d.comb += [ready.eq(1), done.eq(arriving[-1]), o.eq(unit.o)]
            operands = {
                "a": a,
                "b": b,
                "i": a,
                "subtract": select,
                "dtype": select,
                "control": b,
                "select": select,
            }
            for name, member in unit.signature.members.items():
                if member.flow is In:
                    m.d.comb += getattr(unit, name).eq(operands[name])
    ports = [valid, ready, a, b, select, done, o]
    return verilog.convert(m, name=TOP, ports=ports, emit_src=False, strip_internal_attrs=True)
