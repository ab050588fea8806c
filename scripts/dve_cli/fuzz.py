"""``dve fuzz``: random programs on RTL and golden model until a bit differs."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from dve_cosim.fuzz import FuzzResult
from dve_cosim.fuzz import fuzz as campaign
from dve_cosim.progress import Progress
from dve_cosim.scoreboard import Runner, golden, golden_afresh, rtl
from dve_golden.isa.generations import Generation
from dve_rtl.config import LANE_COUNTS, EngineConfig

from dve_cli.bars import progress_bars
from dve_cli.errors import UserError
from dve_cli.files import write_atomically, write_together
from dve_cli.fuzz_table import print_result
from dve_cli.generations import GenerationOption
from dve_cli.revision import revision
from dve_cli.targets import require_writable

DEFAULT_COUNT = 1000


def fuzz(
    seed: Annotated[int, typer.Option(min=0, help="Of the programs.")] = 0,
    count: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Programs to run. [default: {DEFAULT_COUNT}; no limit with --minutes]"
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Begin no further batch of 64 programs after that time.")
    ] = None,
    lanes: Annotated[
        int, typer.Option(help=f"Of the engine: {', '.join(map(str, LANE_COUNTS))}.")
    ] = 4,
    generation: GenerationOption = Generation.CAYMAN,
    on: Annotated[
        Literal["rtl", "golden"],
        typer.Option(
            help="What is compared with the golden model: the Verilog under Verilator, or the"
            " golden model itself, started anew for every instruction."
        ),
    ] = "rtl",
    illegal: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of instructions with altered fields or bits, or of noise; five in six of"
            " them are illegal.",
        ),
    ] = 0.3,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write figures and coverage as JSON."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where a failing program is written.")
    ] = Path(),
) -> None:
    """Run random programs on the RTL and the golden model until a bit differs.

    Legal programs keep to the corners: edges of quadrants and partitions, counts of 1 and 65,535,
    steps of 0, -1 and the extremes, all types, every kind of aliasing, PSUM, waits and updates;
    some 4,000 of them hit nearly every combination of types, memories and aliasing. The whole
    state is compared after each batch of 64. The first program that differs is shrunk and written
    as DIR/fuzz_SEED_BATCH.bin and .npz; dve run replays them, and tests/regression takes them as
    they are. The engine has 1,024 bytes of SBUF and 512 of PSUM per partition.

    Exit status 0 if no bit differs, 1 if one does, 2 on bad input or if the simulation fails.

    Examples: dve fuzz --count 500; dve fuzz --seed 7 --minutes 30 --json fuzz.json;
    dve fuzz --generation maverick
    """
    try:
        config = EngineConfig(lanes=lanes, generation=generation, sbuf_bytes=1024, psum_bytes=512)
    except ValueError as error:
        raise UserError(f"--lanes: {error}") from error
    if minutes is not None and not minutes > 0:
        raise UserError(f"--minutes must be above 0, got {minutes:g}")
    if json_out is not None:
        require_writable(json_out)
    require_writable(out / "fuzz.bin" if out.is_dir() else out)
    if count is None and minutes is None:
        count = DEFAULT_COUNT
    commit = revision()  # before the campaign: the checkout may move on meanwhile
    with progress_bars() as progress:
        result = campaign(
            seed=seed,
            count=count,
            seconds=None if minutes is None else 60 * minutes,
            config=config,
            illegal=illegal,
            suspect=_suspect(on, config, progress),
            reference=partial(golden, config=config),
            progress=progress,
        )
    try:
        if result.failure is not None:  # first: it is what must not get lost
            _write_case(result, out)
        if json_out is not None:
            report = {"revision": commit, "on": on, **result.described()}
            write_atomically(json_out, f"{json.dumps(report, indent=2)}\n".encode())
    finally:
        print_result(result, on)
    if result.failure is not None:
        stem = out / result.name
        engine = f"--lanes {lanes}"
        if generation is not Generation.CAYMAN:
            engine += f" --generation {generation.value}"
        print(f"replay: dve run {stem}.bin --memory {stem}.npz {engine} --on {on}")
        raise typer.Exit(1)


def _suspect(on: str, config: EngineConfig, progress: Progress) -> Runner:
    if on == "golden":
        return partial(golden_afresh, config=config)

    def building(step: str, done: int, total: int) -> None:
        if step != "simulate":  # the campaign counts programs
            progress(step, done, total)

    return partial(rtl, config=config, progress=building)


def _write_case(result: FuzzResult, folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make {folder}: {error.strerror}") from error
    stem = folder / result.name
    write_together({stem.with_suffix(name): data for name, data in result.case.files().items()})
