"""``dve run``: a program on the RTL or on the golden model."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from dve_cosim.errors import WaitError
from dve_cosim.progress import Progress
from dve_cosim.reference import machine_of
from dve_cosim.session import run_program, waves_format
from dve_cosim.state import ArchState
from dve_golden.isa.dispatch import opcode_name
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import MNEMONICS
from dve_golden.machine import WaitingError
from dve_rtl.config import EngineConfig
from rich import box
from rich.console import Console
from rich.table import Table

from dve_cli.arrays import npz_bytes
from dve_cli.bars import progress_bars
from dve_cli.engines import Lanes, Preset, chosen_engine
from dve_cli.errors import UserError
from dve_cli.files import write_together
from dve_cli.generations import GenerationOption
from dve_cli.programs import read_program
from dve_cli.states import COMPLETIONS, initial_state, read_state, resized
from dve_cli.targets import require_targets

SHOWN = 64
"""Rows of the table; of a longer program the first and last halves of this."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What either side did: completions as arrays, the state, and where the time went."""

    state: ArchState
    opcode: np.ndarray
    reason: np.ndarray
    cycles: np.ndarray
    seconds: dict[str, float] = field(default_factory=dict)


def run(
    program: Annotated[
        Path, typer.Argument(metavar="PROGRAM.bin", help="64-byte instructions, as dve asm writes.")
    ],
    memory: Annotated[
        Path | None,
        typer.Option(
            metavar="IN.npz",
            help="State before, each array optional: sbuf, psum uint8 [128, bytes];"
            " registers uint32 [64]; parameter_ram float32 [256]; lane_state float32 [128, 5];"
            " semaphores uint32 [256]; events uint8 [256], 0 or 1; control uint32 [7];"
            " memory_bytes uint32 [2].",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT.npz",
            help="State after, and completion_opcode, completion_reason, completion_cycles.",
        ),
    ] = None,
    on: Annotated[
        Literal["rtl", "golden"],
        typer.Option(case_sensitive=False, help="Verilog under Verilator, or numpy."),
    ] = "rtl",
    lanes: Lanes = None,
    preset: Preset = None,
    generation: GenerationOption = Generation.CAYMAN,
    wave: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the waveform, .vcd or .fst, while it runs, so that what a hang or an"
            " interrupt cuts short can be looked at; RTL only.",
        ),
    ] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write completions as JSON.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if an instruction is illegal.")
    ] = False,
) -> None:
    """Run a program and show how each instruction completed.

    Memory rows that are shorter than the engine's fill its start; longer ones make its memory
    the next power of two; memory_bytes, if there, sets the bytes per partition of SBUF and PSUM,
    as files of dve fuzz do. An illegal instruction does nothing but its update, and the program
    goes on. Nobody else posts to semaphores or events here: a wait that does not hold ends the
    run, which then writes no file.

    Exit status 0 (with --strict 1 if an instruction is illegal), 2 on bad input or if the
    simulation fails, 3 if an instruction waits in vain.

    Examples: dve run backward.bin --memory in.npz --out out.npz; dve run backward.bin --on golden
    """
    config = replace(chosen_engine(preset, lanes), generation=generation)
    records = read_program(program)
    arrays = {} if memory is None else read_state(memory, generation)
    config = resized(config, memory, arrays)
    if wave is not None and on == "golden":
        raise UserError("--wave needs --on rtl: the golden model has no signals")
    try:
        waves_format(wave)
    except ValueError as error:
        raise UserError(f"--wave: {error}") from error
    require_targets({"--out": out, "--json": json_out, "--wave": wave}, inputs=[program])
    require_targets({"--json": json_out, "--wave": wave}, inputs=[memory])  # --out may go on there
    state = initial_state(config, arrays)
    with progress_bars() as progress:
        if on == "golden":
            outcome = _run_golden(records, state, config, progress)
        else:
            outcome = _run_rtl(records, state, config, wave, progress)
    files = {}
    if out is not None:
        files[out] = npz_bytes(out_arrays(outcome))
    if json_out is not None:
        files[json_out] = f"{json.dumps(_described(outcome, on, config), indent=2)}\n".encode()
    try:
        write_together(files)
    finally:
        _print(outcome, on, config)
    if strict and outcome.reason.any():
        raise typer.Exit(1)


