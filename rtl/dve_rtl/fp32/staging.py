"""The stages of a unit, and where its pipeline registers go."""

from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import NamedTuple

from amaranth import *


class Stage(NamedTuple):
    """One stage of a unit, for its stage map and the placement of its registers."""

    does: str
    """What it does, in a few words."""
    depth: int
    """Estimated logic depth, in levels of 4-input tables."""


def place_registers(stages: tuple[Stage, ...], latency: int) -> tuple[bool, ...]:
    """Which stages end in a register.

    Parameters
    ----------
    stages : tuple of Stage
        The unit's stages in order.
    latency : int
        Registers to place, 1 to ``len(stages)``. The last stage always has one.

    Returns
    -------
    tuple of bool
        One flag per stage. Of all placements the one with the shallowest deepest segment, and
        among those the most even one.

    Raises
    ------
    ValueError
        If ``latency`` is out of range.
    """
    count = len(stages)
    if not 1 <= latency <= count:
        raise ValueError(f"latency must be 1 to {count}, got {latency}")

    def unevenness(cuts: tuple[int, ...]) -> tuple[int, int]:
        edges = (0, *cuts, count)
        segments = [sum(stage.depth for stage in stages[a:b]) for a, b in pairwise(edges)]
        return max(segments), sum(depth * depth for depth in segments)

    cuts = min(combinations(range(1, count), latency - 1), key=unevenness)
    return tuple(end in (*cuts, count) for end in range(1, count + 1))


class Stages:
    """The boundaries of a chain of stages, closed one after the other.

    Parameters
    ----------
    m : Module
        Where the registers are made; they are in the ``sync`` domain and have no reset.
    registers : sequence of bool
        Whether each boundary is a register, or only names its values.
    """

    def __init__(self, m: Module, registers: tuple[bool, ...]):
        self._m = m
        self._registers = registers
        self._closed = 0

    def close(self, **values) -> SimpleNamespace:
        """End a stage; the result holds ``values``, under their names, for the next stage."""
        registered = self._registers[self._closed]
        self._closed += 1
        outputs = SimpleNamespace()
        for name, value in values.items():
            shape = value.shape() if isinstance(value, Value) else Value.cast(value).shape()
            output = Signal(
                shape,
                name=f"{name}_{self._closed}",
                reset_less=registered,
                src_loc_at=1,  # the unit's line, not this one
            )
            self._m.d["sync" if registered else "comb"] += output.eq(value)
            setattr(outputs, name, output)
        return outputs
