"""``dve mutants`` from options to tables, files and exit status, without a simulator."""

import json

import pytest
from dve_cli import mutants as command
from dve_cli.main import app
from dve_cosim.engine import engine_verilog
from dve_cosim.mutation.records import Record
from dve_cosim.mutation.report import Report, Result, Verdict
from dve_cosim.mutation.selection import CONFIG
from dve_cosim.mutation.sites import sites_of
from typer.testing import CliRunner


@pytest.fixture(scope="module")
def sites():
    return sites_of(engine_verilog(CONFIG))


@pytest.fixture
def dve(monkeypatch, sites):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(command, "sites_of", lambda text: sites)  # seconds

    def run(*arguments):
        return CliRunner().invoke(app, ["mutants", *map(str, arguments)])

    return run


@pytest.fixture
def campaign(monkeypatch):
    """Lets every mutant be killed but those of the verdicts given, in order."""
    asked = []

    def verdicts(*given):
        def run(campaign, progress):
            progress("mutants", 1, 1)
            asked.append(campaign)
            results = [
                Result(
                    mutant,
                    given[at] if at < len(given) else Verdict.KILLED,
                    "" if at < len(given) else "fuzz",
                    "why",
                    is_contradicted=False,
                    seconds=1.0,
                )
                for at, mutant in enumerate(campaign.mutants)
            ]
            return Report(results, 0, 60.0, 120.0)

        monkeypatch.setattr(command, "run_campaign", run)
        return asked

    return verdicts


def test_all_killed(dve, campaign, tmp_path):
    asked = campaign()
    report = tmp_path / "mutants.json"
    result = dve("--count", 150, "--seed", 7, "--minutes", 5, "--json", report)
    assert result.exit_code == 0, result.output
    (given,) = asked
    assert len(given.mutants) == 150
    assert given.seconds == 300
    rows = {
        line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line.split()
    }
    assert rows["all"] == ["150", "150", "-", "-", "-"]
    assert rows["dve_lane.narrow"][0] == rows["dve_lane.narrow"][1]
    assert "100.0% of the mutants" in result.stdout
    document = json.loads(report.read_text())
    assert (document["seed"], document["mutants"], document["killed"]) == (7, 150, 150)
    assert len(document["results"]) == 150


def test_a_survivor_is_shown_and_fails(dve, campaign):
    campaign(Verdict.SURVIVED, Verdict.EXPLAINED, Verdict.EQUIVALENT)
    result = dve("--count", 30, "--module", "sequencer")
    assert result.exit_code == 1
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("survived: ")]
    assert "dve_engine.sequencer" in line
    assert "96.6% of the mutants" not in result.stdout  # 27 of 29
    assert "93.1% of the mutants" in result.stdout


def test_the_list_runs_nothing(dve, campaign):
    asked = campaign()
    first, again = dve("--list", "--count", 80), dve("--list", "--count", 80)
    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout
    lines = first.stdout.splitlines()
    assert len([line for line in lines if line[:10].isalnum()]) >= 80
    assert not asked


def test_outdated_records_are_named(dve, campaign, monkeypatch):
    campaign()
    monkeypatch.setattr(
        command, "read_records", lambda: {"0123456789": Record("equivalent", "m", "r")}
    )
    result = dve("--list", "--count", 1)
    assert "mutants that this design does not have: 0123456789" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--module", "nowhere"), "--module: nothing to change in modules with 'nowhere'"),
        (("--minutes", 0), "--minutes must be above 0, got 0"),
        (("--json", "/nowhere/x.json"), "cannot write /nowhere/x.json: there is no directory"),
        (("--count", 0), "Invalid value for '--count'"),
    ],
)
def test_bad_input(dve, arguments, message):
    result = dve(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert message in line
