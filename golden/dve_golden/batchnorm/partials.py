"""Sums of element tiles, added on the engine."""

from dve_golden.batchnorm.columns import SUMS
from dve_golden.program.builder import ProgramBuilder
from dve_golden.program.tensor import Tensor, View


class Partials:
    """The three sums of each element tile and channel tile of a group, and their tree of ADDs.

    Halves of the partial sums are added to each other, so that n of them need log2(n) instructions
    for all channel tiles together and pass through log2(n) roundings. When memory is full, the sum
    so far takes the first place.

    Parameters
    ----------
    b : ProgramBuilder
    name : str
    channels : int
    capacity : int
        Element tiles; at least two.
    tiles : int
        Channel tiles.
    """

    def __init__(
        self, b: ProgramBuilder, name: str, channels: int, capacity: int, tiles: int
    ) -> None:
        sums = SUMS.stop - SUMS.start
        self.tensor: Tensor = b.sbuf(name, channels, (capacity, sums, tiles))
        self._b = b
        self._filled = 0

    def place_of(self, tile: int) -> View:
        """Where the sums of channel tile ``tile`` go."""
        return self.tensor[self._filled, :, tile]

    def next_element_tile(self) -> None:
        """All channel tiles have their sums: keep them, and make room if there is none."""
        if self._filled + 1 == self.tensor.shape[0]:
            self._reduce(self._filled + 1, self.tensor[0])
            self._filled = 1
        else:
            self._filled += 1

    def finish(self, total: View) -> None:
        """The last element tile is done: put the whole sums into ``total``."""
        self._reduce(self._filled + 1, total)

    def _reduce(self, count: int, total: View) -> None:
        kept = self.tensor
        while count > 2:
            half = -(-count // 2)
            low = kept[: count - half]
            self._b.tensor_tensor(low, low, kept[half:count], op="add")
            count = half
        self._b.tensor_tensor(total, kept[0], kept[1], op="add")
