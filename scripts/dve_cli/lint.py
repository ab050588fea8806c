"""``dve lint``: is each instruction legal, and if not, why."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from dve_golden.frontend.suggest import Explained, explain
from dve_golden.frontend.verdict import Suggestion
from dve_golden.isa.enums import REGISTERS, Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import MNEMONICS
from dve_golden.memory.address import Geometry, Region, Registers
from dve_golden.memory.maps import MEMORY_MAPS
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dve_cli.arrays import read_arrays
from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import write_atomically
from dve_cli.generations import GenerationOption
from dve_cli.programs import TEXT_SUFFIX, read_program, read_source
from dve_cli.targets import require_targets

PIPE_WIDTH = 160
"""Columns of the table where standard output is not a terminal."""


SHOWN = 64
"""Of a program with more instructions, that many illegal ones are shown, and no legal one."""


@dataclass(frozen=True)
class Judged:
    """An instruction and what is wrong with it; ``line`` is that of the source, if there is one."""

    record: bytes
    line: int | None
    wrong: tuple[Explained, ...]

    @property
    def legal(self) -> bool:
        return not self.wrong

    @property
    def reason(self) -> Reason:
        """What the engine reports: the lowest reason, which comes first."""
        return self.wrong[0].finding.reason if self.wrong else Reason.NONE

    @property
    def name(self) -> str:
        try:
            return MNEMONICS[Opcode(self.record[0])]
        except ValueError:
            return f"{self.record[0]:#04x}"


def lint(
    program: Annotated[
        Path, typer.Argument(metavar="PROGRAM", help="Program: text if it ends in .s, else binary.")
    ],
    sbuf_kib: Annotated[int, typer.Option(min=1, help="SBUF KiB per partition.")] = 64,
    psum_kib: Annotated[int, typer.Option(min=1, help="PSUM KiB per partition.")] = 16,
    registers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Array `registers`, uint32 [64], for addresses held in registers; else all 0.",
        ),
    ] = None,
    generation: GenerationOption = Generation.CAYMAN,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the findings as JSON.")
    ] = None,
) -> None:
    """Say for each instruction whether it is legal, or the reason with field, value and rule.

    Where there is one, the nearest legal value is named: with it, and all else as it is, the rule
    is kept.

    Exit status 0 if all are legal, 1 if one is not, 2 if the input cannot be read.

    Examples: dve lint backward.bin; dve lint backward.s --sbuf-kib 1 --json findings.json;
    dve lint backward.s --generation maverick
    """
    geometry = _geometry(sbuf_kib, psum_kib, generation)
    values = np.zeros(REGISTERS, np.uint32) if registers is None else _read_registers(registers)
    require_targets({"--json": json_out}, inputs=[program, registers])
    judged = _judge(program, values, geometry)
    try:
        if json_out is not None:
            report = json.dumps(_as_json(program, geometry, judged), indent=2) + "\n"
            write_atomically(json_out, report.encode())
    finally:
        _print(judged)
    if not all(instruction.legal for instruction in judged):
        raise typer.Exit(1)


def _read_registers(path: Path) -> Registers:
    names = []

    def wanted(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> bool:
        names.append(name)
        if name == "registers" and (dtype != np.uint32 or shape != (REGISTERS,)):
            raise UserError(
                f"{path}: registers must be uint32 [{REGISTERS}], got {dtype} {list(shape)}"
            )
        return name == "registers"

    arrays = read_arrays(path, wanted)
    if "registers" not in arrays:
        raise UserError(f"{path}: no array 'registers'; it has {', '.join(names) or 'none'}")
    return arrays["registers"]


def _geometry(sbuf_kib: int, psum_kib: int, generation: Generation) -> Geometry:
    """The memories asked for, if an engine can have them: powers of two."""
    for region, kib in ((Region.SBUF, sbuf_kib), (Region.PSUM, psum_kib)):
        active_kib = MEMORY_MAPS[generation][region].active // 1024
        limit = 1 << (active_kib - 1).bit_length()
        if kib > limit or kib & (kib - 1):
            raise UserError(
                f"--{region.value}-kib must be a power of two from 1 to {limit}"
                f" on {generation.value}, got {kib}"
            )
    return Geometry(sbuf_bytes=sbuf_kib * 1024, psum_bytes=psum_kib * 1024, generation=generation)


def _judge(program: Path, registers: Registers, geometry: Geometry) -> list[Judged]:
    lines: list[tuple[int | None, bytes]]
    if program.suffix == TEXT_SUFFIX:
        lines = [
            (statement.line, statement.record)
            for statement in read_source(program, geometry.generation)
        ]
    else:
        lines = [(None, record) for record in read_program(program)]
    judged = []
    with progress_bars() as progress:
        for index, (line, record) in enumerate(lines):
            progress("judge", index, len(lines))
            wrong = explain(record, registers=registers, geometry=geometry)
            judged.append(Judged(record, line, wrong))
    return judged


def _print(judged: list[Judged]) -> None:
    illegal = [(index, item) for index, item in enumerate(judged) if not item.legal]
    shown = list(enumerate(judged)) if len(judged) <= SHOWN else illegal[:SHOWN]
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    lines = any(instruction.line is not None for instruction in judged)
    table = Table()
    for heading in ("line" if lines else "#", "instruction", "verdict", "field", "value", "rule"):
        table.add_column(heading, overflow="fold")
    for index, instruction in shown:
        place = str(index if instruction.line is None else instruction.line)
        if instruction.legal:
            table.add_row(place, instruction.name, Text("legal", "green"))
        for explained in instruction.wrong:
            table.add_row(*(Text(cell) for cell in (place, instruction.name, *_cells(explained))))
            place = ""
    if shown:
        console.print(table)
    if len(judged) > SHOWN:
        console.print(
            f"shown are {len(shown):,} of {len(illegal):,} illegal instructions,"
            f" of {len(judged):,}; --json lists all",
            highlight=False,
        )
    console.print(f"{len(judged):,} instructions, {len(illegal):,} illegal", highlight=False)


def _cells(explained: Explained) -> tuple[str, str, str, str]:
    finding, nearest = explained.finding, explained.suggestion
    first, last = finding.bytes
    span = f"byte {first}" if first == last else f"bytes {first} to {last}"
    rule = finding.rule if nearest is None else f"{finding.rule}; nearest: {nearest.text}"
    return _reason(finding.reason), f"{finding.field} ({span})", finding.value, rule


def _reason(reason: Reason) -> str:
    return f"{int(reason)} {reason.name.lower().replace('_', ' ')}"


def _as_json(program: Path, geometry: Geometry, judged: list[Judged]) -> dict[str, Any]:
    return {
        "program": str(program),
        "generation": geometry.generation.value,
        "instructions": [
            {
                "index": index,
                "line": instruction.line,
                "opcode": instruction.record[0],
                "name": instruction.name,
                "legal": instruction.legal,
                "reason": int(instruction.reason),
                "reason_name": instruction.reason.name,
                "findings": [
                    {
                        "reason": int(explained.finding.reason),
                        "reason_name": explained.finding.reason.name,
                        "field": explained.finding.field,
                        "bytes": list(explained.finding.bytes),
                        "value": explained.finding.value,
                        "rule": explained.finding.rule,
                        "suggestion": _suggestion_as_json(explained.suggestion),
                    }
                    for explained in instruction.wrong
                ],
            }
            for index, instruction in enumerate(judged)
        ],
        "illegal": sum(not instruction.legal for instruction in judged),
    }


def _suggestion_as_json(suggestion: Suggestion | None) -> dict[str, Any] | None:
    """Field, or the register that it names, and what to put there."""
    if suggestion is None:
        return None
    value = suggestion.value
    return {
        "field": suggestion.field,
        "register": suggestion.register,
        "value": value if isinstance(value, int) else list(value),  # elements, or bytes
        "text": suggestion.text,
    }
