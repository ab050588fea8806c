"""``dve export``: the engine as Verilog-2005."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from dve_cosim.engine import engine_verilog
from dve_golden.isa.generations import Generation
from dve_rtl.config import PRESETS
from dve_rtl.target import Target

from dve_cli.bars import progress_bars
from dve_cli.engines import Lanes, chosen_engine
from dve_cli.errors import UserError
from dve_cli.files import write_atomically
from dve_cli.generations import GenerationOption
from dve_cli.targets import require_writable


def export(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.v", help="Where to write the Verilog.")
    ],
    preset: Annotated[str | None, typer.Option(help=f"Engine: {', '.join(PRESETS)}.")] = None,
    lanes: Lanes = None,
    generation: GenerationOption = Generation.CAYMAN,
    target: Annotated[
        Target,
        typer.Option(
            case_sensitive=False,
            metavar="NAME",
            help=f"Whose multiplier blocks to use: {', '.join(map(str, Target))}.",
        ),
    ] = Target.PORTABLE,
) -> None:
    """Write the engine as one Verilog-2005 file, for any tool that reads that.

    The top module is dve_engine; a comment at the head states its configuration. With a target
    other than portable the file instantiates that family's blocks, for its synthesis only.

    Examples: dve export --preset fpga -o dve.v;
    dve export --lanes 32 --generation mariana -o dve32.v;
    dve export --preset fpga --target ecp5 -o dve.v
    """
    if preset is None and lanes is None:
        raise UserError("say which engine: --preset P or --lanes N")
    config = replace(chosen_engine(preset, lanes), generation=generation, target=target)
    require_writable(out)
    with progress_bars() as progress:
        progress("export", 0, 0)
        text = engine_verilog(config)
    write_atomically(out, text.encode())
