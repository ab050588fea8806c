"""How single values of an instruction are written: addresses, element types, modes, mnemonics.

The text form and the findings of legality use the same notation.
"""

from enum import IntEnum

from dve_golden.isa.enums import Dtype, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import Location, is_register_form, locate


def _mnemonic(opcode: Opcode) -> str:
    short = opcode.name.replace("BATCH_NORM_", "").removesuffix("_OP").removesuffix("_ARITH")
    return short.lower()


MNEMONICS: dict[Opcode, str] = {opcode: _mnemonic(opcode) for opcode in Opcode}
"""The first word of an instruction in text form."""


def format_code(code: int, codes: type[IntEnum]) -> str:
    """The lower-case name of a code, or its number in hexadecimal if it has none."""
    try:
        return codes(code).name.lower()
    except ValueError:
        return f"{code:#04x}"


def format_dtype(code: int) -> str:
    """An element type, for example ``bf16``."""
    return format_code(code, Dtype)


def format_counts(counts: tuple[int, ...]) -> str:
    """Counts of an access pattern, innermost first, for example ``8x8x32``."""
    return "x".join(map(str, counts))


def format_location(location: Location) -> str:
    """A byte of memory, for example ``sbuf[32:0x40]``: partition 32, byte 0x40."""
    return f"{location.region.value}[{location.partition}:{location.offset:#x}]"


def format_address(word: int, generation: Generation = Generation.CAYMAN) -> str:
    """A 32-bit address word; in hexadecimal if it points outside both memories."""
    location = locate(word, generation)
    return f"{word:#010x}" if location is None else format_location(location)


def format_addr4(word: int, generation: Generation = Generation.CAYMAN) -> str:
    """An ADDR4 word: an address, a register such as ``r5``, or bare hexadecimal.

    A register word whose ignored bits are set is written in hexadecimal, so as to keep them.
    """
    if is_register_form(word, generation) and word & 0x7FFF_FF00 == 0:
        return f"r{word & 0xFF}"
    return format_address(word, generation)
