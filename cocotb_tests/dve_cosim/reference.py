"""The golden model that corresponds to an engine."""

from dve_golden.machine import Machine
from dve_golden.memory.address import Geometry
from dve_rtl.config import EngineConfig


def geometry_of(config: EngineConfig) -> Geometry:
    """Generation and memory sizes as the golden model takes them."""
    return Geometry(
        sbuf_bytes=config.sbuf_bytes, psum_bytes=config.psum_bytes, generation=config.generation
    )


def machine_of(config: EngineConfig) -> Machine:
    """A golden machine after reset."""
    return Machine(
        sbuf_bytes=config.sbuf_bytes, psum_bytes=config.psum_bytes, generation=config.generation
    )
