"""Verilog to a simulator executable, cached.

cocotb's own build step passes ``--public-flat-rw``, which makes every signal public and costs
most of Verilator's optimisation. This one publishes the ports of the simulation top alone; on a
trial design of 56 fp32 units that gave 3.4 times the speed and 60 % of the compile time. What it
leaves behind is what cocotb's runner expects for the run: an executable named after the top.
"""

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Literal

import cocotb_tools.config
import dve_rtl
from dve_rtl.config import EngineConfig

from dve_cosim.cache import cache_root, cached, log_file
from dve_cosim.engine import engine_verilog
from dve_cosim.errors import CosimError
from dve_cosim.process import run_logged
from dve_cosim.progress import Progress, silent
from dve_cosim.toolchain import (
    require_build_tools,
    verilator_environment,
    verilator_version,
)
from dve_cosim.wrapper import SIM_TOP, sim_top

Waves = Literal["vcd", "fst"]

WAIVERS = Path(dve_rtl.__file__).parent / "generated.vlt"
CONTROL_FILE = Path(__file__).with_name("dve_sim.vlt")

GENERATED = "dve_engine.v"
"""File of a generated text, whatever its top: the waivers go by this name."""

_OPTIONS = (
    "-O3",
    # Two-state anyway; the free choice of undefined bits saves initialisation and masking.
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    # The clock comes from cocotb, and nothing in the design waits.
    "--no-timing",
    "--timescale",
    "1ns/1ns",
)
_COCOTB_MAIN = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
"""The main program of a simulator that cocotb drives."""

_MAKE_OPTIONS = ("OPT_FAST=-O2", "OPT_SLOW=-O0", "OPT_GLOBAL=-O2")
"""OPT_SLOW code runs once; OPT_GLOBAL is Verilator's run time, with the VPI and file functions."""

_JOBS = 2

_KEPT_BUILDS = 24
"""Of each family, about 2 to 10 MB each."""


@dataclass(frozen=True)
class Simulator:
    """A built simulator.

    Parameters
    ----------
    config : EngineConfig
        The engine inside.
    build_dir : Path
        Holds the executable, as cocotb's runner expects it.
    waves : None, "vcd" or "fst"
        Trace format compiled in.
    arguments : tuple of str
        For every run of it, such as plus arguments.
    """

    config: EngineConfig
    build_dir: Path
    waves: Waves | None
    arguments: tuple[str, ...] = ()


def build(
    config: EngineConfig,
    *,
    engine: str | None = None,
    waves: Waves | None = None,
    progress: Progress = silent,
) -> Simulator:
    """The simulator of ``config``; from the cache if nothing it depends on has changed.

    Parameters
    ----------
    config : EngineConfig
        Sizes of the engine.
    engine : str, optional
        Text to build instead of the engine's export: the same with changes inside.
    waves : None, "vcd" or "fst"
        Compile in tracing; a simulator without is faster.
    progress : callable
        Told of steps ``export`` and ``build``.

    Raises
    ------
    CosimError
        If a tool is missing or fails, or if the cache cannot be written.
    """
    progress("export", 0, 0)
    if engine is None:
        engine = engine_verilog(config)
    sources = {GENERATED: engine, f"{SIM_TOP}.v": sim_top(config, engine)}
    control = CONTROL_FILE.read_text()
    return Simulator(config, _build(SIM_TOP, sources, control, waves, progress), waves)


def build_module(top: str, verilog: str) -> Path:
    """The simulator of a generated module, for a bench of its own; cached like the engine's.

    Parameters
    ----------
    top : str
        Name of the module; all its signals are public.
    verilog : str
        Its text.

    Returns
    -------
    Path
        The directory that holds the executable.

    Raises
    ------
    CosimError
        As for `build`.
    """
    control = f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n'
    return _build(top, {GENERATED: verilog}, control, None, silent)


def build_program(top: str, verilog: str, main: Path, *, progress: Progress = silent) -> Path:
    """A program of its own around a generated module, without cocotb; cached like the engine's.

    Parameters
    ----------
    top : str
        Name of the module, and of the executable.
    verilog : str
        Its text.
    main : Path
        C++ main program; the module is its class ``Vtop`` of ``Vtop.h``.
    progress : callable
        Told of step ``build``.

    Returns
    -------
    Path
        The executable.

    Raises
    ------
    CosimError
        As for `build`.
    """
    control = "`verilator_config\n"
    return _build(top, {GENERATED: verilog}, control, None, progress, main=main) / top


