"""How ``dve`` lists its subcommands and how it ends."""

import errno
import inspect
import os
import signal
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest
from dve_cli import main
from dve_cli.errors import UserError
from dve_cosim.errors import CosimError
from typer.testing import CliRunner

FULL = Path("/dev/full")


def dve(*arguments):
    return CliRunner().invoke(main.app, arguments)


@pytest.mark.parametrize("name", main.SUBCOMMANDS)
def test_help_lists_what_the_subcommand_says_of_itself(name):
    explanation = inspect.getdoc(getattr(import_module(f"dve_cli.{name}"), name)) or ""
    assert explanation.partition("\n")[0] == main.SUBCOMMANDS[name]
    assert name in dve("--help").output


@pytest.mark.parametrize("name", main.SUBCOMMANDS)
def test_every_subcommand_explains_itself_with_an_example(name):
    result = dve(name, "--help")
    assert result.exit_code == 0
    _, _, example = result.output.partition("Example")
    assert f"dve {name} " in example


def test_help_imports_no_subcommand():
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from dve_cli import main\n"
        "assert CliRunner().invoke(main.app, ['--help']).exit_code == 0\n"
        "print(sorted({'numpy', 'amaranth', 'cocotb', 'matplotlib'} & set(sys.modules)))\n"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (shown.stdout, shown.stderr) == ("[]\n", "")


def test_version():
    result = dve("--version")
    assert (result.exit_code, result.output) == (0, f"dve {metadata.version('opendve')}\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["lnit"], "No such command 'lnit'. Did you mean 'lint'?; try `dve --help`"),
        (["--nope"], "No such option: --nope; try `dve --help`"),
        (["run"], "Missing argument 'PROGRAM.bin'; try `dve run --help`"),
        (["lint", "a", "b"], "Got unexpected extra argument(s) (b); try `dve lint --help`"),
    ],
)
def test_a_wrong_command_line_takes_one_line_as_well(arguments, line):
    result = CliRunner().invoke(main.app, arguments, prog_name="dve")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"dve: error: {line}\n"


def test_without_arguments_it_shows_its_help():
    assert "dve cosim" in dve().output


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UserError("x.npz: no array\n  'dy'"), 2, "dve: error: x.npz: no array 'dy'\n"),
        (CosimError("the simulator hangs"), 2, "dve: error: the simulator hangs\n"),
        (KeyboardInterrupt(), 130, "dve: error: interrupted\n"),
        (main.Terminated(), 143, "dve: error: terminated\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "out.npz"),
            2,
            "dve: error: out.npz: No space left on device\n",
        ),
        (OSError("odd"), 2, "dve: error: odd\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
)
def test_what_a_user_can_cause_takes_one_line(monkeypatch, error, status, line):
    def doctor():
        raise error

    monkeypatch.setattr("dve_cli.doctor.doctor", doctor)
    result = dve("doctor")
    assert (result.exit_code, result.stderr, result.stdout) == (status, line, "")


def test_what_an_interrupt_leaves_half_made_adds_no_line():
    code = """
import warnings
import dve_cli.doctor
class Half:
    def __del__(self):
        warnings.warn("created but never used")
def doctor():
    half = Half()
    raise KeyboardInterrupt
dve_cli.doctor.doctor = doctor
from dve_cli.entry import entry
entry()
"""
    command = [sys.executable, "-c", code, "doctor"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (130, "dve: error: interrupted\n")


def test_sigterm_unwinds_the_command(monkeypatch):
    ended = []

    def doctor():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            ended.append("cleaned up")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("dve_cli.doctor.doctor", doctor)
    result = dve("doctor")
    assert (result.exit_code, result.stderr) == (143, "dve: error: terminated\n")
    assert ended == ["cleaned up"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_defect_keeps_its_traceback(monkeypatch):
    def doctor():
        raise ZeroDivisionError

    monkeypatch.setattr("dve_cli.doctor.doctor", doctor)
    assert isinstance(dve("doctor").exception, ZeroDivisionError)


@pytest.fixture
def program(tmp_path):
    """Long enough that its text does not fit a pipe's buffer."""
    path = tmp_path / "program.bin"
    path.write_bytes(bytes(64 * 2000))
    return path


ENTRY = "from dve_cli.entry import entry; entry()"


def written_to(stdout, program, command="disasm"):
    """Exit status and standard error of ``dve disasm``, or another, with this standard output."""
    command = [sys.executable, "-c", ENTRY, command, program]
    result = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    return result.returncode, result.stderr


@pytest.mark.parametrize("command", ["disasm", "lint"])  # the second writes a table, by rich
def test_a_reader_that_has_enough_is_no_error(program, command):
    reader, writer = os.pipe()
    os.close(reader)
    assert written_to(writer, program, command) == (141, "")
    os.close(writer)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_error(tmp_path, closed):
    text, program = tmp_path / "nop.s", tmp_path / "nop.bin"
    text.write_text("nop\n")
    script = f'"$@" asm {text} -o {program} {closed} && "$@" lint {program} {closed}'
    command = ["sh", "-c", script, "sh", sys.executable, "-c", ENTRY]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert program.read_bytes() == b"\xa4\x10" + bytes(62)


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_takes_one_line(program):
    with FULL.open("w") as full:
        assert written_to(full, program) == (2, "dve: error: No space left on device\n")