def out_arrays(outcome: Outcome) -> dict[str, np.ndarray]:
    """The content of OUT.npz."""
    completions = (outcome.opcode, outcome.reason, outcome.cycles)
    return outcome.state.arrays() | dict(zip(COMPLETIONS, completions, strict=True))


def _run_golden(
    records: Sequence[bytes], state: ArchState, config: EngineConfig, progress: Progress
) -> Outcome:
    machine = machine_of(config)
    state.copy_into(machine)
    start = time.perf_counter()
    completions = []
    for index, record in enumerate(records):
        progress("execute", index, len(records))
        try:
            completions.append(machine.execute(record))
        except WaitingError as error:
            raise WaitError(f"{error}; {error.remedy}") from error
    return Outcome(
        ArchState.copy_of(machine),
        opcode=np.array([completion.opcode for completion in completions], np.uint8),
        reason=np.array([completion.reason for completion in completions], np.uint8),
        cycles=np.zeros(len(completions), np.uint32),
        seconds={"execute": time.perf_counter() - start},
    )


def _run_rtl(
    records: Sequence[bytes],
    state: ArchState,
    config: EngineConfig,
    wave: Path | None,
    progress: Progress,
) -> Outcome:
    result = run_program(
        b"".join(records), config=config, state=state, waves=wave, progress=progress
    )
    timing = result.timing
    return Outcome(
        result.state,
        result.opcode,
        result.reason,
        result.cycles,
        {
            "build": timing.build,
            "simulate": timing.simulate,
            "python": timing.python,
            "dump": timing.dump,
        },
    )


def _described(outcome: Outcome, on: str, config: EngineConfig) -> dict[str, Any]:
    return {
        "on": on,
        "generation": config.generation.value,
        "lanes": config.lanes,
        "sbuf_bytes": config.sbuf_active_bytes,
        "psum_bytes": config.psum_active_bytes,
        "instructions": [
            {
                "index": index,
                "opcode": int(outcome.opcode[index]),
                "name": _mnemonic(outcome.opcode[index]),
                "reason": int(outcome.reason[index]),
                "reason_name": Reason(outcome.reason[index]).name,
                "cycles": int(outcome.cycles[index]),
            }
            for index in range(len(outcome.opcode))
        ],
        "cycles": int(outcome.cycles.sum(dtype=np.uint64)),
        "illegal": int(np.count_nonzero(outcome.reason)),
        "seconds": outcome.seconds,
    }


def _mnemonic(opcode: int) -> str:
    try:
        return MNEMONICS[Opcode(opcode)]
    except ValueError:
        return opcode_name(opcode) or "unknown"


def _print(outcome: Outcome, on: str, config: EngineConfig) -> None:
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("#", "opcode", "instruction", "reason", "cycles"):
        table.add_column(heading, justify="right" if heading in ("#", "cycles") else "left")
    total = len(outcome.opcode)
    shown = range(total)
    if total > SHOWN:
        shown = [*range(SHOWN // 2), *range(total - SHOWN // 2, total)]
    for index in shown:
        reason = Reason(outcome.reason[index])
        table.add_row(
            str(index),
            f"{outcome.opcode[index]:#04x}",
            _mnemonic(outcome.opcode[index]),
            "-" if reason is Reason.NONE else f"[red]{reason.value} {reason.name}[/]",
            "-" if on == "golden" else f"{outcome.cycles[index]:,}",
            end_section=total > SHOWN and index == SHOWN // 2 - 1,
        )
    if total:
        console.print(table)
    if total > SHOWN:
        console.print(f"{total - SHOWN:,} instructions between are not shown; --json lists all")
    where = "the golden model" if on == "golden" else f"the RTL, {config.lanes} lanes"
    cycles = "" if on == "golden" else f", {outcome.cycles.sum(dtype=np.uint64):,} cycles"
    illegal = int(np.count_nonzero(outcome.reason))
    console.print(f"{total:,} instructions on {where}: {illegal:,} illegal{cycles}")
