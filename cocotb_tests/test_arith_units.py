"""The arithmetic units under Verilator, on grids of operands; ``dve arith`` does the same.

Twice at once: as shallow and as deep as the presets have them.
"""

from dataclasses import replace

import numpy as np
import pytest
from dve_cosim.arith import simulator
from dve_cosim.arith.campaign import examine
from dve_cosim.arith.operations import OPERATIONS, operation, suite_size
from dve_cosim.arith.simulator import UnitSimulator
from dve_cosim.arith.units import unit_verilog
from dve_cosim.errors import CosimError
from dve_rtl.config import PRESETS
from dve_rtl.convert.narrow import Narrow

DEPTHS = {name: PRESETS[name] for name in ("sim", "fpga")}


@pytest.mark.parametrize("entry", OPERATIONS, ids=lambda entry: entry.name)
def test_no_bit_differs(entry):
    level, cases = suite_size(entry)
    outcome = examine(entry, DEPTHS, level=level, cases=cases)
    assert outcome.differing == 0, outcome.subjects
    deep = [name for name in outcome.subjects if "fpga" in name]
    assert len(deep) == 1
    assert outcome.subjects[deep[0]].compared == outcome.cases
    there_are_more = any(entry.random(1, 0))
    assert outcome.cases >= (cases if there_are_more else 1 << 8)


def test_a_result_in_the_wrong_clock_is_a_wrong_result():
    unit = Narrow(latency=2)
    unit.latency = 3  # what it claims
    operands = np.arange(0x3F800000, 0x3F800000 + 1000, dtype=np.uint32)
    entry = operation("narrow fp32")
    with UnitSimulator(unit_verilog(unit)) as late:
        late.send(operands, select=entry.select)
        assert late.receive().tolist() == [*operands[1:].tolist(), int(operands[-1])]


def program(tmp_path, monkeypatch, text):
    """A shell script in the place of the simulator."""
    script = tmp_path / "unit"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    monkeypatch.setattr(simulator, "build_program", lambda *arguments, **options: script)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo 'no result' >&2; exit 1", "ended with exit code 1: no result"),
        ("exit 3", "ended with exit code 3: silently"),
        ("head -c 8 >/dev/null; kill -9 $$", "ended with exit code -9: silently"),
    ],
)
def test_a_simulator_that_ends_early_is_one_line(tmp_path, monkeypatch, text, message):
    program(tmp_path, monkeypatch, text)
    entry = replace(operation("add"), second=None)
    with pytest.raises(CosimError, match=message):
        examine(entry, {"sim": PRESETS["sim"]}, level=1)


def test_a_simulator_that_cannot_start_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(simulator, "build_program", lambda *arguments, **options: tmp_path)
    with pytest.raises(CosimError, match="cannot start"):
        UnitSimulator("")
