"""Where the memories of each generation lie, as data (isa_common.md 3.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from dve_golden.isa.generations import Generation

PARTITIONS = 128
"""Partitions of either memory."""


class Region(Enum):
    """The two on-chip memories."""

    SBUF = "sbuf"
    PSUM = "psum"


@dataclass(frozen=True)
class Span:
    """Addresses of one memory.

    Parameters
    ----------
    base
        Address of byte 0 of partition 0.
    stride
        Addresses from one partition to the next.
    active
        Bytes of a partition that hold storage; the addresses above them hold none.
    addressed
        Whether any address reaches the memory.
    """

    base: int
    stride: int
    active: int
    addressed: bool = True

    @property
    def addresses(self) -> range:
        """Every byte address that belongs to the memory."""
        size = PARTITIONS * self.stride if self.addressed else 0
        return range(self.base, self.base + size)


_PSUM = Span(0x200_0000, 0x8000, 0x4000)

MEMORY_MAPS: Mapping[Generation, Mapping[Region, Span]] = {
    Generation.SUNDA: {Region.SBUF: Span(0, 0x4_0000, 0x3_0000), Region.PSUM: _PSUM},
    Generation.CAYMAN: {Region.SBUF: Span(0, 0x4_0000, 0x3_8000), Region.PSUM: _PSUM},
    Generation.MARIANA: {Region.SBUF: Span(0, 0x4_0000, 0x4_0000), Region.PSUM: _PSUM},
    Generation.MAVERICK: {
        Region.SBUF: Span(0, 0x10_0000, 0x8_0000),
        # The region has size 0: its base lies within SBUF, and no address is PSUM.
        Region.PSUM: Span(0x200_0000, 0x8000, 0x4000, addressed=False),
    },
}
"""The spans of one generation do not overlap."""
