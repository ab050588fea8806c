"""The two commands of a fresh checkout, without a network: a fake ``uv`` stands in for it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SHELL_TOOLS = (
    *(
        "bash",
        "cat",
        "chmod",
        "dirname",
        "env",
        "flock",
        "mkdir",
        "readlink",
        "rm",
        "sha256sum",
        "sleep",
    ),
    *("ar", "c++", "make", "perl"),
)

FAKE_UV = """#!/usr/bin/env bash
set -e
echo "$*" >>"$UV_LOG"
case "$1 $2" in
  "python find") exit 1 ;;
  "venv "*)
    mkdir -p "${@: -1}/bin"
    printf '#!/usr/bin/env bash\\nexec "%s" "$@"\\n' "$REAL_PYTHON" >"${@: -1}/bin/python"
    printf '#!/usr/bin/env bash\\necho dve "$@"\\n' >"${@: -1}/bin/dve"
    chmod +x "${@: -1}"/bin/* ;;
  "pip install")
    sleep "${UV_SECONDS:-0}"
    exit "${UV_STATUS:-0}" ;;
esac
"""


class Checkout:
    """A copy of what set-up reads, at a path with a space, and a PATH with nothing else."""

    def __init__(self, root: Path, tools: Path):
        self.root = root
        self.tools = tools
        self.log = tools / "uv.log"
        self.state = root / ".venv" / "opendve-setup"
        self.environment = {
            "DVE_CACHE": str(tools / "cache"),
            "PATH": str(tools),
            "REAL_PYTHON": sys.executable,
            "UV_LOG": str(self.log),
        }

    def start(self, script="setup", *arguments, cwd=None, **environment):
        return subprocess.Popen(
            [self.root / "scripts" / script, *arguments],
            cwd=cwd or self.root,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that it can be killed with its children
        )

    def run(self, *arguments, **options):
        with self.start(*arguments, **options) as process:
            out, err = process.communicate()
        return process.returncode, out, err

    @property
    def calls(self):
        """What ``uv`` was asked for since the last look."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line for line in lines if not line.startswith("python find")]


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "my checkout"
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pyc*"))
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in SHELL_TOOLS:
        (tools / name).symlink_to(shutil.which(name))
    (tools / "python3").symlink_to(sys.executable)
    (tools / "uv").write_text(FAKE_UV)
    (tools / "uv").chmod(0o755)
    return Checkout(root, tools)


def test_sets_up_once_with_pinned_versions(checkout):
    status, out, err = checkout.run("setup", "test,lint")
    assert (status, out) == (0, ""), err
    assert all(line.startswith("setup: ") for line in err.splitlines())
    venv, backend, package = checkout.calls
    assert venv.endswith("/my checkout/.venv")
    assert backend.endswith("--constraint constraints.txt hatchling")
    assert package.endswith(
        "--constraint constraints.txt --no-build-isolation --editable .[test,lint]"
    )
    assert checkout.run("setup", "test,lint") == (0, "", "")
    assert checkout.run("setup") == (0, "", "")  # what is there covers it
    assert checkout.calls == []


def test_more_extras_are_added_to_what_is_there(checkout):
    checkout.run("setup")
    assert len(checkout.calls) == 3
    checkout.run("setup", "test,lint")
    assert [call.split()[0] for call in checkout.calls] == ["pip", "pip"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_pin_is_installed(checkout, name):
    checkout.run()
    assert checkout.calls
    with (checkout.root / name).open("a") as file:
        file.write("# changed\n")
    checkout.run()
    assert [call.split()[0] for call in checkout.calls] == ["pip", "pip"]


def test_a_failed_installation_is_started_anew(checkout):
    status, _, err = checkout.run(UV_STATUS="1")
    assert status == 2
    assert err.splitlines()[-1].startswith("setup: error: could not install the packages")
    assert checkout.calls
    assert checkout.run()[0] == 0
    assert [call.split()[0] for call in checkout.calls] == ["venv", "pip", "pip"]


def test_a_killed_set_up_is_started_anew(checkout):
    with checkout.start(UV_SECONDS="60") as process:
        while process.poll() is None and not checkout.log.exists():
            time.sleep(0.01)
        while process.poll() is None and "pip install" not in checkout.log.read_text():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    assert checkout.calls
    assert checkout.run()[0] == 0
    assert checkout.calls[0].startswith("venv")


@pytest.mark.parametrize("broken", ["bin/python", "opendve-setup"])
def test_a_broken_environment_is_mended(checkout, broken):
    checkout.run()
    assert checkout.calls
    (checkout.root / ".venv" / broken).unlink()
    assert checkout.run()[0] == 0
    assert checkout.calls
    assert checkout.run() == (0, "", "")


def test_a_moved_checkout_makes_its_environment_anew(checkout):
    checkout.run()
    assert checkout.calls
    checkout.root = checkout.root.rename(checkout.root.with_name("elsewhere"))
    assert checkout.run()[0] == 0
    assert checkout.calls[0].endswith("/elsewhere/.venv")


def test_two_calls_at_once_set_up_once(checkout):
    first, second = (checkout.start(UV_SECONDS="0.3") for _ in range(2))
    for process in (first, second):
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert len(checkout.calls) == 3


def test_cosim_passes_arguments_on_from_any_directory_and_through_a_link(checkout, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(checkout.root / "scripts" / "cosim")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for script in ("cosim", link):
        status, out, err = checkout.run(script, "--input", "a b.npz", cwd=elsewhere)
        assert (status, out) == (0, "dve cosim --input a b.npz\n"), err
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("script", ["cosim", "test"])
def test_a_missing_tool_is_named_with_its_package(checkout, script):
    for name in ("c++", "perl"):
        (checkout.tools / name).unlink()
    status, out, err = checkout.run(script)
    assert (status, out) == (2, "")
    assert err == "setup: error: not found: c++ perl; install with: apt install g++ perl\n"


def replace_python(checkout, *, version_ok, lacks):
    """A Python that answers the two questions of set-up as told."""
    python = checkout.tools / "python3"
    python.unlink()
    python.write_text(
        f'#!/usr/bin/env bash\n[[ $1 == -c ]] && exit {0 if version_ok else 1}\necho "{lacks}"\n'
    )
    python.chmod(0o755)


def test_what_a_python_lacks_is_told_before_anything_is_made(checkout):
    lacks = "its shared library; install with: apt install libpython3.11"
    replace_python(checkout, version_ok=True, lacks=lacks)
    assert checkout.run() == (2, "", f"setup: error: Python lacks {lacks}\n")
    assert not (checkout.root / ".venv").exists()


@pytest.mark.parametrize(("extras", "newest"), [((), "3.14"), (("test,lint",), "3.13")])
def test_only_old_pythons(checkout, extras, newest):
    replace_python(checkout, version_ok=False, lacks="")
    status, _, err = checkout.run("setup", *extras)
    assert status == 2
    assert err.startswith(f"setup: error: no Python 3.11 to {newest} found; install with: apt")
    assert err.count("\n") == 1


# --- packaging ---------------------------------------------------------------------------------


def pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def test_pins_are_exact_and_name_no_host():
    for pin in pins():
        assert pin.url is None
        assert re.fullmatch(r"==[\w.]+", str(pin.specifier)), pin


def test_every_package_that_gets_installed_is_pinned_within_its_bounds():
    pinned = {canonicalize_name(pin.name): pin for pin in pins()}
    todo = [Requirement("opendve[test,lint]"), Requirement("hatchling")]
    seen = set()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        if name != "opendve":
            version = str(pinned[name].specifier).removeprefix("==")
            assert wanted.specifier.contains(version, prereleases=True), (wanted, version)
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for line in metadata.requires(name) or ():
                requirement = Requirement(line)
                if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                    todo.append(requirement)


def test_the_wheel_holds_the_packages_with_their_data(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    there = set()
    for package in (
        "rtl/dve_rtl",
        "golden/dve_golden",
        "cocotb_tests/dve_cosim",
        "scripts/dve_cli",
        "scripts/dve_torch",
        "formal/dve_formal",
        "synth/dve_synth",
    ):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                there.add(os.fspath(path.relative_to((ROOT / package).parent)))
    assert packed == there
    assert any(name.endswith(".vlt") for name in packed)
