"""The option ``--generation``."""

from typing import Annotated

import typer
from dve_golden.isa.generations import Generation

NAMES = ", ".join(generation.value for generation in Generation)

GenerationOption = Annotated[
    Generation,
    typer.Option(
        case_sensitive=False,
        metavar="NAME",
        help=f"Whose opcodes, memories and address words: {NAMES}.",
    ),
]
