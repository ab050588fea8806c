"""Wire types, from which numpy dtypes and hardware layouts are both derived.

A record is described as an ordered list of members without gaps, lowest byte and lowest bit
first, because that is how the wire lays them out (isa_common.md 1.1, 4.1). Offsets are never
written down: they follow from the widths, and a test compares them with the specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["uint", "int", "float", "address", "reserved"]


@dataclass(frozen=True)
class Scalar:
    """A number of 1 to 64 bits.

    ``kind`` says how to read it: ``float`` is a binary32 pattern, ``address`` an ADDR4 word
    (isa_common.md 3.1), ``reserved`` must be zero.
    """

    bits: int
    kind: Kind = "uint"

    @property
    def signed(self) -> bool:
        return self.kind == "int"


@dataclass(frozen=True)
class Array:
    """``length`` equal scalars in a row."""

    element: Scalar
    length: int

    @property
    def bits(self) -> int:
        return self.element.bits * self.length


@dataclass(frozen=True)
class Member:
    """A named part of a record."""

    name: str
    type: Wire


@dataclass(frozen=True)
class Record:
    """Named members, packed in order from the lowest bit."""

    name: str
    members: tuple[Member, ...]

    @property
    def bits(self) -> int:
        return sum(member.type.bits for member in self.members)

    def offset_bits(self, name: str) -> int:
        """Offset of a direct member, in bits.

        Raises
        ------
        KeyError
            If there is no member of that name.
        """
        offset = 0
        for member in self.members:
            if member.name == name:
                return offset
            offset += member.type.bits
        raise KeyError(name)


Wire = Scalar | Array | Record

U4 = Scalar(4)
U8 = Scalar(8)
U16 = Scalar(16)
I16 = Scalar(16, "int")
U32 = Scalar(32)
F32 = Scalar(32, "float")
ADDR4 = Scalar(32, "address")


def record(name: str, **members: Wire) -> Record:
    """A record of the given members, in the order in which they are written."""
    return Record(name, tuple(Member(key, value) for key, value in members.items()))


def reserved(length: int) -> Array:
    """``length`` bytes that must be zero."""
    return Array(Scalar(8, "reserved"), length)
