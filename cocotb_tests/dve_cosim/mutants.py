"""Records near the border of legality, made from legal ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from dve_golden.isa.codec import Fields, Value, decode, encode_fields, walk
from dve_golden.isa.enums import INST_WORD_LEN, RECORD_BYTES, REGISTERS, Opcode
from dve_golden.isa.generations import Generation, in_generation
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_golden.isa.types import Array, Wire
from numpy.typing import NDArray

from dve_cosim.places import PSUM_BASE, PSUM_STRIDE, sbuf_stride

_BORDERS = (0, 1, 2, 3, 4, 0x7F, 0x80, 0x81, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF)
"""Values at which a rule or a width changes."""

_MARKED = (
    0x2000_0000, 0x4000_0000, 0x6000_0000, 0xA000_0000, 0xC000_0000, 0xFFFF_FFFF,  # no such mode
    0x8000_0000, 0x8000_003F, 0x8000_0040, 0x8000_0100, 0x8001_0000, 0x8100_0003, 0x9F00_0001,
)  # fmt: skip
"""Address words whose mode or register number is at a border (isa_common.md 3.1)."""

_KINDS: dict[str, tuple[str, ...]] = {
    "header": ("opcode", "inst_word_len"),
    "events": ("wait_mode", "wait_idx", "update_mode", "update_idx", "value"),
    "types": ("dtype", "dtype.lo", "dtype.hi"),
    "operator": ("op",),
    "channels": ("channels",),
    "addresses": ("addr",),
    "immediates": ("imm0", "imm1", "src.lo", "src.hi", "imm0_src", "imm1_src", "entry", "_count"),
    "steps": ("step_elem",),
    "counts": ("num_elem", "entry_count"),
    "reserved": ("reserved0", "reserved1", "reserved2", "reserved3"),
}
"""Kinds of fields by the ends of their names; all kinds of a record are changed equally often."""


def mutants(
    rng: np.random.Generator,
    program: bytes,
    registers: NDArray[np.uint32],
    *,
    keep: int = 0,
    generation: Generation = Generation.CAYMAN,
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
    generation : Generation
        At whose borders the addresses and opcodes lie.
    """
    addresses = _addresses(generation)
    for index in np.flatnonzero(registers[keep:] == 0):
        registers[keep + index] = _address(rng, addresses)
    records = [program[at : at + RECORD_BYTES] for at in range(0, len(program), RECORD_BYTES)]
    with_field = partial(_with_other_field, addresses)
    makers = 11 * [with_field] + 4 * [_with_flipped_bits] + 2 * [_noise_under_a_header]
    makers += 2 * [partial(_with_moved_operand, generation), _with_odd_counts]
    makers += [_with_odd_register, _of_other_opcode, _noise]
    while True:
        make = makers[rng.integers(len(makers))]
        yield make(rng, records[rng.integers(len(records))])


def _addresses(generation: Generation) -> tuple[int, ...]:
    """Address words at which a rule changes (isa_common.md 3.1 to 3.3)."""
    stride = sbuf_stride(generation)
    return (
        0x3FC, 0x400, 0x2_FFFC, 0x3_0000, 0x3_7FFC, 0x3_8000, 0x3_FFFC, 0x4_0000,  # bytes of
        0x7_FFFC, 0x8_0000, 0xF_FFFC, 0x10_0000,  # a partition: configured, active, stride
        *(partition * stride for partition in (32, 33, 64, 96, 128)),
        128 * stride - 4, PSUM_BASE - 4, PSUM_BASE, PSUM_BASE + 0x1FC, PSUM_BASE + 0x200,
        *(PSUM_BASE + partition * PSUM_STRIDE for partition in (32, 33, 64, 96, 128)),
        0x1FFF_FFFC, *_MARKED,
    )  # fmt: skip


def _address(rng: np.random.Generator, addresses: tuple[int, ...]) -> int:
    if rng.random() < 0.6:
        return addresses[rng.integers(len(addresses))] ^ int(rng.choice((0, 0, 1, 2, 4)))
    return int(rng.integers(1 << 32 if rng.random() < 0.3 else 0x400))


def _with_other_field(addresses: tuple[int, ...], rng: np.random.Generator, record: bytes) -> bytes:
    opcode, fields = decode(record)
    leaves = [(name, leaf) for name, _, leaf in walk(STRUCT_OF_OPCODE[opcode])]
    by_kind = [
        found
        for ends in _KINDS.values()
        if (found := [(name, leaf) for name, leaf in leaves if name.endswith(ends)])
    ]
    changed: Fields = dict(fields)
    for _ in range(rng.integers(1, 3)):
        kind = by_kind[rng.integers(len(by_kind))]
        name, leaf = kind[rng.integers(len(kind))]
        changed[name] = _value(rng, name, leaf, fields[name], addresses)
    return encode_fields(STRUCT_OF_OPCODE[opcode], changed)


