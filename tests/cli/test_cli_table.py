"""``dve table``: what it prints and writes."""

import json

import pytest
from dve_cli.main import app
from dve_golden.isa.dispatch import TABLES, Engine
from dve_golden.isa.enums import Opcode
from typer.testing import CliRunner


@pytest.fixture
def dve(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments):
        return CliRunner().invoke(app, ["table", *map(str, arguments)])

    return run


def rows(result):
    """The cells of each line that starts with an opcode."""
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    return [cells for cells in lines if cells and cells[0].startswith("0x")]


def test_the_vector_engine(dve):
    found = {cells[0]: cells[1:] for cells in rows(dve())}
    assert len(found) == len(TABLES[Engine.DVE])
    assert found["0x65"] == [
        *("BATCH_NORM_BACK_PROP", "0x24", "0x30ae", "0xb6f0", "S3S3D3_TT", "SCMV", "yes"),
    ]
    assert found["0x61"][2:] == ["0x308e", "0xb380", "S4D2_BN", "SCMV", "yes"]
    assert found["0xf4"] == [
        "TENSOR_SCALAR_INT_WIDE",
        "-",
        "-",
        "-",
        "S2D2D2_TS_WIDE",
        "---V",
        "no",
    ]
    implemented = {int(opcode, 16) for opcode, cells in found.items() if cells[-1] == "yes"}
    assert implemented == set(map(int, Opcode))


@pytest.mark.parametrize("name", ["pool", "POOL"])
def test_no_batch_norm_opcode_lives_on_the_pool_engine(dve, name):
    result = dve("--engine", name)
    found = rows(result)
    assert [cells[0] for cells in found] == [
        *("0x41", "0x45", "0x46", "0x47", "0x51", "0x52", "0x7b", "0x7c", "0x7d", "0x7e", "0xbe"),
        *("0xf0", "0xf0", "0xf0", "0xf0", "0xf0", "0xf2"),
    ]
    assert "BATCH_NORM" not in result.stdout
    assert {cells[-1] for cells in found} == {"no"}
    assert "pool: 17 records, 0 implemented" in result.stdout
    assert {cells[0]: cells[2:] for cells in found}["0x45"] == [
        *("-", "-", "-", "S4D4_PL", "SCMV", "no"),  # no index: the records are scanned
    ]


COLUMNS = ["opcode", "name", "index", "trampoline", "handler", "struct", "generations"]


@pytest.mark.parametrize("engine", ["dve", "pool"])
def test_every_column_is_shown_for_either_engine(dve, engine):
    heading = next(line for line in dve("--engine", engine).stdout.splitlines() if "opcode" in line)
    assert heading.split() == [*COLUMNS, "implemented"]


@pytest.mark.parametrize(
    ("generation", "records", "without", "within"),
    [
        ("sunda", 89 - 9, {0xBC, 0xE0, 0xE9, 0xF4}, {0x8A, 0x8F}),
        ("Cayman", 80 - 5 + 2, {0x8A, 0x8F, 0xE0, 0xF4}, {0xBC, 0xE9}),
        ("MARIANA", 77 + 5, {0x8A, 0xF4, 0xB6}, {0xE0, 0xE3, 0xB4}),
        ("maverick", 82 + 2, {0x8A}, {0xF4, 0xB6, 0xE0}),
    ],
)
def test_a_generation_shows_the_opcodes_that_it_knows(dve, generation, records, without, within):
    opcodes = {int(cells[0], 16) for cells in rows(dve("--generation", generation))}
    assert len(opcodes) == records
    assert within <= opcodes
    assert not without & opcodes
    only_sunda = {0x8A, 0x8B, 0x8F} if generation != "sunda" else set()
    assert set(map(int, Opcode)) - only_sunda <= opcodes


def test_json_has_what_is_known(dve, tmp_path):
    path = tmp_path / "table.json"
    assert dve("--json", path).exit_code == 0
    report = json.loads(path.read_text())
    assert (report["engine"], report["generation"]) == ("dve", None)
    entries = {entry["opcode"]: entry for entry in report["entries"]}
    assert entries[0x94] == {
        "opcode": 0x94,
        "name": "BATCH_NORM_GRAD_ACCUMULATE2",
        "index": 0x53,
        "trampoline": 0x30A6,
        "handler": 0xB55C,
        "struct": "S3S3D1_BN2",
        "generations": ["sunda", "cayman", "mariana", "maverick"],
        "implemented": True,
    }
    assert (entries[0xF0]["index"], entries[0xF0]["struct"]) == (None, None)


def test_json_of_the_pool_engine_has_no_index(dve, tmp_path):
    path = tmp_path / "table.json"
    assert dve("--engine", "pool", "--json", path).exit_code == 0
    entries = json.loads(path.read_text())["entries"]
    assert len(entries) == 17
    assert all(entry["index"] is None and not entry["implemented"] for entry in entries)


def test_bad_arguments_are_refused(dve, tmp_path):
    unknown = dve("--engine", "act")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "'--engine': 'act' is not one of 'dve', 'pool'" in unknown.stderr
    unknown = dve("--generation", "trainium")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "not one of 'sunda', 'cayman', 'mariana', 'maverick'" in unknown.stderr
    missing = dve("--json", tmp_path / "absent" / "table.json")
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "there is no directory" in missing.stderr
