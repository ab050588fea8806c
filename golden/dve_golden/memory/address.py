"""From an address word to a region, a partition and a byte in it.

Source: isa_common.md 3.1 and 3.2. What depends on the generation is data: `dve_golden.memory.maps`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dve_golden.isa.enums import REGISTERS
from dve_golden.isa.generations import Generation
from dve_golden.memory.maps import MEMORY_MAPS
from dve_golden.memory.maps import PARTITIONS as PARTITIONS
from dve_golden.memory.maps import Region as Region

Registers = Sequence[int] | NDArray[np.uint32]
"""The 64 address registers, unsigned 32-bit."""

QUADRANT = 32
"""Partitions per quadrant; a start address lies in the first one of a quadrant."""

ADDRESS_BITS = 29
"""Width of an on-chip byte address; the three bits above select the addressing mode."""

WORD_BYTES = 8
"""Native word of both memories; an aligned element lies inside one word."""

_MODE_REGISTER = 0b100

REGISTER_WORD = _MODE_REGISTER << ADDRESS_BITS
"""ADDR4 word that names register 0; the others follow."""

_IGNORED = 0x1F00_0000
"""Bits of the register form that no generation reads; SUNDA requires them to be zero."""


@dataclass(frozen=True)
class Location:
    """One byte: memory, partition 0..127, byte in the partition (below the stride)."""

    region: Region
    partition: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Generation and configured memory sizes, in bytes per partition.

    Bytes beyond the generation's own active size do not exist, however much is configured. MAVERICK
    keeps its PSUM bytes as a part of the state that no address reaches.

    Raises
    ------
    ValueError
        If a size is not a positive number of whole words.
    """

    sbuf_bytes: int = 64 * 1024
    psum_bytes: int = 16 * 1024
    generation: Generation = Generation.CAYMAN

    def __post_init__(self) -> None:
        for name, size in (("sbuf_bytes", self.sbuf_bytes), ("psum_bytes", self.psum_bytes)):
            if size <= 0 or size % WORD_BYTES:
                raise ValueError(
                    f"{name} must be a positive multiple of {WORD_BYTES} bytes, got {size}"
                )

    @property
    def sbuf_active(self) -> int:
        """Bytes of an SBUF partition that exist."""
        return self.active(Region.SBUF)

    @property
    def psum_active(self) -> int:
        """Bytes of a PSUM partition that exist."""
        return self.active(Region.PSUM)

    def active(self, region: Region) -> int:
        """Bytes of a partition of ``region`` that exist."""
        configured = self.sbuf_bytes if region is Region.SBUF else self.psum_bytes
        return min(MEMORY_MAPS[self.generation][region].active, configured)


def regions_of(generation: Generation) -> tuple[Region, ...]:
    """The memories that addresses reach."""
    return tuple(r for r, span in MEMORY_MAPS[generation].items() if span.addressed)


def locate(address: int, generation: Generation = Generation.CAYMAN) -> Location | None:
    """Decode a byte address; None outside SBUF and PSUM.

    The active size is not tested: the offset may be anything below the partition stride.
    """
    for region, span in MEMORY_MAPS[generation].items():
        if address in span.addresses:
            return Location(region, *divmod(address - span.base, span.stride))
    return None


def address_of(location: Location, generation: Generation = Generation.CAYMAN) -> int:
    """The byte address of a location in a memory that addresses reach; inverse of `locate`."""
    span = MEMORY_MAPS[generation][location.region]
    return span.base + location.partition * span.stride + location.offset


def is_register_form(word: int, generation: Generation = Generation.CAYMAN) -> bool:
    """Whether an ADDR4 word names an address register (isa_common.md 3.1).

    Bits 31:29 are 100, bytes 1 and 2 zero and the register exists. SUNDA wants bits 28:24 to be
    zero too; elsewhere they are ignored.
    """
    if generation is Generation.SUNDA and word & _IGNORED:
        return False
    return word >> ADDRESS_BITS == _MODE_REGISTER and word & 0xFF_FFFF < REGISTERS


def resolve(
    word: int, registers: Registers, generation: Generation = Generation.CAYMAN
) -> int | None:
    """The byte address that an ADDR4 word stands for; None is reason 13, addressing mode.

    Parameters
    ----------
    word
        The 32 bits of the operand: an immediate address, or the number of an address register.
    registers
        The address registers.
    generation
        Whose form of the word counts.
    """
    if word >> ADDRESS_BITS == 0:
        return word
    if not is_register_form(word, generation):
        return None
    value = int(registers[word & 0xFF])
    return value if value >> ADDRESS_BITS == 0 else None
