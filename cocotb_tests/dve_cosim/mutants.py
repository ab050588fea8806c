"""Records near the border of legality, made from legal ones."""

from collections.abc import Iterator

import numpy as np
from dve_golden.isa.codec import Fields, Value, decode, encode_fields, walk
from dve_golden.isa.enums import INST_WORD_LEN, RECORD_BYTES, Opcode
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_golden.isa.types import Array, Wire
from numpy.typing import NDArray

_BORDERS = (0, 1, 2, 3, 4, 0x7F, 0x80, 0x81, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF)
"""Values at which a rule or a width changes."""

_ADDRESSES = (
    0x3FC, 0x400, 0x3_7FFC, 0x3_8000, 0x4_0000,  # end of the configured, of the active bytes
    0x80_0000, 0x84_0000, 0x100_0000, 0x180_0000,  # partitions 32, 33, 64, 96
    0x1FF_FFFC, 0x200_0000, 0x200_01FC, 0x200_0200, 0x210_0000, 0x220_0000,  # into PSUM
    0x240_0000, 0x1FFF_FFFC, 0x2000_0000, 0x4000_0000, 0x6000_0000,  # no memory; other modes
    0x8000_0000, 0x8000_003F, 0x8000_0040, 0x8000_0100, 0x8100_0003, 0xC000_0000, 0xFFFF_FFFF,
)  # fmt: skip
"""Address words at which a rule changes (isa_common.md 3.1 to 3.3)."""

_MOVES = (0x80_0000, 0x100_0000, 0x180_0000, 0x200_0000)
"""Address bits between two quadrants of SBUF, and between SBUF and PSUM."""


def mutants(
    rng: np.random.Generator, program: bytes, registers: NDArray[np.uint32], *, keep: int = 0
) -> Iterator[bytes]:
    """Endless records, most of them illegal, all drawn from ``rng``.

    Parameters
    ----------
    rng : numpy.random.Generator
    program : bytes
        Legal records to start from.
    registers : uint32 [64]
        Those that hold 0 are filled with addresses, good and bad.
    keep : int
        So many of the first registers stay as they are.
    """
    for index in np.flatnonzero(registers[keep:] == 0):
        registers[keep + index] = _address(rng)
    records = [program[at : at + RECORD_BYTES] for at in range(0, len(program), RECORD_BYTES)]
    makers = 12 * [_with_other_field] + 5 * [_with_flipped_bits] + 2 * [_noise_under_a_header]
    makers += 2 * [_with_moved_operand] + [_noise]
    while True:
        make = makers[rng.integers(len(makers))]
        yield make(rng, records[rng.integers(len(records))])


def _with_other_field(rng: np.random.Generator, record: bytes) -> bytes:
    opcode, fields = decode(record)
    leaves = [(name, leaf) for name, _, leaf in walk(STRUCT_OF_OPCODE[opcode])]
    changed: Fields = dict(fields)
    for _ in range(rng.integers(1, 3)):
        name, leaf = leaves[rng.integers(len(leaves))]
        changed[name] = _value(rng, name, leaf, fields[name])
    return encode_fields(STRUCT_OF_OPCODE[opcode], changed)


def _value(rng: np.random.Generator, name: str, leaf: Wire, old: Value) -> Value:
    if isinstance(old, bytes):
        at = rng.integers(len(old))
        return old[:at] + bytes([rng.integers(1, 256)]) + old[at + 1 :]
    if isinstance(leaf, Array):
        assert isinstance(old, tuple)
        at = rng.integers(len(old))
        return (*old[:at], _integer(rng, leaf.element), *old[at + 1 :])
    if leaf.bits == 32 and name.endswith(("addr", "imm0", "imm1")):
        return _address(rng)
    return _integer(rng, leaf)


def _integer(rng: np.random.Generator, leaf: Wire) -> int:
    value = _BORDERS[rng.integers(len(_BORDERS))]
    if rng.random() < 0.5:
        value = int(rng.integers(1 << leaf.bits, dtype=np.uint64))
    value &= (1 << leaf.bits) - 1
    signed = getattr(leaf, "signed", False)
    return value - (1 << leaf.bits) if signed and value >> leaf.bits - 1 else value


def _address(rng: np.random.Generator) -> int:
    if rng.random() < 0.6:
        return _ADDRESSES[rng.integers(len(_ADDRESSES))] ^ int(rng.choice((0, 0, 1, 2, 4)))
    return int(rng.integers(1 << 32 if rng.random() < 0.3 else 0x400))


def _with_moved_operand(rng: np.random.Generator, record: bytes) -> bytes:
    """One operand in another quadrant or memory, where its partner may not follow."""
    opcode, fields = decode(record)
    names = [name for name in fields if name.endswith("start_addr")]
    if not names:
        return _with_other_field(rng, record)
    name = names[rng.integers(len(names))]
    old = fields[name]
    assert isinstance(old, int)
    return encode_fields(
        STRUCT_OF_OPCODE[opcode], {**fields, name: old ^ _MOVES[rng.integers(len(_MOVES))]}
    )


def _with_flipped_bits(rng: np.random.Generator, record: bytes) -> bytes:
    word = int.from_bytes(record, "little")
    for bit in rng.integers(8 * RECORD_BYTES, size=rng.integers(1, 4)):
        word ^= 1 << int(bit)
    return word.to_bytes(RECORD_BYTES, "little")


def _noise_under_a_header(rng: np.random.Generator, record: bytes) -> bytes:
    opcode = list(Opcode)[rng.integers(len(Opcode))]
    # Legal events, or nearly every record would stop at its wait mode.
    return bytes([opcode, INST_WORD_LEN]) + rng.bytes(2) + bytes(8) + rng.bytes(RECORD_BYTES - 12)


def _noise(rng: np.random.Generator, record: bytes) -> bytes:
    return rng.bytes(RECORD_BYTES)
