"""``dve asm``: text to binary."""

from pathlib import Path
from typing import Annotated

import typer
from dve_golden.isa.generations import Generation

from dve_cli.files import write_atomically
from dve_cli.generations import GenerationOption
from dve_cli.programs import read_source
from dve_cli.targets import require_targets


def asm(
    source: Annotated[Path, typer.Argument(metavar="IN.s", help="Program as text.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT.bin", help="Where to write the program.")
    ],
    generation: GenerationOption = Generation.CAYMAN,
) -> None:
    """Assemble a program: 64 bytes for each instruction.

    Legality is not checked, so that illegal instructions can be written as well; that is what
    `dve lint` is for. The grammar is in docs/assembly.md. The generation decides which address a
    place such as sbuf[32:0x40] has.

    Example: dve asm backward.s -o backward.bin
    """
    require_targets({"--out": out}, inputs=[source])
    write_atomically(
        out, b"".join(statement.record for statement in read_source(source, generation))
    )
