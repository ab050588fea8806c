"""The README keeps its word: commands run, output is real, the status table is true."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import doc_tables
import numpy as np
import pytest
from dve_cli.cosim_table import print_result
from dve_cosim import main_job
from dve_cosim.main_result import Workload
from dve_cosim.traffic import HostTraffic, execution_spans
from dve_golden.batchnorm import Gradients, Layer
from dve_golden.batchnorm.digits import digits_layer
from dve_golden.execute import HANDLERS
from dve_golden.isa.enums import Opcode
from dve_rtl.frontend.dispatch import DOCUMENTED
from dve_rtl.payloads import Handler

ROOT = doc_tables.ROOT
README = (ROOT / "README.md").read_text()
BIN = Path(sys.executable).parent


def blocks(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands():
    """Every line of every shell block, as words without the comment."""
    return [
        shlex.split(line, comments=True)
        for block in blocks("sh")
        for line in block.splitlines()
        if shlex.split(line, comments=True)
    ]


def run(words, cwd):
    """Run a command as a user would, with .venv/bin on PATH."""
    return subprocess.run(
        words,
        cwd=cwd,
        env=os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_two_commands_come_first():
    assert commands()[:2] == [["scripts/cosim"], ["scripts/test"]]


def test_scripts_are_there_and_take_the_options():
    """The scripts themselves set up, build and take minutes; what they run is asked instead."""
    scripts = [words for words in commands() if words[0].startswith("scripts/")]
    for name, *options in scripts:
        assert os.access(ROOT / name, os.X_OK)
        if name == "scripts/cosim":
            done = run(["dve", "cosim", *options, "--help"], ROOT)
            assert done.returncode == 0, done.stderr
    exec_line = (ROOT / "scripts" / "cosim").read_text().splitlines()[-1]
    assert exec_line == 'exec "$root/.venv/bin/dve" cosim "$@"'


def test_commands_run_in_order(tmp_path):
    manual = (ROOT / "docs" / "assembly.md").read_text()
    (tmp_path / "backward.s").write_text(blocks("asm", manual)[0])
    ran = [words for words in commands() if not words[0].startswith("scripts/")]
    assert {words[1] for words in ran} >= {"asm", "lint", "disasm", "run", "export"}
    for words in ran:
        done = run(words, tmp_path)
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stdout}{done.stderr}"
    assert (tmp_path / "dve.v").read_text().startswith("// OpenDVE")
    assert (tmp_path / "after.npz").exists()


@pytest.mark.parametrize("snippet", blocks("python"))
def test_python_runs_without_a_warning(snippet, tmp_path):
    (tmp_path / "snippet.py").write_text(snippet)
    done = run([sys.executable, "-W", "error", "snippet.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "(32, 16, 8, 8) (16,) (16,)" in done.stdout


# --- the printed table ----------------------------------------------------------------------

SECONDS = re.compile(r"\d+\.\d\d s")


def lines(text):
    """Lines that mean something, with every wall time made equal."""
    return [
        SECONDS.sub("T s", " ".join(line.split())) for line in text.splitlines() if line.strip()
    ]


def test_the_printed_table_is_what_the_command_prints(golden_runner, monkeypatch, capsys):
    """The same job with the golden machine in the simulator's place, and the engine's cycles."""
    counts, host = doc_tables.DEFAULT_LAYER_CYCLES, doc_tables.DEFAULT_LAYER_HOST

    def runner(*args, **options):
        result = golden_runner(*args, **options)
        result.cycles[:] = counts
        ends = np.cumsum(counts)
        whole = np.array([[0, host.total]])
        executed = execution_spans(ends, result.cycles)
        found = result.traffic.results
        traffic = HostTraffic(whole, whole, executed, host.transfer, found)
        assert traffic.cycles == host
        return replace(result, traffic=traffic)

    arrays = digits_layer()
    given: dict[str, Any] = {name: arrays[name] for name in ("dy", "x", "mean", "gamma", "inv_std")}
    layer = Layer.from_arrays(**given)
    framework = Gradients(*(arrays[f"framework_{name}"] for name in Gradients._fields))
    workload = Workload("digits layer", layer, framework, -21)
    result = main_job.run_main_job(workload, config=doc_tables.SIM, run=runner)
    monkeypatch.setenv("COLUMNS", "100")
    print_result(result)
    (shown,) = (block for block in blocks("text") if "differing bits" in block)
    assert lines(shown) == lines(capsys.readouterr().out)


def test_figures_are_those_of_the_table():
    (shown,) = (block for block in blocks("text") if "differing bits" in block)
    figures = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", README, re.MULTILINE))
    printed = dict(re.findall(r"^ +(\w[^\n]*?)  +(\S+)$", shown, re.MULTILINE))
    assert figures["differing bits, RTL against golden"] == printed["differing bits"]
    assert figures["cycles of the default layer, 8 lanes"] == printed["cycles"]
    assert printed["elements per lane and cycle"].startswith(figures["elements per lane and cycle"])


# --- the status table -----------------------------------------------------------------------


def test_status_table_agrees_with_the_dispatch_tables():
    states = {}
    for cells in re.findall(r"^\| (0x[^|]*)\|([^|]*)\|", README, re.MULTILINE):
        for opcode in re.findall(r"0x[0-9a-f]{2}", cells[0]):
            states[int(opcode, 16)] = cells[1].strip()
    works = {opcode for opcode, state in states.items() if state == "works"}
    handled = {op for op, entry in DOCUMENTED.items() if entry.handler is not Handler.BAD_OPCODE}
    assert works == set(map(int, Opcode)) == handled == set(map(int, HANDLERS))
    missing = states.keys() - works
    assert all(states[opcode] == "not yet: reason 1" for opcode in missing)
    assert missing >= DOCUMENTED.keys() - handled