def _build(
    top: str,
    sources: Mapping[str, str],
    control: str,
    waves: Waves | None,
    progress: Progress,
    *,
    main: Path | None = None,
) -> Path:
    """The directory of a simulator with its own ``main`` program, or else with cocotb's."""
    if " " in str(cache_root()):
        raise CosimError(
            f"make cannot build under {cache_root()}: no spaces; set DVE_CACHE to another path"
        )
    options = (*_OPTIONS, *((f"--trace-{waves}",) if waves else ()))
    depends_on = (
        *sources.values(),
        WAIVERS.read_text(),
        control,
        *options,
        *_tools(),
        main.read_text() if main else str(cocotb_tools.config.libs_dir),  # the rpath
    )
    key = hashlib.sha256("\0".join(depends_on).encode()).hexdigest()[:32]

    def fill(draft: Path) -> None:
        require_build_tools(fst=waves == "fst")
        progress("build", 0, 0)
        work = draft / "work"
        work.mkdir()
        for name, text in sources.items():
            (work / name).write_text(text)
        (work / "public.vlt").write_text(control)
        _compile(work, top, tuple(sources), options, main, log_file(f"build-{key}"), progress)
        shutil.move(work / "obj" / top, draft / top)
        shutil.rmtree(work)

    return cached("program" if main else "simulator", key, fill, keep=_KEPT_BUILDS)


def _tools() -> tuple[str, ...]:
    """What compiles, and how, apart from Verilator's options."""
    return (
        verilator_version(),
        os.environ.get("DVE_VERILATOR", ""),
        metadata.version("cocotb"),
        platform.machine(),
        _compiler_version(),
        *_MAKE_OPTIONS,
    )


def _runtime_objects(obj: Path) -> list[str]:
    """Object files of Verilator's own run time: the same for every design, and half a minute."""
    listed = (obj / "Vtop_classes.mk").read_text()
    return [f"{name}.o" for name in sorted(set(re.findall(r"\bverilated\w*", listed)))]


def _compile(
    work: Path,
    top: str,
    sources: Sequence[str],
    options: Sequence[str],
    main: Path | None,
    log: Path,
    progress: Progress,
) -> None:
    """Verilate and compile in ``work``; the executable is ``obj/<top>``."""
    # Copied for its bare name: make cannot follow a path with a space.
    program = Path(shutil.copy(main or _COCOTB_MAIN, work))
    verilate = [
        "verilator",
        "--cc",
        "--exe",
        "--vpi",
        "--Mdir",
        "obj",
        "--prefix",
        "Vtop",  # cocotb's main program includes Vtop.h
        "--top-module",
        top,
        "-o",
        top,
        *options,
        *(() if main else _cocotb_libraries()),
        program.name,
        str(WAIVERS),
        "public.vlt",
        *sources,
    ]
    make = ["make", "-j", str(_JOBS), "-C", "obj", "-f", "Vtop.mk", *_MAKE_OPTIONS]
    environment = os.environ | verilator_environment()
    obj = work / "obj"

    def call(*command: str, report: Callable[[], None] = lambda: None) -> None:
        code = run_logged(command, cwd=work, environment=environment, log=log, poll=report)
        if code:
            raise CosimError(f"{command[0]} failed with exit code {code}; see {log}")

    def compile_runtime(draft: Path) -> None:
        call(*make, *runtime)
        for name in runtime:
            shutil.copy(obj / name, draft)

    call(*verilate)
    runtime = _runtime_objects(obj)
    runtime_key = hashlib.sha256(repr((runtime, *_tools(), *options)).encode()).hexdigest()[:32]
    compiled = cached("runtime", runtime_key, compile_runtime, keep=4)
    for name in runtime:
        shutil.copy(compiled / name, obj)  # newer than its sources: make takes it as it is
    total = len(list(obj.glob("*.cpp"))) + len(runtime) + 1  # one object each, and the main program
    call(
        *make,
        report=lambda: progress("build", min(len(list(obj.glob("*.o"))), total), total),
    )
    log.unlink()


def _cocotb_libraries() -> tuple[str, ...]:
    """Arguments for Verilator that link what cocotb's main program needs; a shell reads them."""
    libraries = shlex.quote(str(cocotb_tools.config.libs_dir))
    return ("-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator")


@cache
def _compiler_version() -> str:
    """First line of ``c++ --version``; empty if there is none, which the build will report."""
    try:
        shown = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return shown.stdout.partition("\n")[0]
