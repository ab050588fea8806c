"""Elements into a memory."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.memory.load import elements, partitions
from dve_golden.memory.walk import Walk


def store(
    memory: NDArray[np.uint8], walk: Walk, first: int, raw: NDArray[np.unsignedinteger]
) -> None:
    """Write consecutive ordinals of every channel, as if one after the other.

    Parameters
    ----------
    memory
        The bytes of the walk's region, [128, active]; changed in place.
    first
        Ordinal of the first column of ``raw``.
    raw
        Bit patterns, [channels, ordinals], of the element's size.
    """
    channels, count = raw.shape
    rows = partitions(memory, walk, channels)
    if walk.contiguous:
        begin = walk.start.offset + walk.size * first
        rows[:, begin : begin + walk.size * count].view(raw.dtype)[:] = raw
        return
    index = walk.offsets(first, first + count) // walk.size
    if not walk.injective:
        # numpy promises no order among equal indices, so only the last write of each is kept.
        index, from_end = np.unique(index[::-1], return_index=True)
        raw = raw[:, count - 1 - from_end]
    elements(rows, raw.dtype)[:, index] = raw
