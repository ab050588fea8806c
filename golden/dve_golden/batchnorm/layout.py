"""Where the operands of a tile lie in a partition, and how tensors are cut into tiles.

Channels map to partitions from partition 0, 128 at a time; the elements of a channel lie one
after the other (isa_common.md 3.2, 4.2). Every operand starts on an SBUF word of eight bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dve_golden.isa.enums import DTYPE_BYTES, Dtype

MEAN, INV_STD = 0, 4
B, C, A = 8, 12, 16
SUMS = 24
"""Bytes of the fp32 parameters and of the three sums in each partition; B and C are adjacent
because ParamLoad2 reads them as one pattern (batchnorm.md section 5)."""

OPERANDS = 64
"""First byte of x."""

TILE_MULTIPLE = 8
"""Elements of a tile's space: whole SBUF words for every format, and the number of partial sums
of the fold, so that a cut between tiles does not depend on the format's size alone."""


@dataclass(frozen=True)
class Layout:
    """Space for ``tile_elements`` elements of x, dy and d_x in each partition.

    Parameters
    ----------
    dtype : Dtype
        Storage format of the three.
    tile_elements : int
        A multiple of eight; the most elements of a channel that one instruction takes.
    """

    dtype: Dtype
    tile_elements: int

    @classmethod
    def fit(cls, dtype: Dtype, elements: int, sbuf_bytes: int) -> "Layout":
        """The layout with the largest tile that a partition holds and ``elements`` needs.

        The capacity depends on the memory and the format only, so results do not depend on the
        number of lanes.

        Raises
        ------
        ValueError
            If a partition of ``sbuf_bytes`` bytes does not hold eight elements.
        """
        capacity = (sbuf_bytes - OPERANDS) // (3 * DTYPE_BYTES[dtype])
        capacity -= capacity % TILE_MULTIPLE
        if capacity < TILE_MULTIPLE:
            raise ValueError(f"a partition of {sbuf_bytes} bytes is too small for a tile")
        return cls(dtype, min(capacity, elements + -elements % TILE_MULTIPLE))

    @property
    def operand_bytes(self) -> int:
        return self.tile_elements * DTYPE_BYTES[self.dtype]

    @property
    def x(self) -> int:
        return OPERANDS

    @property
    def dy(self) -> int:
        return self.x + self.operand_bytes

    @property
    def d_x(self) -> int:
        return self.dy + self.operand_bytes


@dataclass(frozen=True, eq=False)
class Image:
    """Bytes to place in partitions 0, 1, ... from byte ``offset`` on.

    Parameters
    ----------
    offset : int
        First byte in each partition.
    data : uint8 [partitions, bytes]
    """

    offset: int
    data: NDArray[np.uint8]

    def place(self, sbuf: NDArray[np.uint8]) -> None:
        """Copy the image into ``sbuf``, uint8 [128, bytes]."""
        partitions, size = self.data.shape
        sbuf[:partitions, self.offset : self.offset + size] = self.data

    @property
    def span(self) -> range:
        """The bytes of a partition that it writes."""
        return range(self.offset, self.offset + self.data.shape[1])


def tiles(total: int, size: int) -> Iterator[slice]:
    """Consecutive slices of ``size``; the last one takes what is left."""
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))


def as_bytes(elements: NDArray) -> NDArray[np.uint8]:
    """[partitions, n] elements of any size as uint8 [partitions, n * size]."""
    return np.ascontiguousarray(elements).view(np.uint8)
