"""Bytes to fields and back, and the numpy structured dtype of each struct.

Fields travel as a flat mapping of dotted names, for example ``src0.start_addr`` or
``in0_in1_dtype.lo``; arrays are tuples, reserved runs are ``bytes``, and a binary32 field is its
bit pattern, so that nothing is lost on the way through Python floats.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dve_golden.isa.enums import INST_WORD_LEN, RECORD_BYTES, Opcode
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_golden.isa.types import Array, Record, Scalar, Wire

Value = int | tuple[int, ...] | bytes
Fields = dict[str, Value]


def walk(record: Record, prefix: str = "", offset: int = 0) -> Iterator[tuple[str, int, Wire]]:
    """Every leaf of a record as (dotted name, offset in bits, Scalar or Array)."""
    for member in record.members:
        name = prefix + member.name
        if isinstance(member.type, Record):
            yield from walk(member.type, name + ".", offset)
        else:
            yield name, offset, member.type
        offset += member.type.bits


_LETTERS = {8: "b", 16: "h", 32: "i", 64: "q"}


class _Reader:
    """A record compiled to one `struct` format, because every executed instruction is decoded."""

    def __init__(self, record: Record) -> None:
        self.record = record
        places: list[tuple[str, int | slice, int, int]] = []
        form, index = "<", 0
        for name, offset, leaf in walk(record):
            element = leaf.element if isinstance(leaf, Array) else leaf
            assert isinstance(element, Scalar)
            shift = offset % 8
            if shift == 0:
                letter = _LETTERS[max(element.bits, 8)]
                letter = letter if element.signed else letter.upper()
                length = leaf.length if isinstance(leaf, Array) else 1
                form += f"{length}s" if element.kind == "reserved" else f"{length}{letter}"
                start, index = index, index + (1 if element.kind == "reserved" else length)
            one = not isinstance(leaf, Array) or element.kind == "reserved"
            place = index - 1 if one else slice(start, index)
            mask = (1 << element.bits) - 1 if element.bits < 8 else 0
            places.append((name, place, shift, mask))
        self._struct = struct.Struct(form)
        self.size = self._struct.size
        self._places = tuple(places)

    def read(self, data: bytes) -> Fields:
        values: Any = self._struct.unpack(data)
        return {
            name: values[place] >> shift & mask if mask else values[place]
            for name, place, shift, mask in self._places
        }


_readers: dict[int, _Reader] = {}


def _reader(record: Record) -> _Reader:
    # By identity: hashing a record walks its whole tree. The reader keeps its record alive.
    if id(record) not in _readers:
        _readers[id(record)] = _Reader(record)
    return _readers[id(record)]


def decode_fields(record: Record, data: bytes) -> Fields:
    """Read every field of ``record`` from its bytes.

    Raises
    ------
    ValueError
        If ``data`` is not exactly as long as the record.
    """
    reader = _reader(record)
    if len(data) != reader.size:
        raise ValueError(f"{record.name} is {reader.size} bytes long, got {len(data)} bytes")
    return reader.read(data)


def encode_fields(record: Record, fields: Mapping[str, Value]) -> bytes:
    """Write fields into the bytes of ``record``; what is not given is zero.

    Raises
    ------
    KeyError
        If a name is not a field of the record.
    ValueError
        If a value does not fit its field.
    """
    leaves = {name: (offset, leaf) for name, offset, leaf in walk(record)}
    word = 0
    for name, value in fields.items():
        if name not in leaves:
            raise KeyError(f"{record.name} has no field {name!r}; it has {', '.join(leaves)}")
        offset, leaf = leaves[name]
        word |= _put(f"{record.name}.{name}", leaf, value) << offset
    return word.to_bytes(record.bits // 8, "little")


def decode(data: bytes) -> tuple[Opcode, Fields]:
    """Opcode and fields of one 64-byte record.

    Raises
    ------
    ValueError
        If there are not 64 bytes, or the engine does not execute the opcode.
    """
    if len(data) != RECORD_BYTES:
        raise ValueError(f"an instruction is {RECORD_BYTES} bytes long, got {len(data)}")
    opcode = Opcode(data[0])
    return opcode, decode_fields(STRUCT_OF_OPCODE[opcode], data)


def encode(opcode: Opcode, fields: Mapping[str, Value]) -> bytes:
    """The 64 bytes of an instruction; opcode and length need not be among ``fields``."""
    header: Fields = {"header.opcode": int(opcode), "header.inst_word_len": INST_WORD_LEN}
    return encode_fields(STRUCT_OF_OPCODE[opcode], header | dict(fields))


def numpy_dtype(wire: Wire) -> np.dtype:
    """The packed little-endian numpy dtype of a wire type.

    Records made of nibbles become one unsigned byte, because numpy has no bit fields.
    """
    if isinstance(wire, Scalar):
        letter = {"int": "i", "float": "f"}.get(wire.kind, "u")
        return np.dtype(f"<{letter}{wire.bits // 8}")
    if isinstance(wire, Array):
        return np.dtype((numpy_dtype(wire.element), (wire.length,)))
    if wire.bits == 8:
        return np.dtype("u1")
    return np.dtype([(member.name, numpy_dtype(member.type)) for member in wire.members])


def _put(name: str, leaf: Wire, value: Value) -> int:
    if isinstance(leaf, Scalar):
        if not isinstance(value, int):
            raise ValueError(f"{name} takes one integer, got {value!r}")
        low = -(1 << leaf.bits - 1) if leaf.signed else 0
        high = low + (1 << leaf.bits) - 1
        if not low <= value <= high:
            raise ValueError(f"{name} takes {low}..{high}, got {value}")
        return value & (1 << leaf.bits) - 1
    assert isinstance(leaf, Array)
    if isinstance(value, int) or len(value) != leaf.length:
        raise ValueError(f"{name} takes {leaf.length} values, got {value!r}")
    word = 0
    for index, element in enumerate(value):
        word |= _put(f"{name}[{index}]", leaf.element, element) << leaf.element.bits * index
    return word
