"""``dve cosim``: batch-norm backward of a layer on RTL and golden, every bit compared."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from dve_cosim.main_job import run_main_job
from dve_cosim.report import as_json, report_files
from dve_cosim.session import waves_format
from dve_cosim.trace import as_trace

from dve_cli.arrays import npz_bytes
from dve_cli.bars import progress_bars
from dve_cli.cosim_table import print_result
from dve_cli.engines import Lanes, Preset, chosen_engine
from dve_cli.errors import UserError
from dve_cli.files import write_together
from dve_cli.revision import revision
from dve_cli.targets import require_targets
from dve_cli.workloads import chosen_workload


def cosim(
    input_file: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="FILE.npz",
            help="Layer to run: x, dy [N, C, ...] of rank 2 to 5; mean, gamma [C]; inv_std [C],"
            " or var (biased) [C] with eps. Default: a trained layer on handwritten digits.",
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            metavar="NxCx...", help="Layer of random numbers, such as 4x256x14x14, instead."
        ),
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="Storage of x, dy and d_x: fp32, bf16 or fp16.")
    ] = "fp32",
    preset: Preset = None,
    lanes: Lanes = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="Not 0: delay a quarter of the transfers on every stream, by pauses of this"
            " seed. Cycle counts may change, results must not.",
        ),
    ] = 0,
    no_mean_coupling: Annotated[
        bool,
        typer.Option("--no-mean-coupling", help="Take the given mean as exact."),
    ] = False,
    host_coefficients: Annotated[
        bool,
        typer.Option(
            "--host-coefficients",
            help="Add the sums of tiles and form the coefficients on the host, in float64.",
        ),
    ] = False,
    fuse_relu: Annotated[
        bool,
        typer.Option(
            "--fuse-relu",
            help="A rectifier follows the layer: the input has relu_mask [N, C, ...] (bool or"
            " uint8), or beta [C] to form it again.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npz", help="Write d_x, d_gamma and d_beta."),
    ] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")
    ] = None,
    asm: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the program that ran, for dve asm."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Write instructions, passes and busy units as a trace for Perfetto.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write figures, plots and a page that shows them, index.html."
        ),
    ] = None,
    wave: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the waveform, .vcd or .fst; if the layer needs several simulator runs,"
            " one file for each: FILE.0.vcd, FILE.1.vcd, ...",
        ),
    ] = None,
) -> None:
    """Run batch-norm backward of a real layer on the RTL and compare every bit.

    GradAccum2, tensor-tensor instructions for the coefficients, ParamLoad2 and BackProp run as
    64-byte instructions through the Verilog under Verilator and through the golden model; the
    whole state is compared. The gradients are compared with float64.

    Exit status 0 if no bit differs, 1 if one does, 2 on bad input or if the simulation fails.

    Examples: dve cosim; dve cosim --dtype bf16 --lanes 32 --report out; dve cosim
    --shape 4x256x14x14 --lanes 32 --fuse-relu --asm backward.s
    """
    config = chosen_engine(preset, lanes)
    if fuse_relu and host_coefficients:
        raise UserError("--fuse-relu needs coefficients on the engine: no --host-coefficients")
    workload = chosen_workload(input_file, shape, dtype, fuse_relu=fuse_relu)
    try:
        waves_format(wave)
    except ValueError as error:
        raise UserError(f"--wave: {error}") from error
    require_targets(
        {
            "--out": out,
            "--json": json_out,
            "--asm": asm,
            "--trace": trace,
            "--wave": wave,
            "--report": report and _first_target(report),
        },
        inputs=[input_file],
    )
    commit = revision()  # before the run: the checkout may move on meanwhile
    with progress_bars() as progress:
        try:
            result = run_main_job(
                workload,
                config=config,
                mean_coupling=not no_mean_coupling,
                on_engine=not host_coefficients,
                seed=seed,
                waves=wave,
                progress=progress,
            )
        except ValueError as error:  # the engine's memory does not hold a tile
            raise UserError(str(error)) from error
    files = {}
    if out is not None:
        files[out] = npz_bytes(result.gradients._asdict())
    if json_out is not None:
        files[json_out] = as_json(result, commit)
    if asm is not None:
        files[asm] = result.assembly.encode()
    if trace is not None:
        files[trace] = as_trace(result)
    try:
        if report is None:
            write_together(files)
        else:
            _write_with_folder(report, report_files(result, commit), files)
    finally:
        print_result(result)
    if result.differing_bits:
        raise typer.Exit(1)


def _first_target(folder: Path) -> Path:
    """What a report in ``folder`` creates first: a file in it, or the folder itself."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"cannot write {folder}: it is not a directory")
    return folder / "index.html" if folder.is_dir() else folder


def _write_with_folder(folder: Path, inside: dict[str, bytes], files: dict[Path, bytes]) -> None:
    """Write the files of a folder and others together; on an error no new folder stays."""
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make {folder}: {error.strerror}") from error
    try:
        write_together(files | {folder / name: data for name, data in inside.items()})
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
