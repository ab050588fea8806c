"""What every command does with files that it cannot read or write: one line, status 2, no trace."""

import io
import os
import stat
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from dve_cli import files
from dve_cli.arrays import read_arrays
from dve_cli.errors import UserError
from dve_cli.files import read_bytes, write_atomically, write_together
from dve_cli.main import app
from dve_golden.isa.text import assemble
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

LEGAL = "nop wait=evt_clear:3\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with a legal program in both forms and a state."""
    monkeypatch.chdir(tmp_path)
    Path("ok.s").write_text(LEGAL)
    Path("ok.bin").write_bytes(assemble(LEGAL))
    np.savez("ok.npz", registers=np.zeros(64, np.uint32))
    return tmp_path


def dve(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def user_error(*arguments):
    """The single line on standard error of a command that has to end with status 2."""
    result = dve(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("dve: error: ")
    return line.removeprefix("dve: error: ")


# --- outputs

WRITERS = [
    ("asm", "ok.s", "--out"),
    ("disasm", "ok.bin", "--out"),
    ("lint", "ok.bin", "--json"),
    ("run", "ok.bin", "--on", "golden", "--out"),
    ("run", "ok.bin", "--on", "golden", "--json"),
    ("run", "ok.bin", "--wave"),
    ("table", "--json"),
    ("export", "--preset", "fpga", "--out"),
    ("fuzz", "--json"),
    ("cosim", "--out"),
    ("cosim", "--json"),
    ("cosim", "--wave"),
]


def in_a_directory(folder):
    (folder / "there.vcd").mkdir()
    return "there.vcd", "it is a directory"


def below_a_file(folder):
    return "ok.bin/out.vcd", "ok.bin is not a directory"


def in_a_missing_directory(folder):
    return "missing/out.vcd", "there is no directory missing"


def through_a_loop(folder):
    (folder / "loop.vcd").symlink_to("loop.vcd")
    return "loop.vcd", "it is a loop of links"


def in_the_process_table(folder):
    return "/proc/out.vcd", "cannot write /proc/out.vcd"


@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
@pytest.mark.parametrize(
    "where", [in_a_directory, below_a_file, in_a_missing_directory, through_a_loop]
)
def test_an_output_that_cannot_be_made_is_refused_at_once(folder, command, where):
    path, message = where(folder)
    before = sorted(folder.iterdir())
    assert user_error(*command, path) == f"cannot write {path}: {message}"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
@pytest.mark.parametrize("denied", ["directory", "file"])
def test_no_permission_is_one_line(folder, command, denied, monkeypatch):
    # The tests may run as root, whom no permission stops.
    target = folder / "locked" / "out.vcd"
    target.parent.mkdir()
    if denied == "file":
        target.write_text("old")
    wanted = target if denied == "file" else target.parent
    allowed = os.access

    def access(path, mode):
        return Path(path) != wanted and allowed(path, mode)

    monkeypatch.setattr(os, "access", access)
    line = user_error(*command, "locked/out.vcd")
    reason = "to change it" if denied == "file" else "to write in locked"
    assert line == f"cannot write locked/out.vcd: no permission {reason}"
    assert [path.name for path in target.parent.iterdir()] == ["out.vcd"] * (denied == "file")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_directory_that_takes_no_files_is_named(folder):
    assert user_error("asm", "ok.s", "-o", "/proc/out") == (
        "cannot write /proc/out: no file can be made in /proc"
    )


def test_a_file_keeps_its_permissions(tmp_path):
    target = tmp_path / "private"
    target.write_bytes(b"old")
    target.chmod(0o600)
    write_atomically(target, b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_name_may_be_as_long_as_names_are(tmp_path):
    target = tmp_path / ("n" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    write_together({target: b"new", tmp_path / "other": b"too"})
    assert target.read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(OSError, match="File name too long"):
        write_atomically(target.with_name(f"{target.name}n"), b"")


# --- programs

READERS = [
    ("disasm",),
    ("lint",),
    ("run", "--on", "golden"),
    ("run",),
]


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize("size", [1, 63, 65, 127, 130])
def test_a_program_that_is_no_whole_number_of_records(folder, command, size):
    Path("program.bin").write_bytes(bytes(size))
    assert user_error(*command, "program.bin") == (
        f"program.bin: {size} bytes are not a whole number of 64-byte instructions; the last"
        f" whole one ends at byte {size - size % 64}; is it complete, and a program?"
    )


@pytest.mark.parametrize("command", [*READERS, ("asm", "-o", "out"), ("lint", "ok.bin")])
def test_an_input_that_cannot_be_read(folder, command):
    Path("loop").symlink_to("loop")
    command = [*command, "--registers"] if command == ("lint", "ok.bin") else command
    for path, message in (
        ("absent", "No such file or directory"),
        (".", "Is a directory"),
        ("ok.bin/x", "Not a directory"),
        ("loop", "Too many levels of symbolic links"),
    ):
        assert user_error(*command, path) == f"cannot read {path}: {message}"
    assert not Path("out").exists()


def test_an_input_without_an_end_is_refused(folder, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 128)
    Path("program.bin").write_bytes(bytes(128))
    assert read_bytes(Path("program.bin")) == bytes(128)
    Path("program.bin").write_bytes(bytes(192))
    line = user_error("disasm", "program.bin")
    assert line == "cannot read program.bin: it has more than 128 bytes"


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"nop\nnop \xff", "program.s: byte 8 is not UTF-8 text; dve disasm reads binary programs"),
        (LEGAL.encode("utf-16"), "program.s: byte 0 is not UTF-8 text; dve disasm reads binary"),
        (b"nop\0", "program.s:1:4: expected a blank after the value, found '\\x00'"),
        (b"nop\n\0", "program.s:2:1: expected an instruction, found '\\x00'"),
        (b"nop\x0cnop", "program.s:1:4: expected a blank after the value, found '\\x0cnop'"),
        ("nöp".encode(), "program.s:1:1: expected an instruction, found 'n'"),
        ("nop wait=évt:1".encode(), "program.s:1:10: expected a mode of wait, found 'évt:1'"),
        (
            b"nop value=" + b"9" * 5000,
            f"program.s:1:11: expected value, 0 to 4294967295, found {'9' * 40}...",
        ),
        (
            b"nop value=0x" + b"f" * 5000,
            f"1:11: expected value, 0 to 4294967295, found 0x{'f' * 38}",
        ),
        (b"nop " + b"x" * 5000, f"program.s:1:5: expected a key of nop, found '{'x' * 40}...'"),
        (b"nop value=" + b"=" * 5000, f"1:11: expected value, 0 to 4294967295, found '{'=' * 40}"),
        (b"param_load imm1=1e400", "program.s:1:17: the number is beyond the range of fp32"),
        (b"param_load imm1=" + b"9" * 5000, "program.s:1:17: the number is beyond the range"),
        (b"nop \\\n  # nothing\nlength", "program.s:3:1: expected an instruction, found 'length'"),
        (b"nop \\\n  lenght=3", "program.s:2:3: expected a key of nop, found 'lenght'; did you"),
    ],
)
def test_text_that_is_no_program(folder, content, where):
    Path("program.s").write_bytes(content)
    for command in (("asm", "program.s", "-o", "out"), ("lint", "program.s")):
        assert where in user_error(*command)
    assert not Path("out").exists()


def test_leading_zeros_are_no_large_number(folder):
    Path("program.s").write_text(f"nop value={'0' * 5000}7")
    assert dve("asm", "program.s", "-o", "out").exit_code == 0
    assert Path("out").read_bytes() == assemble("nop value=7")


# --- .npz files


def npy(header, data=bytes(256), version=b"\x01\x00"):
    """A member with any header: ``{'descr': ..., 'fortran_order': ..., 'shape': ...}``."""
    text = header.encode()
    length = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    return b"\x93NUMPY" + version + length + text + data


def registers_header(shape, descr="'<u4'"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"


def archive(*members, flags=0, method=0):
    """A zip file; ``flags`` and ``method`` overwrite what its headers say."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members:
            file.writestr(name, data)
    data = bytearray(buffer.getvalue())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.index(magic)
        struct.pack_into("<HH", data, start + at, flags, method)
    return bytes(data)


def saved(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def bare():
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(64, np.uint32))
    return buffer.getvalue()


GOOD = npy(registers_header("(64,)"))
SHAPES = ["(65,)", "(-64,)", "(10**18,)", "(99999999999999,)", "(4000000000,)", "64", "(64.0,)"]

NO_ARRAYS = {
    "empty": b"",
    "text": b"hello",
    "a bare array": bare(),
    "a cut file": saved(registers=np.zeros(64, np.uint32))[:200],
    "objects": saved(registers=np.array([None] * 64)),
    "no array": archive(("registers.npy", b"hello")),
    "no name of an array": archive(("registers.txt", GOOD)),
    "encrypted": archive(("registers.npy", GOOD), flags=1),
    "an unknown compression": archive(("registers.npy", GOOD), method=99),
    "an unknown version": archive(("registers.npy", GOOD.replace(b"Y\x01", b"Y\x09", 1))),
    "an endless header": archive(("registers.npy", npy("x" * 70_000, version=b"\x02\x00"))),
    "a nested header": archive(("registers.npy", npy("(" * 9_000))),
    "code": archive(("registers.npy", npy("__import__('os').system('true')\n"))),
    "an unknown type": archive(("registers.npy", npy(registers_header("(64,)", "'<q9'")))),
    "objects by type": archive(("registers.npy", npy(registers_header("(64,)", "'|O'")))),
    **{shape: archive(("registers.npy", npy(registers_header(shape)))) for shape in SHAPES},
}


@pytest.mark.parametrize("content", NO_ARRAYS.values(), ids=NO_ARRAYS)
@pytest.mark.parametrize(
    "command",
    [
        ("lint", "ok.bin", "--registers"),
        ("run", "ok.bin", "--on", "golden", "--memory"),
        ("cosim", "--input"),
    ],
    ids=" ".join,
)
def test_a_file_that_holds_no_plain_arrays(folder, command, content):
    Path("in.npz").write_bytes(content)
    line = user_error(*command, "in.npz")
    assert line.startswith("in.npz")
    assert line.endswith("; numpy.savez writes one, of arrays without Python objects")


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.uint32(3), "uint32 []"),
        (np.zeros(64, bool), "bool [64]"),
        (np.zeros(63, np.uint32), "uint32 [63]"),
        (np.zeros((64, 1), np.uint32), "uint32 [64, 1]"),
        (np.zeros(64, ">u4"), ">u4 [64]"),
        (np.full(64, np.nan), "float64 [64]"),
        (np.zeros(64, complex), "complex128 [64]"),
        (np.array(["a"] * 64), "<U1 [64]"),
        (np.zeros(64, "M8[s]"), "datetime64[s] [64]"),
        (np.zeros(64, [("a", "<u4")]), "[('a', '<u4')] [64]"),
    ],
)
def test_registers_of_another_kind(folder, array, got):
    np.savez("in.npz", registers=array)
    line = user_error("lint", "ok.bin", "--registers", "in.npz")
    assert line == f"in.npz: registers must be uint32 [64], got {got}"
    assert "in.npz: registers must " in user_error(
        *("run", "ok.bin", "--on", "golden", "--memory", "in.npz")
    )


def test_a_file_of_python_2_is_read_in_silence(folder):
    Path("in.npz").write_bytes(archive(("registers.npy", npy(registers_header("(64L,)")))))
    result = dve("lint", "ok.bin", "--registers", "in.npz")
    assert (result.exit_code, result.stderr) == (0, "")


def test_only_what_is_wanted_is_read(folder):
    """A small file that claims to hold much is refused by its header."""
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w", zipfile.ZIP_DEFLATED) as file:
        header = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (128, 1048576), }\n", b"")
        file.writestr("sbuf.npy", header + bytes(1 << 27))
    Path("in.npz").write_bytes(huge.getvalue())
    assert "sbuf rows have at most 229376 bytes (the active size of a partition of cayman)" in (
        user_error("run", "ok.bin", "--on", "golden", "--memory", "in.npz")
    )
    read = []
    arrays = read_arrays(Path("ok.npz"), lambda name, dtype, shape: bool(read.append(name)))
    assert (arrays, read) == ({}, ["registers"])


GENUINE = saved(registers=np.arange(64, dtype=np.uint32), events=np.ones(256, np.uint8))


@settings(
    derandomize=True,
    max_examples=400,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.integers(0, len(GENUINE) - 1), st.integers(0, 255)), max_size=4))
def test_a_damaged_file_is_read_or_refused(tmp_path, damage):
    content = bytearray(GENUINE)
    for at, value in damage:
        content[at] = value
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    with suppress(UserError):  # and no other
        arrays = read_arrays(path)
        assert all(isinstance(array, np.ndarray) for array in arrays.values())


# --- memory


def test_too_little_memory_is_one_line(folder, monkeypatch):
    def exhausted(path):
        raise MemoryError

    monkeypatch.setattr("dve_cli.disasm.read_program", exhausted)
    assert user_error("disasm", "ok.bin") == "there is not enough memory for this"
