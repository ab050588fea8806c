"""Where byte addresses lie, for generators and coverage (isa_common.md 3.2)."""

from __future__ import annotations

from typing import NamedTuple

from dve_golden.isa.generations import Generation

PSUM_BASE = 0x200_0000
PSUM_STRIDE = 0x8000


class Place(NamedTuple):
    """A byte of a partition."""

    psum: bool
    partition: int
    offset: int


def has_psum(generation: Generation) -> bool:
    """Whether any address of the generation lies in PSUM."""
    return generation is not Generation.MAVERICK


def sbuf_stride(generation: Generation) -> int:
    """Addresses from one SBUF partition to the next."""
    return 0x10_0000 if generation is Generation.MAVERICK else 0x4_0000


def address_of(place: Place, generation: Generation) -> int:
    """The byte address of a place."""
    if place.psum:
        return PSUM_BASE + place.partition * PSUM_STRIDE + place.offset
    return place.partition * sbuf_stride(generation) + place.offset


def place_of(address: int, generation: Generation) -> Place:
    """The place of a byte address that lies in one of the memories."""
    if has_psum(generation) and address >= PSUM_BASE:
        return Place(True, *divmod(address - PSUM_BASE, PSUM_STRIDE))
    return Place(False, *divmod(address, sbuf_stride(generation)))
