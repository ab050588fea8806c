"""Opcode membership against the additions and removals of isa_common.md 1.7."""

import pytest
from dve_golden.isa.enums import Opcode
from dve_golden.isa.generations import Generation, in_generation


def members(generation):
    return {opcode for opcode in range(256) if in_generation(opcode, generation)}


@pytest.mark.parametrize(
    ("generation", "count"),
    [
        (Generation.SUNDA, 145),
        (Generation.CAYMAN, 150),
        (Generation.MARIANA, 159),
        (Generation.MAVERICK, 165),
    ],
)
def test_counts(generation, count):
    assert len(members(generation)) == count


def test_sunda_equals_the_masks_of_the_runtime():
    masks = {
        0x00: 0x0001001E0000003E,
        0x41: 0x7FEFFFFFE08F7FFF,
        0x82: 0x024BC3FFFFDF3F7F,
        0xC1: 0x400082F07FBFFFFF,
    }
    expected = {base + i for base, mask in masks.items() for i in range(64) if mask >> i & 1}
    assert members(Generation.SUNDA) == expected


def test_each_generation_follows_from_the_one_before():
    sunda = members(Generation.SUNDA)
    cayman = sunda - {0x87, 0x88, 0x8A, 0x8B, 0x8C, 0x8D, 0x8F}
    cayman |= {0x06, 0x07, 0x81, 0xBC, 0xBD, 0xBE, 0xBF, 0xD7, 0xE4, 0xE9, 0xF1, 0xF2}
    mariana = cayman | {0x08, 0x09, 0x0A, 0x25, 0xB4, 0xE0, 0xE1, 0xE2, 0xE3}
    maverick = mariana | {0x26, 0xB6, 0xB9, 0xBA, 0xF3, 0xF4}
    assert members(Generation.CAYMAN) == cayman
    assert members(Generation.MARIANA) == mariana
    assert members(Generation.MAVERICK) == maverick


def test_which_opcodes_of_the_engine_are_sundas_alone():
    for generation in Generation:
        removed = set(map(int, Opcode)) - members(generation)
        assert removed == (set() if generation is Generation.SUNDA else {0x8A, 0x8B, 0x8F})
