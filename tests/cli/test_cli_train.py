"""``dve train`` from options to files and exit status, with golden in the simulator's place."""

import json
from contextlib import nullcontext
from importlib import metadata

import dve_torch.comparison
import numpy as np
import pytest
from dve_cli import train as command
from dve_cli.main import app
from dve_torch.comparison import GOLDEN, GOLDEN_BF16, RTL, TORCH, Comparison
from dve_torch.training import Run
from typer.testing import CliRunner


class Training:
    """What takes the place of `dve_torch.comparison.compare`: curves without training."""

    def __init__(self):
        self.asked = []
        self.wrong = 0

    def __call__(self, steps, *, seed, rtl, rtl_steps, progress):
        self.asked.append((steps, seed, rtl, rtl_steps))
        parameters = np.ones((steps, 3), np.float32)
        loss = np.linspace(2, 1, steps).astype(np.float32)
        run = Run(loss, np.linspace(0.1, 0.9, steps), parameters, 1.5)
        runs = {TORCH: run, GOLDEN: run, GOLDEN_BF16: run}
        if rtl is not None:
            found = parameters[:rtl_steps].copy()
            found.view(np.uint32)[-1, 0] ^= self.wrong
            runs[RTL] = Run(loss[:rtl_steps], run.accuracy[:rtl_steps], found, 9)
        return Comparison(seed, runs)


class Idle:
    """Takes the place of the engine."""

    def __init__(self, config):
        self.lanes = config.lanes
        self.started = False

    def start(self):
        self.started = True


@pytest.fixture
def training(monkeypatch):
    training = Training()
    monkeypatch.setattr(dve_torch.comparison, "compare", training)
    monkeypatch.setattr(command, "engine", lambda config, progress: nullcontext(Idle(config)))
    return training


@pytest.fixture
def dve(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        return CliRunner().invoke(app, ["train", *map(str, arguments)])

    return run


@pytest.mark.parametrize(
    ("options", "lanes", "want"),
    [
        ([], 8, (150, 0, 20)),
        (["--steps", 7, "--seed", 3], 8, (7, 3, 7)),
        (["--steps", 30, "--rtl-steps", 2, "--lanes", 1], 1, (30, 0, 2)),
        (["--rtl-steps", 0], None, (150, 0, 0)),
    ],
)
def test_options(dve, training, options, lanes, want):
    result = dve(*options)
    assert result.exit_code == 0, result.stderr
    ((steps, seed, rtl, rtl_steps),) = training.asked
    assert (steps, seed, rtl_steps) == want
    assert (rtl and (rtl.lanes, rtl.started)) == (lanes and (lanes, True))
    assert ("differing bits" in result.stdout) == bool(rtl_steps)


def test_tables_show_first_and_last_step_and_the_last_of_the_rtl(dve, training):
    lines = dve("--steps", 100, "--rtl-steps", 6).stdout.splitlines()
    loss = lines[: next(at for at, line in enumerate(lines) if "recognised" in line)]
    cells = {words[0]: words[1:] for line in loss if (words := line.split())}
    assert cells["1"] == ["2.000000"] * 4
    assert cells["6"] == ["1.949495"] * 4
    assert cells["100"] == ["1.000000"] * 3
    assert lines[-1] == "differing bits, RTL against golden, 6 steps: 0"


def test_a_bit_that_differs_is_a_failure(dve, training, tmp_path):
    training.wrong = 0b101
    report = tmp_path / "train.json"
    result = dve("--steps", 4, "--json", report)
    assert result.exit_code == 1
    assert result.stdout.endswith("RTL against golden, 4 steps: 2\n")
    assert json.loads(report.read_text())["differing_bits"] == 2


def test_files(dve, training, tmp_path):
    report, plot = tmp_path / "train.json", tmp_path / "train.svg"
    result = dve("--steps", 5, "--json", report, "--plot", plot)
    assert result.exit_code == 0, result.stderr
    written = json.loads(report.read_text())
    assert (written["steps"], written["rtl_steps"], written["lanes"]) == (5, 5, 8)
    assert "revision" in written
    assert written["training"][RTL]["loss"] == np.linspace(2, 1, 5).astype(np.float32).tolist()
    assert plot.read_text().startswith("<?xml")
    assert sorted(tmp_path.iterdir()) == [report, plot]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rtl-steps", "9", "--steps", "8"], "--rtl-steps 9 is more than --steps 8"),
        (["--steps", "0"], "'--steps'"),
        (["--steps", "20000"], "'--steps'"),
        (["--seed", "-1"], "'--seed'"),
        (["--plot", "curves.pdf"], "--plot: a plot ends in .png or .svg, got curves.pdf"),
        (["--json", "absent/x.json"], "no directory absent"),
        (["--json", "x.svg", "--plot", "x.svg"], "--json and --plot both name x.svg"),
        (["--lanes", "3"], "--lanes"),
        (["--preset", "huge"], "--preset must be one of"),
    ],
)
def test_bad_options_are_one_line(dve, training, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = dve(*options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert training.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["torch", "scikit-learn"])
def test_without_pytorch_it_says_how_to_get_it(dve, training, monkeypatch, package):
    version = metadata.version

    def lacks(name):
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", lacks)
    result = dve()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"dve: error: {package} is not installed; dve train needs the extra `torch`: "
        "scripts/setup test,lint, or pip install 'opendve[torch]'\n"
    )


def test_help_has_examples():
    shown = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "100"})
    assert shown.exit_code == 0
    for words in ("Examples:", "--rtl-steps", "Exit status 0"):
        assert words in shown.stdout
