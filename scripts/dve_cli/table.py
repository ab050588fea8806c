"""``dve table``: the front-end table of an engine."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from dve_golden.isa.dispatch import TABLES, Engine, Entry, is_implemented
from dve_golden.isa.generations import Generation, in_generation
from rich import box
from rich.console import Console
from rich.table import Table

from dve_cli.files import write_atomically
from dve_cli.generations import NAMES
from dve_cli.targets import require_writable

UNKNOWN = "-"
"""For what no source names, and for an index outside the table."""

PIPE_WIDTH = 132
"""Columns of the table where standard output is not a terminal; no name is broken."""

LETTERS = {
    Generation.SUNDA: "S",
    Generation.CAYMAN: "C",
    Generation.MARIANA: "M",
    Generation.MAVERICK: "V",
}
"""How the table writes the generations that know an opcode."""


def table(
    engine: Annotated[
        Engine,
        typer.Option(case_sensitive=False, help="The vector engine, or the pool engine."),
    ] = Engine.DVE,
    generation: Annotated[
        Generation | None,
        typer.Option(
            case_sensitive=False,
            metavar="NAME",
            help=f"Only the opcodes that this one knows: {NAMES}.",
        ),
    ] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the table as JSON.")
    ] = None,
) -> None:
    """Show what the front end of an engine knows, and what of it this engine executes.

    The vector engine looks up opcode - 0x41 and jumps to a trampoline, which calls the handler's
    body. The pool engine scans 17 records for the opcode, without an index; no batch-norm opcode is
    among them. Addresses are those of cayman's firmware, where they are known.

    Examples: dve table; dve table --engine pool; dve table --generation sunda --json table.json
    """
    if json_out is not None:
        require_writable(json_out)
    entries = [
        _described(engine, entry)
        for entry in TABLES[engine]
        if generation is None or in_generation(entry.opcode, generation)
    ]
    if json_out is not None:
        report = {
            "engine": engine.value,
            "generation": None if generation is None else generation.value,
            "entries": entries,
        }
        write_atomically(json_out, f"{json.dumps(report, indent=2)}\n".encode())
    _print(engine, entries)


def _described(engine: Engine, entry: Entry) -> dict[str, Any]:
    return {
        "opcode": entry.opcode,
        "name": entry.name,
        "index": entry.index if engine is Engine.DVE else None,
        "trampoline": entry.trampoline,
        "handler": entry.handler,
        "struct": entry.struct,
        "generations": [generation.value for generation in entry.generations],
        "implemented": is_implemented(engine, entry),
    }


def _print(engine: Engine, entries: list[dict[str, Any]]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    shown = Table(box=box.SIMPLE_HEAD)
    for name in COLUMNS:
        shown.add_column(name, overflow="fold")
    for entry in entries:
        shown.add_row(*(COLUMNS[name](entry[name]) for name in COLUMNS))
    console.print(shown)
    letters = ", ".join(f"{letter} {generation.value}" for generation, letter in LETTERS.items())
    implemented = sum(entry["implemented"] for entry in entries)
    console.print(f"{engine.value}: {len(entries)} records, {implemented} implemented; {letters}")


def _hexadecimal(digits: int) -> Callable[[int | None], str]:
    return lambda value: UNKNOWN if value is None else f"0x{value:0{digits}x}"


def _text(value: str | None) -> str:
    return value or UNKNOWN


def _letters(generations: list[str]) -> str:
    return "".join(LETTERS[g] if g.value in generations else UNKNOWN for g in Generation)


COLUMNS: dict[str, Callable[[Any], str]] = {
    "opcode": _hexadecimal(2),
    "name": _text,
    "index": _hexadecimal(2),
    "trampoline": _hexadecimal(4),
    "handler": _hexadecimal(4),
    "struct": _text,
    "generations": _letters,
    "implemented": lambda yes: "yes" if yes else "no",
}
"""How each value is shown."""
