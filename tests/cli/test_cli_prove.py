"""``dve prove`` from options to files and exit status, with findings in the place of proofs."""

import json

import pytest
from dve_cli import prove as command
from dve_cli.main import app
from dve_formal.properties import PROPERTIES
from dve_formal.prover import Finding, Verdict
from typer.testing import CliRunner


@pytest.fixture
def dve(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        return CliRunner().invoke(app, ["prove", *map(str, arguments)])

    return run


@pytest.fixture
def find(monkeypatch):
    """Sets what is found of each property; records how it was asked for."""
    asked = []

    def find(verdict, values=None, explanation=""):
        def prove(properties, presets, *, seconds, progress):
            asked.append(([entry.name for entry in properties], list(presets), seconds))
            for entry in properties:
                for preset in presets:
                    yield Finding(entry, preset, verdict, 1.25, values or {}, explanation)

        monkeypatch.setattr(command, "prove_properties", prove)
        return asked

    return find


def test_the_list_names_every_property(dve):
    result = dve("--list")
    assert result.exit_code == 0
    for entry in PROPERTIES:
        assert entry.name in result.stdout
        assert entry.statement.split(",")[0] in " ".join(result.stdout.split())


def test_everything_is_asked_for_at_two_depths(dve, find):
    asked = find(Verdict.PROVED)
    result = dve("--minutes", 0.5)
    assert result.exit_code == 0
    assert asked == [([entry.name for entry in PROPERTIES], ["sim", "fpga"], 30.0)]
    assert result.stdout.count("proved") == 2 * len(PROPERTIES)
    assert "Bitwuzla" in result.stdout


def test_findings_as_json(dve, find, tmp_path):
    find(Verdict.BOUNDED)
    report = tmp_path / "prove.json"
    result = dve("--property", "add_is_ieee", "--preset", "tiny", "--json", report)
    assert result.exit_code == 0
    assert "bounded: fractions of 11 bits" in result.stdout
    document = json.loads(report.read_text())
    assert set(document["tools"]) == {"Yosys", "Bitwuzla"}
    assert document["findings"] == [
        {
            "property": "add_is_ieee",
            "unit": "adder",
            "preset": "tiny",
            "statement": "a + b and a - b are IEEE 754's, for all 2^65 operands",
            "verdict": "bounded",
            "within": "fractions of 11 bits",
            "seconds": 1.25,
            "counterexample": {},
            "explanation": "",
        }
    ]


def test_what_is_refuted_is_shown_and_is_status_1(dve, find):
    find(Verdict.REFUTED, {"i": 0x387FE123, "got": 0x400})
    result = dve("--property", "narrow_fp16", "--preset", "sim")
    assert result.exit_code == 1
    assert "refuted narrow_fp16, sim: i = 0x387fe123, got = 0x00000400" in result.stdout
    find(Verdict.REFUTED, explanation="x meets y")
    result = dve("--property", "widen_pipeline", "--preset", "sim")
    assert "refuted widen_pipeline, sim: x meets y" in result.stdout


def test_what_is_open_is_not_refuted(dve, find):
    find(Verdict.OPEN)
    result = dve("--property", "add_zero")
    assert result.exit_code == 0
    assert "open" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--property", "add_is_odd"], "--property: there is no add_is_odd; choose from"),
        (["--preset", "huge"], "--preset: there is no huge; choose from tiny, sim, wide, fpga"),
        (["--minutes", 0], "--minutes must be above 0, got 0"),
        (["--minutes", "nan"], "--minutes must be above 0, got nan"),
        (["--json", "nowhere/file"], "cannot write nowhere/file: there is no directory"),
    ],
)
def test_bad_usage(dve, find, arguments, message):
    find(Verdict.PROVED)
    result = dve(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
