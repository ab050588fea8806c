"""Elements into a memory."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.memory.load import elements, partitions
from dve_golden.memory.walk import Walk


def store(
    memory: NDArray[np.uint8],
    walk: Walk,
    first: int,
    raw: NDArray[np.unsignedinteger],
    where: NDArray[np.bool_] | None = None,
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
    where
        Which of them to write, of the same shape; all of them if not given.
    """
    channels, count = raw.shape
    rows = partitions(memory, walk, channels)
    if walk.contiguous:
        begin = walk.start.offset + walk.size * first
        target = rows[:, begin : begin + walk.size * count].view(raw.dtype)
        np.copyto(target, raw, where=True if where is None else where)
        return
    index = walk.offsets(first, first + count) // walk.size
    targets = elements(rows, raw.dtype)
    if walk.injective:
        targets[:, index] = raw if where is None else np.where(where, raw, targets[:, index])
    elif where is None:
        # numpy promises no order among equal indices, so only the last write of each is kept.
        index, from_end = np.unique(index[::-1], return_index=True)
        targets[:, index] = raw[:, count - 1 - from_end]
    else:
        _store_last(targets, index, raw, where)


def _store_last(
    targets: NDArray[np.unsignedinteger],
    index: NDArray[np.int64],
    raw: NDArray[np.unsignedinteger],
    where: NDArray[np.bool_],
) -> None:
    """Write of each index the last column for which ``where`` holds, which each row decides."""
    order = np.argsort(index)
    index, starts = np.unique(index[order], return_index=True)
    written = np.where(where, np.arange(raw.shape[1]), -1)[:, order]
    last = np.maximum.reduceat(written, starts, axis=1)
    values = np.take_along_axis(raw, np.maximum(last, 0), axis=1)
    targets[:, index] = np.where(last >= 0, values, targets[:, index])