def _value(
    rng: np.random.Generator, name: str, leaf: Wire, old: Value, addresses: tuple[int, ...]
) -> Value:
    if isinstance(old, bytes):
        at = rng.integers(len(old))
        return old[:at] + bytes([rng.integers(1, 256)]) + old[at + 1 :]
    if isinstance(leaf, Array):
        assert isinstance(old, tuple)
        at = rng.integers(len(old))
        return (*old[:at], _integer(rng, leaf.element), *old[at + 1 :])
    if leaf.bits == 32 and name.endswith(("addr", "imm0", "imm1")):
        return _address(rng, addresses)
    return _integer(rng, leaf)


def _integer(rng: np.random.Generator, leaf: Wire) -> int:
    value = _BORDERS[rng.integers(len(_BORDERS))]
    if rng.random() < 0.5:
        value = int(rng.integers(1 << leaf.bits, dtype=np.uint64))
    value &= (1 << leaf.bits) - 1
    signed = getattr(leaf, "signed", False)
    return value - (1 << leaf.bits) if signed and value >> leaf.bits - 1 else value


def _with_moved_operand(generation: Generation, rng: np.random.Generator, record: bytes) -> bytes:
    """One operand in another quadrant or memory, where its partner may not follow."""
    opcode, fields = decode(record)
    names = [name for name in fields if name.endswith("start_addr")]
    if not names:
        return _with_odd_counts(rng, record)
    name = names[rng.integers(len(names))]
    old = _number(fields, name)
    moves = (*(quadrant * 32 * sbuf_stride(generation) for quadrant in (1, 2, 3)), PSUM_BASE)
    return encode_fields(
        STRUCT_OF_OPCODE[opcode], {**fields, name: old ^ moves[rng.integers(len(moves))]}
    )


def _with_odd_register(rng: np.random.Generator, record: bytes) -> bytes:
    """One address in a register, by a word with a bit that should be zero, or that may be one."""
    opcode, fields = decode(record)
    names = [name for name in fields if name.endswith("addr")]
    if not names:
        return _with_flipped_bits(rng, record)
    in_register = [name for name in names if _number(fields, name) >> 31]
    name = (in_register or names)[rng.integers(len(in_register or names))]
    word = _number(fields, name) if in_register else 1 << 31 | int(rng.integers(REGISTERS))
    odd_bit = int(rng.integers(24, 29) if rng.random() < 0.5 else rng.integers(6, 31))
    return encode_fields(STRUCT_OF_OPCODE[opcode], {**fields, name: word | 1 << odd_bit})


def _number(fields: Fields, name: str) -> int:
    value = fields[name]
    assert isinstance(value, int)
    return value


def _with_odd_counts(rng: np.random.Generator, record: bytes) -> bytes:
    """One operand with a dimension more or less, or of no elements, or of as many as there are."""
    opcode, fields = decode(record)
    names = [name for name in fields if name.endswith("num_elem")]
    if not names:
        return _with_flipped_bits(rng, record)
    name = names[rng.integers(len(names))]
    counts = fields[name]
    assert isinstance(counts, tuple)
    at = rng.integers(len(counts))
    count = (0, counts[at] ^ 1, counts[at] + 1, 0xFFFF)[rng.integers(4)] & 0xFFFF
    changed = {**fields, name: (*counts[:at], count, *counts[at + 1 :])}
    if count == 0xFFFF:  # with a step that keeps it in the partition
        steps = fields[name.replace("num_elem", "step_elem")]
        assert isinstance(steps, tuple)
        changed[name.replace("num_elem", "step_elem")] = (*steps[:at], 0, *steps[at + 1 :])
    return encode_fields(STRUCT_OF_OPCODE[opcode], changed)


def _with_flipped_bits(rng: np.random.Generator, record: bytes) -> bytes:
    word = int.from_bytes(record, "little")
    for bit in rng.integers(8 * RECORD_BYTES, size=rng.integers(1, 4)):
        word ^= 1 << int(bit)
    return word.to_bytes(RECORD_BYTES, "little")


_COME_AND_GO = [
    opcode
    for opcode in range(256)
    if len({in_generation(opcode, generation) for generation in Generation}) > 1
]
"""Opcodes that not every generation has."""


def _of_other_opcode(rng: np.random.Generator, record: bytes) -> bytes:
    any_one = rng.random() < 0.5
    opcode = rng.integers(256) if any_one else _COME_AND_GO[rng.integers(len(_COME_AND_GO))]
    return bytes([opcode]) + record[1:]


def _noise_under_a_header(rng: np.random.Generator, record: bytes) -> bytes:
    opcode = sorted(Opcode)[rng.integers(len(Opcode))]
    # Legal events, or nearly every record would stop at its wait mode.
    return bytes([opcode, INST_WORD_LEN]) + rng.bytes(2) + bytes(8) + rng.bytes(RECORD_BYTES - 12)


def _noise(rng: np.random.Generator, record: bytes) -> bytes:
    return rng.bytes(RECORD_BYTES)
