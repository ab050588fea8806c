"""Where tensors lie in the partitions of one memory: first fit, by quadrant."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from dve_golden.memory.address import QUADRANT, WORD_BYTES


class AllocationError(ValueError):
    """A tensor that no partition has room for; the message says what is live."""


@dataclass(frozen=True, eq=False)
class Block:
    """Bytes ``offset`` to ``offset + size - 1`` in the partitions of some quadrants.

    Parameters
    ----------
    name : str
        The tensor that owns the block.
    quadrants : range
        Quadrants of 32 partitions, 0 to 3.
    offset, size : int
        Bytes in each partition.
    """

    name: str
    quadrants: range
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size

    def shares_partitions(self, quadrants: range) -> bool:
        return self.quadrants.start < quadrants.stop and quadrants.start < self.quadrants.stop


class Allocator:
    """First-fit allocation of one memory.

    Blocks in different quadrants may have the same offsets, because they lie in different
    partitions.

    Parameters
    ----------
    memory : str
        Name of the memory, for messages.
    size : int
        Bytes of a partition.
    """

    def __init__(self, memory: str, size: int) -> None:
        self._memory = memory
        self._size = size
        self._live: list[Block] = []  # by offset

    def allocate(
        self, name: str, partition: int, channels: int, size: int, align: int = WORD_BYTES
    ) -> Block:
        """Reserve ``size`` bytes in ``channels`` partitions from ``partition`` on.

        Raises
        ------
        AllocationError
            If there is no free run of that many bytes.
        """
        quadrants = range(partition // QUADRANT, -(-(partition + channels) // QUADRANT))
        for start, end in self._free_runs(quadrants):
            offset = -(-start // align) * align
            if offset + size <= end:
                block = Block(name, quadrants, offset, size)
                insort(self._live, block, key=attrgetter("offset"))
                return block
        raise AllocationError(self._full(name, size, quadrants))

    def release(self, block: Block) -> None:
        """Give the block's bytes back."""
        self._live.remove(block)

    def _free_runs(self, quadrants: range) -> Iterator[tuple[int, int]]:
        """First byte and end of every gap, from the lowest on."""
        start = 0
        for block in self._live:
            if not block.shares_partitions(quadrants):
                continue
            if start < block.offset:
                yield start, block.offset
            start = max(start, block.end)
        if start < self._size:
            yield start, self._size

    def _full(self, name: str, size: int, quadrants: range) -> str:
        longest = max((end - start for start, end in self._free_runs(quadrants)), default=0)
        live = ", ".join(
            f"{block.name} {block.size}"
            for block in self._live
            if block.shares_partitions(quadrants)
        )
        return (
            f"{self._memory} is full: {name} needs {size} bytes of a partition of {self._size}, "
            f"the longest free run is {longest}; live: {live or 'nothing'}"
        )
