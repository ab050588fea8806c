"""Elements out of a memory."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.memory.walk import Walk


def load(
    memory: NDArray[np.uint8], walk: Walk, channels: int, first: int, last: int
) -> NDArray[np.unsignedinteger]:
    """Read ordinals ``first`` to ``last - 1`` of every channel.

    Parameters
    ----------
    memory
        The bytes of the walk's region, [128, active].
    channels
        Number of channels; channel k is partition ``walk.start.partition + k``.

    Returns
    -------
    Bit patterns, [channels, last - first], little-endian unsigned integers of the element's size.
    A contiguous walk gives a view of the memory, so use it before the next store.
    """
    rows = partitions(memory, walk, channels)
    element = np.dtype(f"<u{walk.size}")
    if walk.contiguous:
        begin = walk.start.offset + walk.size * first
        return rows[:, begin : begin + walk.size * (last - first)].view(element)
    return np.take(elements(rows, element), walk.offsets(first, last) // walk.size, axis=1)


def partitions(memory: NDArray[np.uint8], walk: Walk, channels: int) -> NDArray[np.uint8]:
    """The rows of ``memory`` that the walk's channels live in."""
    return memory[walk.start.partition : walk.start.partition + channels]


def elements(rows: NDArray[np.uint8], element: np.dtype) -> NDArray[np.unsignedinteger]:
    """The same bytes as whole elements; a start address is a multiple of the element's size."""
    whole = rows.shape[1] // element.itemsize * element.itemsize
    return rows[:, :whole].view(element)
