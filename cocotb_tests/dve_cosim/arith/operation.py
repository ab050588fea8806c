"""What one function of a unit is, and what it is compared with and on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dve_cosim.arith.ieee import Patterns

Block = tuple[Patterns, ...]
"""Operands: ``a``, or ``a`` and ``b``; [n] each. For a converter ``b`` is the control values."""

Blocks = Iterator[Block]
Function = Callable[..., Patterns]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One function of one unit.

    Parameters
    ----------
    name : str
    unit : str
        A key of `dve_cosim.arith.units.UNITS`.
    select : int
        What the unit is told beside the operands.
    bits : int
        Of a result; those above are unspecified.
    exact : callable
        The reference: operands to results.
    second : callable or None
        The same by SoftFloat, if that has it; it gives None for a block that it cannot compute.
    golden : callable or None
        The same by the golden model, if that has it as a function of its own.
    grid : callable
        ``grid(level, seed)``: the operands of level 1, quick, or 2, thorough.
    random : callable
        ``random(count, seed)``: that many more.
    """

    name: str
    unit: str
    select: int = 0
    bits: int = 32
    exact: Function
    second: Callable[..., Patterns | None] | None = None
    golden: Function | None = None
    grid: Callable[[int, int], Blocks]
    random: Callable[[int, int], Blocks]

    @property
    def defined(self) -> np.uint32:
        """Mask of the bits that are specified."""
        return np.uint32((1 << self.bits) - 1)
