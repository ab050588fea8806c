"""``dve asm``, ``dve disasm`` and ``dve lint`` from files to exit status."""

import json
import os

import numpy as np
import pytest
from dve_cli.errors import UserError
from dve_cli.files import write_atomically, write_together
from dve_cli.main import app
from dve_golden.isa.text import assemble, disassemble
from typer.testing import CliRunner

LEGAL = "back_prop channels=4 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4 dst=r3:fp32:4\n"
ILLEGAL = LEGAL.replace("channels=4", "channels=0")


@pytest.fixture
def dve(monkeypatch):
    # Workers of pytest-xdist have it set, and then the tables are as narrow as it says.
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.bin"
    path.write_bytes(assemble(LEGAL + ILLEGAL))
    return path


def user_error(result):
    """The single line on standard error of a run that ended with status 2."""
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def test_asm_and_disasm_are_inverse(dve, tmp_path):
    source, binary, again = (tmp_path / name for name in ("in.s", "out.bin", "again.s"))
    source.write_text("# two instructions\n" + LEGAL + ILLEGAL)
    assert dve("asm", source, "-o", binary).exit_code == 0
    assert binary.read_bytes() == assemble(LEGAL + ILLEGAL)
    assert dve("disasm", binary, "-o", again).exit_code == 0
    assert again.read_text() == LEGAL + ILLEGAL


def test_disasm_prints_without_an_output_file(dve, program):
    result = dve("disasm", program)
    assert result.exit_code == 0
    assert result.stdout == disassemble(program.read_bytes())


def test_asm_error_has_file_line_and_column_and_leaves_no_file(dve, tmp_path):
    source = tmp_path / "in.s"
    source.write_text(LEGAL + "  back_prop chanels=3\n")
    line = user_error(dve("asm", source, "-o", tmp_path / "out.bin"))
    assert f"{source}:2:13: expected a key of back_prop, found 'chanels'" in line
    assert [path.name for path in tmp_path.iterdir()] == ["in.s"]


def test_asm_refuses_what_is_not_text(dve, tmp_path):
    (tmp_path / "in.s").write_bytes(b"back_prop \xff")
    assert "byte 10 is not UTF-8 text" in user_error(
        dve("asm", tmp_path / "in.s", "-o", tmp_path / "out.bin")
    )


@pytest.mark.parametrize("command", ["disasm", "lint"])
def test_broken_programs_are_refused(dve, tmp_path, command):
    path = tmp_path / "program.bin"
    path.write_bytes(bytes(130))
    assert "130 bytes" in user_error(dve(command, path))
    assert "last whole one ends at byte 128" in user_error(dve(command, path))
    assert "No such file" in user_error(dve(command, tmp_path / "none.bin"))
    assert "Is a directory" in user_error(dve(command, tmp_path))


def test_lint_of_a_legal_program(dve, tmp_path):
    path = tmp_path / "program.bin"
    path.write_bytes(assemble(LEGAL))
    result = dve("lint", path)
    assert result.exit_code == 0
    assert "legal" in result.stdout
    assert "1 instructions, 0 illegal" in result.stdout


def test_lint_shows_reason_field_value_and_rule(dve, program):
    result = dve("lint", program)
    assert result.exit_code == 1
    for part in ("9 partition", "num_active_channels (byte 15)", "1 to 128; nearest: 1"):
        assert part in result.stdout
    assert "2 instructions, 1 illegal" in result.stdout


def test_lint_tells_known_opcodes_from_unknown_ones(dve, tmp_path):
    path = tmp_path / "program.bin"
    path.write_bytes(b"".join(bytes([opcode, 16]) + bytes(62) for opcode in (0x42, 0x00, 0xA0)))
    report = tmp_path / "report.json"
    assert dve("lint", path, "--json", report).exit_code == 1
    known, unknown, executed = json.loads(report.read_text())["instructions"]
    assert known["findings"][0]["value"] == "0x42, TENSOR_REDUCE_ARITH_OP: known, not implemented"
    assert unknown["findings"][0]["value"] == "0x00, unknown, not an opcode of cayman"
    assert (executed["name"], executed["legal"]) == ("event_semaphore", True)


