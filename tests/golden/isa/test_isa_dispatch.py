"""What the front ends know, against batchnorm.md section 1 and isa_common.md 7.1, 7.2."""

import pytest
from dve_golden.isa.dispatch import (
    DVE,
    POOL,
    TABLES,
    Engine,
    is_implemented,
    opcode_name,
)
from dve_golden.isa.enums import Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.structs import STRUCT_OF_OPCODE

BATCH_NORM = {*range(0x60, 0x67), 0x82, 0x8E, 0x94}

INDEX_TRAMPOLINE_HANDLER = {  # batchnorm.md section 1
    0x60: (0x1F, 0x308E, 0xB380),
    0x61: (0x20, 0x308E, 0xB380),
    0x62: (0x21, 0x308E, 0xB380),
    0x63: (0x22, 0x309E, 0xB518),
    0x64: (0x23, 0x30B6, 0xB62C),
    0x65: (0x24, 0x30AE, 0xB6F0),
    0x66: (0x25, 0x30E6, None),
    0x82: (0x41, 0x308E, 0xB380),
    0x8E: (0x4D, 0x30BE, 0xB694),
    0x94: (0x53, 0x30A6, 0xB55C),
    0x41: (0x00, 0x31E6, None),
    0x51: (0x10, 0x31EE, None),
}


def test_addresses_of_the_documented_entries():
    found = {
        entry.opcode: (entry.index, entry.trampoline, entry.handler)
        for entry in DVE
        if entry.trampoline is not None
    }
    assert found == INDEX_TRAMPOLINE_HANDLER


def test_the_table_covers_41_to_ea():
    outside = {entry.opcode for entry in DVE if entry.index is None}
    assert outside == {0x30, 0xF0, 0xF4}
    indices = [entry.index for entry in DVE if entry.index is not None]
    assert (min(indices), max(indices)) == (0, 169)


@pytest.mark.parametrize("entries", TABLES.values(), ids=lambda entries: len(entries))
def test_entries_are_in_order_and_known_to_a_generation(entries):
    opcodes = [entry.opcode for entry in entries]
    assert opcodes == sorted(opcodes)
    assert all(entry.generations for entry in entries)


def test_each_opcode_of_the_vector_engine_has_one_entry_and_a_name():
    assert len({entry.opcode for entry in DVE}) == len(DVE)
    names = [entry.name for entry in DVE]
    assert None not in names
    assert len(set(names)) == len(names)


def test_generations_of_an_entry():
    found = {entry.opcode: entry.generations for entry in DVE}
    assert found[0x65] == tuple(Generation)
    assert found[0x8A] == (Generation.SUNDA,)
    assert found[0xE2] == (Generation.MARIANA, Generation.MAVERICK)
    assert found[0xF4] == (Generation.MAVERICK,)


def test_pool_has_17_records_and_no_batch_norm():
    opcodes = [entry.opcode for entry in POOL]
    assert len(opcodes) == 17
    assert set(opcodes) == {
        *(0x41, 0x45, 0x46, 0x47, 0x51, 0x52),
        *(0x7B, 0x7C, 0x7D, 0x7E, 0xBE, 0xF0, 0xF2),
    }
    assert opcodes.count(0xF0) == 5
    assert not BATCH_NORM & set(opcodes)
    assert {entry.opcode for entry in DVE} >= BATCH_NORM


def test_the_engine_implements_what_has_an_opcode():
    implemented = {entry.opcode: entry for entry in DVE if is_implemented(Engine.DVE, entry)}
    assert set(implemented) == set(map(int, Opcode))
    for opcode in Opcode:
        assert implemented[opcode].name == opcode.name == opcode_name(opcode)
        # The documented struct of 0x66 has no known layout; its form here is this project's.
        if opcode is not Opcode.LOAD_PARAMETER_RAM:
            assert implemented[opcode].struct == STRUCT_OF_OPCODE[opcode].name
    assert not any(is_implemented(Engine.POOL, entry) for entry in POOL)


def test_an_undocumented_opcode_has_no_name():
    assert opcode_name(0x7C) is None
    assert opcode_name(0xFF) is None
