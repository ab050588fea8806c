"""How long an instruction may take before the engine counts as hung."""

from math import prod

from dve_golden.isa.codec import decode
from dve_rtl.config import EngineConfig

_FIXED_CYCLES = 10_000
"""Far above the fixed cost of an instruction, with back-pressure on every stream."""

_CYCLES_PER_ELEMENT = 64
"""Above the latency of the element path, for elements that wait for the one before them."""

_MOST_ELEMENTS = 0xFFFF_FFFF
"""That are legal; four counts of an illegal record can ask for more than the simulator can wait."""

HOST_CYCLES = 1_000_000
"""Far above what it takes to load or read back the state, with back-pressure on every stream."""


def cycle_budget(record: bytes, config: EngineConfig) -> int:
    """Clock cycles after which an instruction that has not completed never will.

    Taken from its element counts, legal or not: an illegal one completes at once anyway.
    """
    try:
        _, fields = decode(record)
    except ValueError:  # an opcode that the engine does not execute
        return _FIXED_CYCLES
    counts = [
        prod(value)
        for name, value in fields.items()
        if name.endswith(".num_elem") and not isinstance(value, int)
    ]
    elements = min(max(counts, default=0), _MOST_ELEMENTS) or 1
    channels = fields.get("num_active_channels", 1)
    assert isinstance(channels, int)
    groups = max(1, min(-(-channels // config.lanes), config.groups))
    return _FIXED_CYCLES + _CYCLES_PER_ELEMENT * groups * elements