def test_lint_of_text_counts_lines(dve, tmp_path):
    source = tmp_path / "program.s"
    source.write_text("\n# comment\n" + ILLEGAL)
    report = tmp_path / "report.json"
    assert dve("lint", source, "--json", report).exit_code == 1
    (instruction,) = json.loads(report.read_text())["instructions"]
    assert (instruction["index"], instruction["line"]) == (0, 3)


def test_lint_writes_json(dve, program, tmp_path):
    report = tmp_path / "report.json"
    dve("lint", program, "--json", report)
    content = json.loads(report.read_text())
    assert content["illegal"] == 1
    legal, illegal = content["instructions"]
    assert (legal["name"], legal["opcode"]) == ("back_prop", 0x65)
    assert (legal["legal"], legal["reason"], legal["findings"]) == (True, 0, [])
    assert (illegal["legal"], illegal["reason"], illegal["reason_name"]) == (False, 9, "PARTITION")
    assert illegal["findings"] == [
        {
            "reason": 9,
            "reason_name": "PARTITION",
            "field": "num_active_channels",
            "bytes": [15, 15],
            "value": "0",
            "rule": "1 to 128",
            "suggestion": {
                "field": "num_active_channels",
                "register": None,
                "value": 1,
                "text": "1",
            },
        }
    ]


def test_lint_of_a_long_program_shows_what_is_illegal(dve, tmp_path):
    path, report = tmp_path / "program.bin", tmp_path / "report.json"
    path.write_bytes(assemble(LEGAL * 60 + ILLEGAL * 4))
    shown = dve("lint", path).stdout
    assert "legal" in shown
    assert "shown are" not in shown
    path.write_bytes(assemble(LEGAL * 1000 + ILLEGAL * 70))
    result = dve("lint", path, "--json", report)
    assert result.exit_code == 1
    assert result.stdout.count("num_active_channels") == 64
    assert "shown are 64 of 70 illegal instructions, of 1,070" in result.stdout
    assert len(json.loads(report.read_text())["instructions"]) == 1070
    path.write_bytes(assemble(LEGAL * 1000))
    assert dve("lint", path).stdout.splitlines()[-1] == "1,000 instructions, 0 illegal"


def test_lint_uses_registers_and_geometry(dve, tmp_path):
    path, registers = tmp_path / "program.bin", tmp_path / "registers.npz"
    path.write_bytes(assemble(LEGAL))
    values = np.zeros(64, np.uint32)
    values[3] = 0x8000
    np.savez(registers, registers=values)
    assert dve("lint", path, "--registers", registers).exit_code == 0
    assert dve("lint", path, "--registers", registers, "--sbuf-kib", "32").exit_code == 1
    assert dve("lint", path, "--sbuf-kib", "32", "--psum-kib", "1").exit_code == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"sbuf": np.zeros(64, np.uint32)}, "no array 'registers'; it has sbuf"),
        ({"registers": np.zeros(64, np.int64)}, "must be uint32 [64], got int64 [64]"),
        ({"registers": np.zeros(63, np.uint32)}, "got uint32 [63]"),
        ({"registers": np.array([None] * 64)}, "not an .npz file of plain arrays"),
    ],
)
def test_lint_refuses_other_registers(dve, program, tmp_path, arrays, message):
    path = tmp_path / "registers.npz"
    np.savez(path, **arrays)
    assert message in user_error(dve("lint", program, "--registers", path))


@pytest.mark.parametrize("content", [b"", b"plain text", b"PK\x03\x04 broken"])
def test_lint_refuses_files_that_hold_no_arrays(dve, program, tmp_path, content):
    path = tmp_path / "registers.npz"
    path.write_bytes(content)
    assert "not an .npz file" in user_error(dve("lint", program, "--registers", path))


