"""A simulator that fails in any way is one line for the user, and leaves no process behind."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from dve_cosim import session
from dve_cosim.build import Simulator
from dve_cosim.errors import CosimError
from dve_cosim.process import Child
from dve_cosim.session import run_batches, run_program
from dve_rtl.config import PRESETS

CONFIG = PRESETS["tiny"]
PROGRAM = bytes(64)

SLEEP = 'echo $$ > "{pids}"; sleep 600 & echo $! >> "{pids}"; wait'


@pytest.fixture(autouse=True)
def private_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DVE_VERILATOR", str(tmp_path / "bin" / "verilator"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "verilator").write_text("#!/bin/sh\necho Verilator 5.036\n")
    (tmp_path / "bin" / "verilator").chmod(0o755)


@pytest.fixture
def simulator(monkeypatch, tmp_path):
    """Replaces the simulator by a shell script that runs in the job's directory."""

    def script(text):
        executable = tmp_path / "dve_sim"
        executable.write_text(f"#!/bin/sh\n{text}\n")
        executable.chmod(0o755)
        monkeypatch.setattr(session, "build", lambda config, **_: Simulator(config, tmp_path, None))

    return script


def alive(pid):
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_all_end(pids):
    deadline = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, pids))


def started(path, count):
    """The process ids that a script has written, once all are there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        pids = path.read_text().split() if path.exists() else []
        if len(pids) == count:
            return [int(pid) for pid in pids]
        time.sleep(0.02)
    raise AssertionError(f"{path} never held {count} process ids")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -SEGV $$", r"^the simulator crashed; see .*\.log$"),
        ("exit 0", r"^the simulator crashed; see .*\.log$"),
        (
            "printf 'instruction 3 hangs' > failure.txt; exit 1",
            r"^simulation failed: instruction 3 hangs; see .*\.log$",
        ),
    ],
)
def test_a_failure_is_one_line_with_a_log(simulator, script, message):
    simulator(f"echo says this; {script}")
    with pytest.raises(CosimError, match=message) as error:
        run_program(PROGRAM, config=CONFIG)
    log = str(error.value).rpartition("see ")[2]
    with open(log) as file:  # noqa: PTH123
        assert "says this" in file.read()


def test_a_fatal_error_that_does_not_end_the_simulator_ends_the_run(simulator, tmp_path):
    """Verilator deadlocks when a waveform does not fit the disk."""
    pids = tmp_path / "pids"
    simulator(
        f'echo $$ > "{pids}"; sleep 600 & echo $! >> "{pids}"; '
        "echo '%Error: flush: No space left on device'; wait"
    )
    with pytest.raises(CosimError, match=r"^the simulator stopped: flush: No space .*; see "):
        run_program(PROGRAM, config=CONFIG)
    assert_all_end(started(pids, 2))


def test_results_that_a_full_disk_cut_short_are_no_defect(simulator, monkeypatch):
    simulator("printf '' > results.xml; printf '' > failure.txt; exit 1")
    with pytest.raises(CosimError, match=r"^the simulator crashed; see "):
        run_program(PROGRAM, config=CONFIG)
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(session.shutil, "disk_usage", lambda _: usage._replace(free=4096))
    with pytest.raises(CosimError, match=r"^no room left in .*; set TMPDIR"):
        run_program(PROGRAM, config=CONFIG)


def test_a_timeout_ends_the_simulator_and_its_children(simulator, tmp_path):
    pids = tmp_path / "pids"
    simulator(SLEEP.format(pids=pids))
    with pytest.raises(CosimError, match=r"program 0 took longer than 5 s"):
        run_program(PROGRAM, config=CONFIG, timeout=5)
    assert_all_end(started(pids, 2))


def test_an_interrupt_ends_the_simulator_and_its_children(simulator, tmp_path):
    pids = tmp_path / "pids"
    simulator(SLEEP.format(pids=pids))

    def interrupt():
        started(pids, 2)
        os.kill(os.getpid(), signal.SIGINT)

    # A runner of tests in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        run_program(PROGRAM, config=CONFIG)
    interrupter.join()
    signal.signal(signal.SIGINT, before)
    assert_all_end(started(pids, 2))


def test_the_simulator_ends_when_its_parent_is_killed(tmp_path):
    pids = tmp_path / "pids"
    executable = tmp_path / "dve_sim"
    executable.write_text(f"#!/bin/sh\n{SLEEP.format(pids=pids)}\n")
    executable.chmod(0o755)
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys\n"
            "from pathlib import Path\n"
            "from dve_cosim.process import Child\n"
            "command = [sys.executable, '-m', 'dve_cosim.launch', 'dve_sim', '.', '0', 'r', 'x']\n"
            "with Child(command, cwd=Path(), environment=os.environ, log=Path('log')) as child:\n"
            "    child.wait(600)\n",
        ],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
    )
    try:
        processes = started(pids, 2)
    finally:
        parent.kill()
        parent.wait()
    assert_all_end(processes)


def test_a_missing_program_names_the_doctor(tmp_path):
    with pytest.raises(CosimError, match="nonesuch is not installed; run `dve doctor`"):
        Child(["nonesuch"], cwd=tmp_path, environment=os.environ, log=tmp_path / "log")


def test_half_an_instruction_is_refused():
    with pytest.raises(ValueError, match="multiple of 64 bytes long, got 65"):
        run_batches([bytes(65)], config=CONFIG)
