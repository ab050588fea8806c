"""How the bytes that an instruction reads meet those that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dve_cosim.places import Place


class Alias(StrEnum):
    """What a source and the destination have to do with each other.

    The order of writes is that of isa_common.md 4.3: element e reads, then writes, then element
    e + 1 begins.
    """

    APART = "apart"
    """In two memories or quadrants, or in two ranges of bytes."""

    INTERLEAVED = "interleaved"
    """The ranges meet, but no byte is both read and written."""

    IN_PLACE = "in place"
    """One walk that never comes back: each element is read just before it is written."""

    OVERLAPS = "overlaps"
    """Bytes are read and later, or at once, written; none is read after it was written."""

    FEEDS = "feeds"
    """Some byte is read after an earlier element has written it."""


@dataclass(frozen=True)
class Footprint:
    """An operand as the elements that it touches.

    Parameters
    ----------
    start : Place
        Of ordinal 0, in the first partition.
    size : int
        Bytes of an element.
    steps, counts : tuple of int
        The access pattern, innermost dimension first.
    """

    start: Place
    size: int
    steps: tuple[int, ...]
    counts: tuple[int, ...]

    def touched(self) -> NDArray[np.int64]:
        """Bytes of the partition by ordinal, [elements, size]."""
        offsets = np.array([self.start.offset])
        for step, count in zip(self.steps, self.counts, strict=True):
            along = self.size * step * np.arange(count)
            offsets = (along[:, None] + offsets[None, :]).reshape(-1)  # the inner one is faster
        return offsets[:, None] + np.arange(self.size)


def alias_of(source: Footprint, result: Footprint, *, elementwise: bool) -> Alias:
    """The class of a source.

    Parameters
    ----------
    source, result : Footprint
        Both inside their partitions.
    elementwise : bool
        Elements are written one by one. If not, every read precedes every write, and nothing is
        ever fed or done in place.
    """
    if source.start[:2] != result.start[:2]:
        return Alias.APART
    reads, writes = source.touched(), result.touched()
    if reads.max() < writes.min() or writes.max() < reads.min():
        return Alias.APART
    length = 1 + max(int(reads.max()), int(writes.max()))
    never = len(writes)
    last_read = np.full(length, -1)
    first_write = np.full(length, never)
    np.maximum.at(last_read, reads, np.arange(len(reads))[:, None])
    np.minimum.at(first_write, writes, np.arange(len(writes))[:, None])
    common = (last_read >= 0) & (first_write < never)
    if not common.any():
        return Alias.INTERLEAVED
    if not elementwise:
        return Alias.OVERLAPS
    if (first_write < last_read)[common].any():
        return Alias.FEEDS
    return Alias.IN_PLACE if source == result else Alias.OVERLAPS
