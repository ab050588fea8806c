"""Reading programs, binary or as text."""

from pathlib import Path

from dve_golden.isa.generations import Generation
from dve_golden.isa.text import AssemblyError, Statement, split_records, statements

from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import read_bytes

TEXT_SUFFIX = ".s"


def read_program(path: Path) -> list[bytes]:
    """The 64-byte records of a binary program.

    Raises
    ------
    UserError
        If the file cannot be read, ends within an instruction, or is text by its name.
    """
    if path.suffix == TEXT_SUFFIX:
        raise UserError(f"{path} is a program as text by its name; dve asm makes a binary of it")
    try:
        return split_records(read_bytes(path))
    except ValueError as error:
        raise UserError(f"{path}: {error}; is it complete, and a program?") from error


def read_source(path: Path, generation: Generation) -> list[Statement]:
    """The assembled instructions of a program in text form.

    Raises
    ------
    UserError
        If the file cannot be read, is not text or does not assemble.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")  # some editors begin with a byte order mark
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: byte {error.start} is not UTF-8 text; dve disasm reads binary programs"
        ) from error
    lines = text.count("\n") + 1
    found = []
    try:
        with progress_bars() as progress:
            for statement in statements(text, generation):
                found.append(statement)
                progress("assemble", statement.line, lines)
    except AssemblyError as error:
        raise UserError(f"{path}:{error.line}:{error.column}: {error.message}") from error
    return found
