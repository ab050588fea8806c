"""Verilog-2005 of the engine: one text that Verilator, Icarus and Yosys read."""

from importlib.metadata import version

from amaranth.back import verilog

from dve_rtl.config import EngineConfig
from dve_rtl.engine import LANE_MODULE, Engine
from dve_rtl.lane import Lane
from dve_rtl.memory.ram import ram_verilog

TOP_MODULE = "dve_engine"


def export_verilog(config: EngineConfig) -> str:
    """The engine, top module ``dve_engine``, with a header that states what it is.

    The lane is converted once and instantiated ``lanes`` times, so that the text hardly grows
    with the lane count.
    """
    parts = [
        _header(config),
        ram_verilog(reads=1),
        ram_verilog(reads=2),
        _convert(Lane(config, primitive_ram=True), LANE_MODULE),
        _convert(Engine(config), TOP_MODULE),
    ]
    return "\n".join(parts)


def _convert(component, name: str) -> str:
    # Sub-modules are named after their top, so those of lane and engine do not collide.
    return verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)


def _header(config: EngineConfig) -> str:
    sizes = "\n".join(
        f"// {name} = {getattr(config, name)}" for name in config.__dataclass_fields__
    )
    return (
        f"// OpenDVE {version('opendve')}, batch-norm path of the vector engine\n"
        f"// SPDX-License-Identifier: Apache-2.0\n{sizes}\n"
    )
