"""What cocotb and venv ask of a Python, beyond its version; standard library only.

``scripts/setup`` runs this file with each Python it considers, before anything is installed.
``dve doctor`` imports it.
"""

import sys
import sysconfig
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
LIBPYTHON_PACKAGE = f"libpython{VERSION}"
VENV_PACKAGE = f"python{VERSION}-venv"


def shared_libpython() -> str | None:
    """The shared library of this Python, into which a simulator loads cocotb.

    The same places as the find_libpython package, which cocotb uses, and which is not there yet
    when the environment is made.
    """
    names = [sysconfig.get_config_var(name) for name in ("INSTSONAME", "LDLIBRARY")]
    folders = [sysconfig.get_config_var(name) for name in ("LIBDIR", "LIBPL")]
    folders.append(str(Path(sys.base_prefix, "lib")))
    for folder in filter(None, folders):
        for name in filter(None, names):
            library = Path(folder, name)
            if ".so" in name and library.exists():
                return str(library)
    return find_library(f"python{VERSION}")


def can_make_venv() -> bool:
    """Whether ``python -m venv`` works: Debian ships it without the pip that it puts in."""
    return find_spec("venv") is not None and find_spec("ensurepip") is not None


def lacking(needs: list[str]) -> str:
    """One line that names what this Python lacks and the packages to install; empty if nothing.

    Parameters
    ----------
    needs : list of str
        ``libpython``, ``venv`` or both.
    """
    lacks = {}
    if "libpython" in needs and shared_libpython() is None:
        lacks["its shared library"] = LIBPYTHON_PACKAGE
    if "venv" in needs and not can_make_venv():
        lacks["the venv module"] = VENV_PACKAGE
    if not lacks:
        return ""
    return f"{' and '.join(lacks)}; install with: apt install {' '.join(lacks.values())}"


if __name__ == "__main__":
    print(lacking(sys.argv[1:]))
