"""Child processes: none is left behind, whenever a signal comes."""

import os
import signal
import subprocess

import pytest
from dve_cosim import process
from dve_cosim.process import Child


@pytest.fixture
def interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_while_a_program_starts_ends_it(tmp_path, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        """Has started its program, and has not said so, when the signal comes."""

        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(process.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        Child(["sleep", "60"], cwd=tmp_path, environment=os.environ, log=tmp_path / "log")
    (child,) = started
    assert child.poll() == -signal.SIGKILL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
