"""Which bytes an operand touches, element by element (isa_common.md 4.2, 4.3)."""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from dve_golden.memory.address import Location


@dataclass(frozen=True)
class Walk:
    """A nested walk; channel k repeats it in the k-th partition after the first.

    Parameters
    ----------
    start
        First byte of element 0 in channel 0.
    size
        Bytes per element.
    steps
        Signed distance along each dimension, in elements, innermost dimension first.
    counts
        Extent of each dimension, at least 1, innermost dimension first.
    """

    start: Location
    size: int
    steps: tuple[int, ...]
    counts: tuple[int, ...]

    @cached_property
    def count(self) -> int:
        """Number of elements per channel."""
        return prod(self.counts)

    def offsets(self, first: int, last: int) -> NDArray[np.int64]:
        """Byte in the partition of each element, for ordinals ``first`` to ``last - 1``."""
        ordinal = np.arange(first, last)
        elements = np.zeros(last - first, np.int64)
        for step, count in self._moving:
            ordinal, index = np.divmod(ordinal, count)
            elements += index * step
        return self.start.offset + self.size * elements

    @cached_property
    def span(self) -> range:
        """The bytes of a partition between the walk's extremes, both included."""
        reach = [(count - 1) * step for step, count in self._moving]
        low = sum(min(0, distance) for distance in reach)
        high = sum(max(0, distance) for distance in reach)
        offset = self.start.offset
        return range(offset + self.size * low, offset + self.size * (high + 1))

    @cached_property
    def contiguous(self) -> bool:
        """Whether element e + 1 always follows element e directly."""
        expected = 1
        for step, count in self._moving:
            if step != expected:
                return False
            expected *= count
        return True

    @cached_property
    def injective(self) -> bool:
        """Whether it is evident that no two ordinals share a byte.

        It is if every step exceeds the joint reach of all smaller ones. A walk may visit each
        element once without that; callers then take the general path.
        """
        reach = 0
        for step, count in sorted((abs(step), count) for step, count in self._moving):
            if step <= reach:
                return False
            reach += (count - 1) * step
        return True

    @cached_property
    def _moving(self) -> tuple[tuple[int, int], ...]:
        """(step, count) of the dimensions in which anything moves."""
        return tuple((s, n) for s, n in zip(self.steps, self.counts, strict=True) if n > 1)
