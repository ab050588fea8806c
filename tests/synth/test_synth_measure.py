"""Several seeds to one measurement; every unit in its harness."""

import re
import threading
import time
from dataclasses import replace

import pytest
from dve_cosim.errors import CosimError
from dve_rtl.config import PRESETS
from dve_rtl.target import Target
from dve_synth import measure as module
from dve_synth.measure import measure
from dve_synth.units import SMALL, UNITS, design

FPGA = PRESETS["fpga"]


def test_the_median_of_the_seeds(tools):
    found = measure("narrow", FPGA, speed=8, seeds=(1, 2, 3))
    assert found.mhz == {1: 101.0, 2: 102.0, 3: 103.0}
    assert found.median_mhz == 102.0
    assert found.latency == FPGA.narrow_latency
    described = found.described()
    assert described["mhz_by_seed"] == {"1": 101.0, "2": 102.0, "3": 103.0}
    assert (described["lut4"], described["ff"], described["dsp"]) == (707, 385, 0)
    # 32 bits, a type of 4 and seven control values of one bit; three pins.
    assert described["harness"] == {"lut4": 32, "ff": 46}
    assert described["critical_path"]["hops"][0]["name"] == "zeros_5[0]"


def test_another_latency(tools):
    assert measure("narrow", FPGA, latency=1, speed=8, seeds=(1,)).latency == 1


def test_a_unit_without_a_latency(tools):
    found = measure("recip", FPGA, speed=8, seeds=(1,))
    assert found.latency is None
    assert found.clocks == "13, one operand a time"


def test_progress_counts_the_netlist_and_the_seeds(tools):
    told = []
    measure("narrow", FPGA, speed=8, seeds=(1, 2), progress=lambda *step: told.append(step))
    assert told[0] == ("narrow", 0, 3)
    assert told[-1] == ("narrow", 3, 3)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_an_error_ends_the_other_seeds(tools, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    def placement(name, netlist, *, seed, speed, poll):
        if seed == 1:
            begun.wait(10)
            raise CosimError("does not fit")
        begun.set()
        try:
            while True:
                time.sleep(0.01)
                poll()
        finally:
            ended.set()

    monkeypatch.setattr(module, "placement", placement)
    with pytest.raises(CosimError, match="does not fit"):
        measure("narrow", FPGA, speed=8, seeds=(1, 2, 3))
    assert ended.is_set()


@pytest.mark.parametrize("name", SMALL)
def test_units_in_their_harness(name):
    latency = UNITS[name].latency_of(FPGA)
    text = design(name, replace(FPGA, target=Target.ECP5), latency).verilog
    assert re.search(r"^module harness\(", text, re.MULTILINE)
    places = re.findall(r'src = "([^"]+)"', text)
    assert any(place.startswith("dve_rtl/") for place in places)
    assert not any(place.startswith("/") for place in places), "the same text on every machine"
    assert text.count("MULT18X18D ") == (4 if name == "mul" else 0)
