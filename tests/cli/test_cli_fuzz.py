"""``dve fuzz`` from options to files and exit status, with a golden machine for the simulator."""

import json
import re

import numpy as np
import pytest
from dve_cli import fuzz as command
from dve_cli.main import app
from dve_cosim.scoreboard import golden
from dve_golden.isa.enums import Opcode
from dve_golden.isa.text import split_records
from typer.testing import CliRunner


@pytest.fixture
def dve(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments):
        return CliRunner().invoke(app, [*map(str, arguments)])

    return run


def wrong(programs, states, *, config, progress):
    """A golden machine that writes a wrong register after each 0x8E."""
    for program, outcome in zip(programs, golden(programs, states, config=config), strict=True):
        if any(record[0] == Opcode.BATCH_NORM_PARAM_LOAD2 for record in split_records(program)):
            outcome.state.registers[63] ^= 1
        progress("simulate", 1, 1)
        yield outcome


def test_no_difference(dve, tmp_path):
    report = tmp_path / "fuzz.json"
    result = dve("fuzz", "--on", "golden", "--count", 128, "--json", report, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "no difference" in result.stdout
    assert "128 programs" in result.stdout
    rows = {
        line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line.split()
    }
    assert rows["0x64"][3:6] == ["3/3", "2/2", "-"]
    assert re.search(r"0x51 tensor_tensor_bitvec +6/6 +[1-9]\d*/162 +-\s", result.stdout)
    document = json.loads(report.read_text())
    assert document["on"] == "golden"
    assert (document["seed"], document["programs"], document["differences"]) == (0, 128, 0)
    assert document["failure"] is None
    assert document["programs_per_second"] > 0
    bins = document["coverage"]["bins"]
    assert sum(entry["count"] for entry in bins) == document["instructions"]
    (types,) = (
        entry
        for entry in document["coverage"]["crosses"]
        if (entry["opcode"], entry["kind"]) == ("TENSOR_TENSOR_ARITH_OP", "types")
    )
    assert types["hit"] + len(types["missed"]) == 12 * 12 * 13
    assert set(bins[0]) == {"opcode", "reason", "types", "memory", "aliasing", "count"}
    assert list(tmp_path.iterdir()) == [report]


def test_the_report_of_a_seed_is_always_the_same(dve, tmp_path):
    documents = []
    for name in ("a.json", "b.json"):
        dve("fuzz", "--on", "golden", "--count", 20, "--seed", 9, "--json", tmp_path / name)
        document = json.loads((tmp_path / name).read_text())
        del document["seconds"], document["programs_per_second"]
        documents.append(document)
    assert documents[0] == documents[1]


def test_a_difference_is_written_and_replays(dve, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "rtl", wrong)
    folder = tmp_path / "found"
    result = dve("fuzz", "--count", 200, "--seed", 2, "--out", folder, "--lanes", 8)
    assert result.exit_code == 1, result.output
    assert "a difference, in batch 0" in result.stdout
    assert "registers[63]: got 0x" in result.stdout
    program, memory = folder / "fuzz_2_0.bin", folder / "fuzz_2_0.npz"
    assert sorted(folder.iterdir()) == [program, memory]
    assert program.stat().st_size == 64
    assert program.read_bytes()[0] == Opcode.BATCH_NORM_PARAM_LOAD2
    replay = f"replay: dve run {program} --memory {memory} --lanes 8 --on rtl"
    assert replay in result.stdout.replace("\n", " ")

    out = tmp_path / "out.npz"
    again = dve("run", program, "--memory", memory, "--on", "golden", "--lanes", 8, "--out", out)
    assert again.exit_code == 0, again.output
    with np.load(out) as after, np.load(memory) as before:
        assert before["memory_bytes"].tolist() == [1024, 512]
        assert after["sbuf"].shape == before["sbuf"].shape == (128, 1024)


def test_another_generation(dve, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "rtl", wrong)
    report = tmp_path / "fuzz.json"
    result = dve(
        "fuzz", "--generation", "maverick", "--count", 200, "--out", tmp_path, "--json", report
    )
    assert result.exit_code == 1, result.output
    assert "on the RTL, maverick, 4 lanes," in result.stdout.replace("\n", " ")
    document = json.loads(report.read_text())
    assert document["generation"] == "maverick"
    assert "PSUM" not in {entry["memory"] for entry in document["coverage"]["bins"]}
    stem = tmp_path / "fuzz_0_0"
    engine = "--lanes 4 --generation maverick --on rtl"
    replay = f"replay: dve run {stem}.bin --memory {stem}.npz {engine}"
    assert replay in result.stdout.replace("\n", " ")


def test_a_failing_program_is_kept_when_the_report_cannot_be_written(dve, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "rtl", wrong)
    result = dve("fuzz", "--count", 200, "--seed", 2, "--out", tmp_path, "--json", "/dev/full")
    assert result.exit_code == 2
    assert result.stderr == "dve: error: cannot write /dev/full: No space left on device\n"
    assert "a difference, in batch 0" in result.stdout
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["fuzz_2_0.bin", "fuzz_2_0.npz"]


def test_a_difference_replays_on_memories_of_the_same_size(dve, tmp_path):
    """Without the sizes, an address behind the 1,024 bytes would be legal."""
    program, memory = tmp_path / "p.bin", tmp_path / "m.npz"
    text = tmp_path / "p.s"
    text.write_text("load_parameter_ram addr=sbuf[0:0x400]:fp32 first_entry=1 entry_count=2\n")
    assert dve("asm", text, "-o", program).exit_code == 0
    np.savez(memory, memory_bytes=np.array([1024, 512], np.uint32))
    small = dve("run", program, "--on", "golden", "--memory", memory, "--strict")
    assert small.exit_code == 1
    assert dve("run", program, "--on", "golden", "--strict").exit_code == 0


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (np.array([1024], np.uint32), "memory_bytes must be uint32 [2], got uint32 [1]"),
        (np.array([1024, 512]), "memory_bytes must be uint32 [2], got int64 [2]"),
        (np.array([1000, 512], np.uint32), "memory_bytes: sbuf_bytes must be a power of two"),
        (np.array([512, 512], np.uint32), "rows are longer than memory_bytes says, 512 and 512"),
    ],
)
def test_sizes_that_cannot_be(dve, tmp_path, sizes, message):
    memory, program = tmp_path / "m.npz", tmp_path / "p.bin"
    program.write_bytes(b"")
    np.savez(memory, memory_bytes=sizes, sbuf=np.zeros((128, 1024), np.uint8))
    result = dve("run", program, "--on", "golden", "--memory", memory)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lanes", 3], "--lanes: lanes must be one of"),
        (["--minutes", 0], "--minutes must be above 0, got 0"),
        (["--minutes", "nan"], "--minutes must be above 0, got nan"),
        (["--count", 0], "--count"),
        (["--illegal", 1.5], "--illegal"),
        (["--out", "nowhere/folder"], "cannot write nowhere/folder: there is no directory"),
        (["--json", "nowhere/file"], "cannot write nowhere/file: there is no directory"),
    ],
)
def test_bad_usage(dve, arguments, message):
    result = dve("fuzz", "--on", "golden", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
