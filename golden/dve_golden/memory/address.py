"""From an address word to a region, a partition and a byte in it.

Source: isa_common.md 3.1 and 3.2, generation CAYMAN.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from dve_golden.isa.enums import REGISTERS

Registers = Sequence[int] | NDArray[np.uint32]
"""The 64 address registers, unsigned 32-bit."""

PARTITIONS = 128
"""Partitions of either memory."""

QUADRANT = 32
"""Partitions per quadrant; a start address lies in the first one of a quadrant."""

ADDRESS_BITS = 29
"""Width of an on-chip byte address; the three bits above select the addressing mode."""

SBUF_BASE = 0x000_0000
SBUF_STRIDE = 0x4_0000
SBUF_ACTIVE = 0x3_8000
"""Bytes of an SBUF partition that hold storage; the stride is larger."""

PSUM_BASE = 0x200_0000
PSUM_STRIDE = 0x8000
PSUM_ACTIVE = 0x4000
"""Bytes of a PSUM partition that hold storage."""

WORD_BYTES = 8
"""Native word of both memories; an aligned element lies inside one word."""

_SBUF_END = SBUF_BASE + PARTITIONS * SBUF_STRIDE
_PSUM_END = PSUM_BASE + PARTITIONS * PSUM_STRIDE
_MODE_REGISTER = 0b100


class Region(Enum):
    """The two on-chip memories."""

    SBUF = "sbuf"
    PSUM = "psum"


@dataclass(frozen=True)
class Location:
    """One byte: memory, partition 0..127, byte in the partition (below the stride)."""

    region: Region
    partition: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Configured memory sizes, in bytes per partition.

    Bytes beyond the generation's own active size do not exist, however much is configured.

    Raises
    ------
    ValueError
        If a size is not a positive number of whole words.
    """

    sbuf_bytes: int = 64 * 1024
    psum_bytes: int = 16 * 1024

    def __post_init__(self) -> None:
        for name, size in (("sbuf_bytes", self.sbuf_bytes), ("psum_bytes", self.psum_bytes)):
            if size <= 0 or size % WORD_BYTES:
                raise ValueError(
                    f"{name} must be a positive multiple of {WORD_BYTES} bytes, got {size}"
                )

    @property
    def sbuf_active(self) -> int:
        """Addressable bytes of an SBUF partition."""
        return min(SBUF_ACTIVE, self.sbuf_bytes)

    @property
    def psum_active(self) -> int:
        """Addressable bytes of a PSUM partition."""
        return min(PSUM_ACTIVE, self.psum_bytes)

    def active(self, region: Region) -> int:
        """Addressable bytes of a partition of ``region``."""
        return self.sbuf_active if region is Region.SBUF else self.psum_active


def locate(address: int) -> Location | None:
    """Decode a byte address; None outside SBUF and PSUM.

    The active size is not tested: the offset may be anything below the partition stride.
    """
    if SBUF_BASE <= address < _SBUF_END:
        partition, offset = divmod(address - SBUF_BASE, SBUF_STRIDE)
        return Location(Region.SBUF, partition, offset)
    if PSUM_BASE <= address < _PSUM_END:
        partition, offset = divmod(address - PSUM_BASE, PSUM_STRIDE)
        return Location(Region.PSUM, partition, offset)
    return None


def address_of(location: Location) -> int:
    """The byte address of a location; inverse of `locate`."""
    if location.region is Region.SBUF:
        return SBUF_BASE + location.partition * SBUF_STRIDE + location.offset
    return PSUM_BASE + location.partition * PSUM_STRIDE + location.offset


def is_register_form(word: int) -> bool:
    """Whether an ADDR4 word names an address register (isa_common.md 3.1).

    Bits 31:29 are 100, bytes 1 and 2 zero and the register exists; CAYMAN ignores bits 28:24.
    """
    return word >> ADDRESS_BITS == _MODE_REGISTER and word & 0xFF_FFFF < REGISTERS


def resolve(word: int, registers: Registers) -> int | None:
    """The byte address that an ADDR4 word stands for; None is reason 13, addressing mode.

    Parameters
    ----------
    word
        The 32 bits of the operand: an immediate address, or the number of an address register.
    registers
        The address registers.
    """
    if word >> ADDRESS_BITS == 0:
        return word
    if not is_register_form(word):
        return None
    value = int(registers[word & 0xFF])
    return value if value >> ADDRESS_BITS == 0 else None