def test_lint_refuses_a_bare_array(dve, program, tmp_path):
    path = tmp_path / "registers.npy"
    np.save(path, np.zeros(64, np.uint32))
    assert "not an .npz file" in user_error(dve("lint", program, "--registers", path))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--sbuf-kib", 3, "--sbuf-kib must be a power of two from 1 to 256 on cayman, got 3"),
        ("--sbuf-kib", 512, "from 1 to 256 on cayman, got 512"),
        ("--psum-kib", 32, "--psum-kib must be a power of two from 1 to 16 on cayman, got 32"),
        ("--generation", "gen3", "not one of 'sunda', 'cayman', 'mariana', 'maverick'"),
    ],
)
def test_lint_judges_for_engines_that_there_are(dve, program, option, value, message):
    assert message in user_error(dve("lint", program, option, value))


IN_QUADRANT_1 = LEGAL.replace("sbuf[0", "sbuf[32").replace("r3", "0x2000200")


def test_each_generation_has_its_own_addresses(dve, tmp_path):
    source, binary = tmp_path / "program.s", tmp_path / "program.bin"
    source.write_text(IN_QUADRANT_1)
    for name in ("sunda", "CAYMAN", "Mariana", "maverick"):
        assert dve("asm", source, "-o", binary, "--generation", name).exit_code == 0
        # 0x2000200 is PSUM, and on maverick partition 32 of SBUF.
        place = "sbuf[32:0x200]" if name == "maverick" else "psum[0:0x200]"
        shown = IN_QUADRANT_1.replace("0x2000200", place)
        assert dve("disasm", binary, "--generation", name).stdout == shown
        for program in (source, binary):
            assert dve("lint", program, "--generation", name).exit_code == 0
    assert binary.read_bytes() != assemble(IN_QUADRANT_1)
    report = tmp_path / "report.json"
    result = dve("lint", binary, "--generation", "sunda", "--json", report)
    assert result.exit_code == 1  # the sources of maverick are both in PSUM then
    assert json.loads(report.read_text())["generation"] == "sunda"
    assert dve("lint", source, "--sbuf-kib", 512, "--generation", "maverick").exit_code == 0


def test_lint_cuts_no_word_off_in_a_narrow_terminal(dve, program, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert "\N{HORIZONTAL ELLIPSIS}" not in dve("lint", program).stdout


# --- files


@pytest.mark.parametrize("command", ["asm", "disasm", "lint"])
def test_an_output_that_is_the_input_is_refused(dve, tmp_path, command):
    source, link = tmp_path / "program", tmp_path / "link"
    source.write_text(LEGAL)
    link.symlink_to(source)
    option = "--json" if command == "lint" else "--out"
    line = user_error(dve(command, source, option, link))
    assert line == f"dve: error: {option} {link} would replace an input; name another file"
    assert source.read_text() == LEGAL


@pytest.mark.parametrize("command", ["run", "disasm"])
def test_text_is_not_taken_for_a_binary_program(dve, tmp_path, command):
    source = tmp_path / "program.s"
    source.write_text(64 * "#")
    assert "dve asm makes a binary of it" in user_error(dve(command, source))


def test_a_byte_order_mark_is_no_instruction(dve, tmp_path):
    source, out = tmp_path / "program.s", tmp_path / "program.bin"
    source.write_text(LEGAL, encoding="utf-8-sig")
    assert dve("asm", source, "-o", out).exit_code == 0
    assert out.read_bytes() == assemble(LEGAL)


def test_write_atomically_replaces_and_keeps_links(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


@pytest.mark.parametrize("where", ["missing/out", "file/out", "."])
def test_write_atomically_explains_what_it_cannot_do(tmp_path, where):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match=f"cannot write {tmp_path}"):
        write_atomically(tmp_path / where, b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_files_are_written_together_or_not_at_all(tmp_path):
    first, last = tmp_path / "first", tmp_path / "missing" / "last"
    first.write_bytes(b"old")
    with pytest.raises(UserError, match=f"cannot write {last}: there is no directory"):
        write_together({first: b"new", last: b"new"})
    assert first.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [first]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    target = tmp_path / "target"
    target.write_bytes(b"old")
    with pytest.raises(UserError, match="No space left on device"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
