"""Which opcodes each generation of the engine knows (isa_common.md 0.2, 1.7)."""

from enum import StrEnum


class Generation(StrEnum):
    """Code names, oldest first."""

    SUNDA = "sunda"
    CAYMAN = "cayman"
    MARIANA = "mariana"
    MAVERICK = "maverick"


OPCODE_MASKS: dict[Generation, tuple[int, int, int, int]] = {
    Generation.SUNDA: (
        0x0001001E0000003E,
        0xFFDFFFFFC11EFFFE,
        0x092F0FFFFF7CFDFC,
        0x800105E0FF7FFFFE,
    ),
    Generation.CAYMAN: (
        0x0001001E000000FE,
        0xFFDFFFFFC11EFFFE,
        0xF92F0FFFFF7C407E,
        0x800707F0FFFFFFFE,
    ),
    Generation.MARIANA: (
        0x0001003E000007FE,
        0xFFDFFFFFC11EFFFE,
        0xF93F0FFFFF7C407E,
        0x800707FFFFFFFFFE,
    ),
    Generation.MAVERICK: (
        0x0001007E000007FE,
        0xFFDFFFFFC11EFFFE,
        0xFF7F0FFFFF7C407E,
        0x801F07FFFFFFFFFE,
    ),
}
"""Membership: bit i of word w stands for opcode ``64*w + i``. 0xFF, INVALID, is a member."""


def in_generation(opcode: int, generation: Generation) -> bool:
    """Whether ``opcode`` (one byte) is a member of the generation's set."""
    return bool(OPCODE_MASKS[generation][opcode >> 6] >> (opcode & 63) & 1)
