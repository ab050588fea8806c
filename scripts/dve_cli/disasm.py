"""``dve disasm``: binary to text."""

from pathlib import Path
from typing import Annotated

import typer
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import format_instruction

from dve_cli.bars import progress_bars
from dve_cli.files import write_atomically
from dve_cli.generations import GenerationOption
from dve_cli.programs import read_program
from dve_cli.targets import require_targets


def disasm(
    program: Annotated[Path, typer.Argument(metavar="PROGRAM.bin", help="Program to read.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="OUT.s", help="Where to write; standard output if not given."
        ),
    ] = None,
    generation: GenerationOption = Generation.CAYMAN,
) -> None:
    """Write a program as text, one instruction per line.

    The text assembles to the same bytes, whatever they are; the generation, which decides how
    addresses are written, has to be the same then.

    Example: dve disasm backward.bin -o backward.s
    """
    require_targets({"--out": out}, inputs=[program])
    records = read_program(program)
    lines = []
    with progress_bars() as progress:
        for index, record in enumerate(records):
            progress("write", index, len(records))
            lines.append(f"{format_instruction(record, generation)}\n")
    text = "".join(lines)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(out, text.encode())
