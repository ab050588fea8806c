"""``dve arith`` from options to files and exit status; the golden model alone, nothing built."""

import json
from dataclasses import replace

import numpy as np
import pytest
from dve_cli import arith as command
from dve_cli.main import app
from dve_cosim.arith.campaign import examine
from dve_cosim.arith.operations import OPERATIONS, operation
from typer.testing import CliRunner


@pytest.fixture
def dve(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(
        command, "examine", lambda entry, presets, **options: examine(entry, {}, **options)
    )

    def run(*arguments):
        return CliRunner().invoke(app, ["arith", *map(str, arguments)])

    return run


def test_table_and_report(dve, tmp_path):
    report = tmp_path / "arith.json"
    result = dve("--unit", "narrow", "--level", 1, "--cases", 5000, "--json", report)
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert rows[1] == ["operation", "cases", "golden", "SoftFloat", "million/s"]
    assert rows[3][:5] == ["narrow", "fp32", "5,808", "0", "-"]
    document = json.loads(report.read_text())
    assert (document["level"], document["seed"], document["differing"]) == (1, 0, 0)
    assert [entry["operation"] for entry in document["operations"]] == [
        entry.name for entry in OPERATIONS if entry.unit == "narrow"
    ]
    fp16 = document["operations"][1]
    assert fp16["subjects"]["golden"] == {
        "compared": fp16["cases"],
        "differing": 0,
        "first": None,
    }


def test_a_difference_is_shown_and_is_status_1(dve, monkeypatch):
    wrong = replace(operation("widen fp32"), golden=lambda a, control: np.zeros_like(a))
    monkeypatch.setattr(command, "OPERATIONS", [wrong])
    result = dve("--level", 1)
    assert result.exit_code == 1
    of = "different widen fp32, golden: of 0x00000001, 0x00000000: "
    assert f"{of}got 0x00000000, expected 0x00000001" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unit", "divider"], "--unit: there is no divider; choose from adder, multiplier"),
        (["--preset", "huge"], "--preset: there is no huge; choose from tiny, sim, wide, fpga"),
        (["--level", 3], "--level"),
        (["--cases", -1], "--cases"),
        (["--json", "nowhere/file"], "cannot write nowhere/file: there is no directory"),
    ],
)
def test_bad_usage(dve, arguments, message):
    result = dve(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_deep_is_a_hundred_million_cases(dve, monkeypatch):
    asked = []

    def examined(entry, presets, **options):
        asked.append((list(presets), options["level"], options["cases"]))
        return examine(entry, {}, level=1)

    monkeypatch.setattr(command, "examine", examined)
    assert dve("--unit", "widen", "--deep", "--level", 1).exit_code == 0
    assert asked == [(["sim", "fpga"], 2, 100_000_000)] * sum(
        entry.unit == "widen" for entry in OPERATIONS
    )
