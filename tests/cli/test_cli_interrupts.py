"""Signals: one line, the status of the signal, no half-written file, and nothing left running."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from dve_cli import entry, interrupts
from dve_cli.files import write_together
from dve_cli.interrupts import SIGNALS, Terminated, raised_once
from dve_golden.isa.text import assemble

LONG = (
    "back_prop channels=128 src0=sbuf[0:0x0]:fp32:4000 src1=sbuf[0:0x4000]:fp32:4000"
    " dst=sbuf[0:0x8000]:fp32:4000\n"
)
ENTRY = "from dve_cli.entry import entry; entry()"


@pytest.fixture(autouse=True)
def heeded():
    """Signals as a person's shell leaves them: a runner in the background ignores some."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.bin"
    path.write_bytes(assemble(LONG) * 20_000)  # minutes
    return path


def started(*arguments, code=ENTRY, ready="execute"):
    """The command as the leader of a process group, once its code prints ``ready``."""
    # What the command has got to is told by a step of its progress.
    announce = (
        "import dve_cli.bars as bars\n"
        "from contextlib import contextmanager\n"
        "@contextmanager\n"
        "def shown():\n"
        f"    yield lambda step, done, total: step == {ready!r} and print('ready', flush=True)\n"
        "bars.progress_bars = shown\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", announce + code, *map(str, arguments)],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
    ],
)
def test_a_signal_to_the_group_ends_a_golden_run(program, tmp_path, number, status, word):
    out, report = tmp_path / "out.npz", tmp_path / "out.json"
    np.savez(out, registers=np.zeros(64, np.uint32))
    old = out.read_bytes()
    process = started("run", program, "--on", "golden", "--out", out, "--json", report)
    os.killpg(process.pid, number)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (status, f"dve: error: {word}\n")
    assert out.read_bytes() == old
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.npz", "program.bin"]


@pytest.mark.parametrize("run", ["PyTorch", "golden, fp32"])
def test_an_interrupt_during_training(tmp_path, run):
    files = {"--json": tmp_path / "train.json", "--plot": tmp_path / "train.png"}
    words = [word for pair in files.items() for word in pair]
    process = started("train", "--steps", 200, "--rtl-steps", 0, *words, ready=run)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (130, "dve: error: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_second_interrupt_does_not_disturb_the_clean_up(program, tmp_path):
    process = started("run", program, "--on", "golden", "--out", tmp_path / "out.npz")
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.001)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (130, "dve: error: interrupted\n")


def test_an_interrupt_during_the_imports_is_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "dve_cli.main", Interrupting("dve_cli.main"))
    with raised_once(), pytest.raises(SystemExit) as ended:  # which puts the handlers back
        entry.entry()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "dve: error: interrupted\n"


class Interrupting(type(sys)):
    """A module whose import is interrupted."""

    def __getattr__(self, name):
        raise KeyboardInterrupt


def test_the_entry_is_the_command_and_imports_little():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"dve": "dve_cli.entry:entry"}
    script = "import sys, dve_cli.entry; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "typer" not in shown.stdout
    assert "numpy" not in shown.stdout


class Dying:
    """Interrupts its own destructor, where an exception is lost."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        signal.raise_signal(self.number)


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_an_interrupt_that_a_destructor_swallows_comes_again(number, kind, capsys):
    def run():
        with raised_once():
            Dying(number)
            end = time.monotonic() + 10
            while time.monotonic() < end:
                time.sleep(0.01)

    with pytest.raises(kind):
        run()
    assert capsys.readouterr().err == ""


def test_other_exceptions_of_destructors_are_reported_as_ever(monkeypatch):
    class Failing:
        def __del__(self):
            raise ZeroDivisionError

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reported.append(report.exc_type))
    with raised_once():
        Failing()
    assert reported == [ZeroDivisionError]


def test_handlers_are_put_back():
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers], sys.unraisablehook
    with raised_once():
        assert signal.getsignal(signal.SIGTERM) != before[0][1]
    assert ([signal.getsignal(number) for number in numbers], sys.unraisablehook) == before


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as below nohup
    try:
        with raised_once():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_after_a_while_a_clean_up_can_be_interrupted_too(monkeypatch):
    monkeypatch.setattr(interrupts, "CLEAN_UP_SECONDS", 0.0)
    caught = []
    with raised_once():
        for _ in range(2):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                caught.append("interrupt")
    assert caught == ["interrupt", "interrupt"]


def test_a_write_that_is_interrupted_leaves_nothing(tmp_path, monkeypatch):
    first, last = tmp_path / "first", tmp_path / "last"
    first.write_bytes(b"old")
    synced = []

    def fsync(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(KeyboardInterrupt):
        write_together({first: b"new", last: b"new"})
    assert first.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [first]
