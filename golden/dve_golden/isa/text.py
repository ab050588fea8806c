"""Programs as text: assembler and disassembler (grammar in docs/assembly.md).

One instruction per line. Every 64 bytes have a text form that assembles to the same bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from dve_golden.isa.codec import Fields, decode, encode
from dve_golden.isa.enums import RECORD_BYTES, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import MNEMONICS
from dve_golden.isa.scanner import AssemblyError as AssemblyError
from dve_golden.isa.scanner import Scanner
from dve_golden.isa.syntax import DEFAULTS, FIELD_BITS, KEYS

RAW = ".record"
"""Directive that gives a whole record in hexadecimal."""

_OPCODES = frozenset(map(int, Opcode))
_OPCODE_OF_MNEMONIC = {mnemonic: opcode for opcode, mnemonic in MNEMONICS.items()}
_STATEMENTS = frozenset({RAW, *_OPCODE_OF_MNEMONIC})


@dataclass(frozen=True)
class Statement:
    """An assembled instruction and the line, counted from 1, on which it starts."""

    line: int
    record: bytes


def assemble(text: str, generation: Generation = Generation.CAYMAN) -> bytes:
    """The instructions of a program, 64 bytes each.

    Legality is not checked: an illegal instruction can be written as well. The generation decides
    what the address of a place such as ``sbuf[32:0x40]`` is.

    Raises
    ------
    AssemblyError
        If the text does not follow the grammar; it names line, column and what was expected.
    """
    return b"".join(statement.record for statement in statements(text, generation))


def statements(text: str, generation: Generation = Generation.CAYMAN) -> Iterator[Statement]:
    """The instructions of a program one by one; raises as `assemble` does."""
    scanner = Scanner(text)
    while not scanner.at_end():
        scanner.skip_blanks()
        if not scanner.at_end_of_line():
            line = scanner.line
            yield Statement(line, _parse_statement(scanner, generation))


def disassemble(program: bytes, generation: Generation = Generation.CAYMAN) -> str:
    """The text form of a program, one line per instruction.

    Raises
    ------
    ValueError
        If the size is not a multiple of 64 bytes.
    """
    records = split_records(program)
    return "".join(f"{format_instruction(record, generation)}\n" for record in records)


def split_records(program: bytes) -> list[bytes]:
    """The 64-byte records of a program; raises as `disassemble` does."""
    if len(program) % RECORD_BYTES:
        whole = len(program) // RECORD_BYTES * RECORD_BYTES
        raise ValueError(
            f"{len(program)} bytes are not a whole number of {RECORD_BYTES}-byte instructions;"
            f" the last whole one ends at byte {whole}"
        )
    starts = range(0, len(program), RECORD_BYTES)
    return [program[start : start + RECORD_BYTES] for start in starts]


def format_instruction(record: bytes, generation: Generation = Generation.CAYMAN) -> str:
    """The text form of one instruction, without a line end.

    Raises
    ------
    ValueError
        If there are not 64 bytes.
    """
    if len(record) == RECORD_BYTES and record[0] not in _OPCODES:
        return f"{RAW} {record.hex()}"
    opcode, fields = decode(record)
    words = [MNEMONICS[opcode]]
    for key in KEYS[opcode].values():
        value = key.format(fields, generation)
        if value is not None:
            words.append(f"{key.name}={value}")
    return " ".join(words)


def _parse_statement(scanner: Scanner, generation: Generation) -> bytes:
    start = scanner.position
    mnemonic = scanner.choice(_STATEMENTS, "an instruction")
    if mnemonic == RAW:
        return _parse_raw(scanner)
    scanner.expect_end_of_word()
    opcode = _OPCODE_OF_MNEMONIC[mnemonic]
    keys = KEYS[opcode]
    fields: Fields = dict(DEFAULTS[opcode])
    seen: set[str] = set()
    scanner.skip_blanks()
    while not scanner.at_end_of_line():
        at = scanner.position
        name = scanner.choice(keys, f"a key of {mnemonic}")
        if name in seen:
            raise scanner.error(f"{name} is given twice", at)
        seen.add(name)
        scanner.expect("=", f"'=' after {name}")
        fields |= keys[name].parse(scanner, FIELD_BITS[opcode], generation)
        scanner.expect_end_of_word()
        scanner.skip_blanks()
    missing = [name for name, key in keys.items() if not key.optional and name not in seen]
    if missing:
        raise scanner.error(f"{mnemonic} also needs {', '.join(missing)}", start)
    return encode(opcode, fields)


def _parse_raw(scanner: Scanner) -> bytes:
    digits = 2 * RECORD_BYTES
    scanner.expect(r"[ \t]+", f"a blank after {RAW}")
    pattern = rf"[0-9a-fA-F]{{{digits}}}(?![0-9a-fA-F])"
    record = bytes.fromhex(scanner.expect(pattern, f"{digits} hexadecimal digits"))
    scanner.skip_blanks()
    if not scanner.at_end_of_line():
        raise scanner.error("expected the end of the line")
    return record
