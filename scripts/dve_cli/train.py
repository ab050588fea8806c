"""``dve train``: a network whose batch norm runs on the engine, beside PyTorch's own."""

import json
from pathlib import Path
from typing import Annotated

import typer
from dve_cosim.batchnorm_rtl import engine
from dve_cosim.packages import package_version

from dve_cli.bars import progress_bars
from dve_cli.engines import Lanes, Preset, chosen_engine
from dve_cli.errors import UserError
from dve_cli.files import write_together
from dve_cli.revision import revision
from dve_cli.targets import require_targets

PLOTS = (".png", ".svg")

RTL_STEPS = 20


def train(
    steps: Annotated[int, typer.Option(min=1, max=10_000, help="Steps of training.")] = 150,
    rtl_steps: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="The first of them on the RTL as well, at one or two seconds each; 0 for none."
            f" [default: {RTL_STEPS}, or all if there are fewer]",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=(1 << 63) - 1, help="Of first parameters and batches.")
    ] = 0,
    preset: Preset = None,
    lanes: Lanes = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all curves as JSON.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the curves, .png or .svg.")
    ] = None,
) -> None:
    """Train a network whose batch norm runs on the engine, beside PyTorch's own.

    A small convolutional network learns scikit-learn's handwritten digits: with PyTorch's batch
    norm; with statistics and gradients by the golden model, in fp32 and with x, dy and d_x in
    bf16; and with the Verilog under Verilator. First parameters and batches are the same in all
    runs. The RTL must give the bits of the golden model, in every loss and every parameter.

    Needs the extra `opendve[torch]`.

    Exit status 0 if no bit differs, 1 if one does, 2 on bad input or if the simulation fails.

    Examples: dve train; dve train --steps 500 --rtl-steps 0 --plot curves.png;
    dve train --steps 5 --lanes 1 --seed 3 --json curves.json
    """
    config = chosen_engine(preset, lanes)
    on_rtl = min(RTL_STEPS, steps) if rtl_steps is None else rtl_steps
    if on_rtl > steps:
        raise UserError(f"--rtl-steps {on_rtl} is more than --steps {steps}")
    if plot is not None and plot.suffix not in PLOTS:
        raise UserError(f"--plot: a plot ends in {' or '.join(PLOTS)}, got {plot}")
    require_targets({"--json": json_out, "--plot": plot})
    for package in ("torch", "scikit-learn"):
        package_version(package, what_needs="dve train needs", extra="torch")
    # Not before: PyTorch takes a second to load, and may be missing.
    from dve_torch.comparison import compare
    from dve_torch.plot import curves

    from dve_cli.train_table import print_comparison

    commit = revision()  # before the runs: the checkout may move on meanwhile
    with progress_bars() as progress, engine(config=config, progress=progress) as rtl:
        if on_rtl:
            rtl.start()  # what cannot be built shows before anything is trained
        comparison = compare(
            steps, seed=seed, rtl=rtl if on_rtl else None, rtl_steps=on_rtl, progress=progress
        )
    files: dict[Path, bytes] = {}
    if json_out is not None:
        document = {"revision": commit, "steps": steps, "rtl_steps": on_rtl, "lanes": config.lanes}
        text = json.dumps(document | comparison.report(), indent=2)
        files[json_out] = f"{text}\n".encode()
    if plot is not None:
        files[plot] = curves(comparison, plot.suffix.removeprefix("."))
    try:
        write_together(files)
    finally:
        print_comparison(comparison)
    if comparison.differing_bits:
        raise typer.Exit(1)
