"""Programs through the RTL: run the simulator as a child and read back what it computed."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import ParseError

import numpy as np
from cocotb_tools.check_results import get_results
from dve_golden.batchnorm.step import Step, require_apart
from dve_golden.isa.enums import RECORD_BYTES
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.build import Simulator, Waves, build
from dve_cosim.cache import log_file
from dve_cosim.errors import CosimError, EngineError, WaitError
from dve_cosim.job import (
    FAILURE,
    RESULT,
    RESULTS_XML,
    STATE,
    WAITING,
    Counter,
    Job,
    batch_folder,
    program_file,
    state_folder,
    transfers_file,
)
from dve_cosim.process import Child
from dve_cosim.progress import Progress, silent
from dve_cosim.state import ArchState, read_image, write_image
from dve_cosim.toolchain import verilator_environment
from dve_cosim.traffic import HostTraffic, execution_spans
from dve_cosim.transfers import Transfers
from dve_cosim.wrapper import IMAGES, SIM_TOP

BENCH = "dve_cosim.bench"
"""The cocotb side."""


@dataclass(frozen=True)
class Timing:
    """Where the time of a run went; seconds of wall time.

    Parameters
    ----------
    build : float
        Export and compilation, or finding them in the cache.
    simulate : float
        From the first beat to the last completion.
    python : float
        The part of ``simulate`` that was spent in Python.
    dump : float
        Reading the state back.
    cycles : int
        Clock cycles simulated during ``simulate``.
    """

    build: float
    simulate: float
    python: float
    dump: float
    cycles: int


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a program left behind.

    Parameters
    ----------
    state : ArchState
        The state after its last instruction.
    opcode, reason : uint8 [instructions]
        Of each completion; reason 0 means executed.
    cycles : uint32 [instructions]
        Clock cycles of each completion.
    timing : Timing
        Wall times.
    traffic : HostTraffic, optional
        What the host did meanwhile, if the programs were steps.
    """

    state: ArchState
    opcode: NDArray[np.uint8]
    reason: NDArray[np.uint8]
    cycles: NDArray[np.uint32]
    timing: Timing
    traffic: HostTraffic | None = None


def run_program(
    program: bytes,
    *,
    config: EngineConfig,
    state: ArchState | None = None,
    seed: int = 0,
    gaps: float = 0.0,
    stalls: float = 0.0,
    waves: Path | None = None,
    timeout: float | None = None,
    progress: Progress = silent,
) -> RunResult:
    """Run one program on the RTL; parameters and errors as for `run_batches`."""
    batches = run_batches(
        [program],
        config=config,
        state=state,
        seed=seed,
        gaps=gaps,
        stalls=stalls,
        waves=waves,
        timeout=timeout,
        progress=progress,
    )
    (result,) = batches
    return result


def run_batches(
    programs: Sequence[bytes],
    *,
    config: EngineConfig,
    state: ArchState | None = None,
    reloads: Mapping[int, ArchState] | None = None,
    seed: int = 0,
    gaps: float = 0.0,
    stalls: float = 0.0,
    waves: Path | None = None,
    simulator: Simulator | None = None,
    most_cycles: int = 0,
    timeout: float | None = None,
    progress: Progress = silent,
) -> Generator[RunResult, None, None]:
    """Run programs one after the other on persistent state, in one simulator.

    Results come as soon as they are there; the simulator runs ahead by a few programs. Closing
    the iterator, or an interrupt, stops it.

    Parameters
    ----------
    programs : sequence of bytes
        Each a multiple of 64 bytes.
    config : EngineConfig
        The engine.
    state : ArchState, optional
        State before the first program; that after reset if not given. Memory rows may be shorter
        than the configured ones.
    reloads : mapping of int to ArchState, optional
        States to load before the programs of these indices, instead of what the program before
        has left. Far cheaper than another simulator.
    seed : int
        Of the pauses.
    gaps, stalls : float
        Share of transfers held back for some cycles (`dve_cosim.driver.random_pauses`), on streams
        into the engine and out of it. Changes cycle counts, never results.
    waves : Path, optional
        Trace file, ``.vcd`` or ``.fst``. It is written in place, so that it shows a hang.
    simulator : Simulator, optional
        Of ``config``, instead of the one that is built for it.
    most_cycles : int
        Clock cycles after which an instruction counts as hung, if its counts allow for more; 0 for
        no such limit.
    timeout : float, optional
        Seconds of wall time that one program may take.
    progress : callable
        Told of steps ``export``, ``build`` and ``simulate`` (instructions completed).

    Raises
    ------
    ValueError
        If a program is not a multiple of 64 bytes, or a trace file has another suffix.
    CosimError
        If building fails, or if the simulator crashes, hangs or takes too long.
    """
    _require_records(programs)
    start = time.perf_counter()
    if simulator is None:
        simulator = build(config, waves=waves_format(waves), progress=progress)
    job = Job(config, len(programs), seed, gaps, stalls, most_cycles)
    return _run(
        simulator,
        job,
        programs,
        {0: state or ArchState.reset(config), **(reloads or {})},
        trace=waves.absolute() if waves else None,
        timeout=timeout,
        progress=progress,
        build_seconds=time.perf_counter() - start,
    )


def run_steps(
    steps: Sequence[Step],
    *,
    config: EngineConfig,
    state: ArchState | None = None,
    seed: int = 0,
    gaps: float = 0.0,
    stalls: float = 0.0,
    waves: Path | None = None,
    progress: Progress = silent,
) -> RunResult:
    """Run steps in one simulator, the host's transfers beside the engine.

    While a program executes, the host port reads the results of the step before it and then places
    the images of the step after it.

    Parameters
    ----------
    steps : sequence of Step
        At least one.

    Other parameters and errors are those of `run_batches`; the result's ``traffic`` is set.

    Raises
    ------
    OverlapError
        If two steps cannot share the engine in this way; nothing has run then.
    """
    require_apart(steps)
    programs = [step.program for step in steps]
    _require_records(programs)
    start = time.perf_counter()
    simulator = build(config, waves=waves_format(waves), progress=progress)
    batches = _run(
        simulator,
        Job(config, len(steps), seed, gaps, stalls, side_by_side=True),
        programs,
        {0: state or ArchState.reset(config)},
        transfers=[Transfers.of(step) for step in steps],
        trace=waves.absolute() if waves else None,
        timeout=None,
        progress=progress,
        build_seconds=time.perf_counter() - start,
    )
    (result,) = batches
    return result


def _require_records(programs: Sequence[bytes]) -> None:
    for program in programs:
        if len(program) % RECORD_BYTES:
            raise ValueError(
                f"a program is a multiple of {RECORD_BYTES} bytes long, got {len(program)}"
            )


def waves_format(path: Path | None) -> Waves | None:
    """The trace format that a file name asks for.

    Raises
    ------
    ValueError
        If it is neither ``.vcd`` nor ``.fst``.
    """
    if path is None:
        return None
    if path.suffix == ".vcd":
        return "vcd"
    if path.suffix == ".fst":
        return "fst"
    raise ValueError(f"a waveform file ends in .vcd or .fst, got {path}")


def _run(
    simulator: Simulator,
    job: Job,
    programs: Sequence[bytes],
    states: Mapping[int, ArchState],
    *,
    transfers: Sequence[Transfers] = (),
    trace: Path | None,
    timeout: float | None,
    progress: Progress,
    build_seconds: float,
) -> Generator[RunResult, None, None]:
    instructions = sum(map(len, programs)) // RECORD_BYTES
    progress("simulate", 0, instructions)
    with temporary_folder() as folder:
        with written_inputs(folder):
            _write_inputs(folder, job, programs, states)
            for index, each in enumerate(transfers):
                each.save(folder / transfers_file(index))
        log = log_file(f"run-{folder.name}")
        counter = Counter(folder)
        try:
            with start_child(simulator, folder, job.seed, log, trace=trace) as child:
                for index in range(job.batches):
                    await_batch(
                        child,
                        folder,
                        index,
                        log,
                        timeout=timeout,
                        report=lambda: progress("simulate", counter.value, instructions),
                    )
                    batch = folder / batch_folder(index)
                    yield _read_batch(batch, job.config, build_seconds, transfers)
                    build_seconds = 0.0
                while child.wait() is None:
                    pass
        except (GeneratorExit, KeyboardInterrupt):  # nothing went wrong
            log.unlink(missing_ok=True)
            raise
        counter.close()
        _check(folder, log)
        log.unlink()
    progress("simulate", instructions, instructions)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A directory that is gone afterwards.

    Raises
    ------
    CosimError
        If there is no room for it.
    """
    # Not TemporaryDirectory, which warns when an abandoned iterator is collected.
    try:
        folder = Path(tempfile.mkdtemp(prefix="dve-"))
    except OSError as error:
        raise CosimError(f"no room for temporary files: {error}; set TMPDIR") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def written_inputs(folder: Path) -> Iterator[None]:
    """While a job's inputs are written to its ``folder``.

    Raises
    ------
    CosimError
        If they cannot be.
    """
    try:
        yield
    except OSError as error:
        raise CosimError(
            f"cannot write {folder}: {error.strerror or error}; set TMPDIR to a directory with room"
        ) from error


def start_child(
    simulator: Simulator, folder: Path, seed: int, log: Path, *, trace: Path | None = None
) -> Child:
    """The simulator of the job in ``folder``, running."""
    command = [sys.executable, "-m", "dve_cosim.launch", SIM_TOP, str(simulator.build_dir)]
    command += [str(seed), RESULTS_XML, BENCH, *simulator.arguments]
    command += ["--trace", "--trace-file", str(trace)] if trace else []
    return Child(command, cwd=folder, environment=child_environment(), log=log)


def child_environment() -> Mapping[str, str]:
    """Ours for a simulator, without what would change the behaviour of cocotb's runner."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COCOTB", "PYTEST", "GPI_", "PYGPI_"))
        and name not in ("WAVES", "GUI", "TOPLEVEL", "MODULE")
    }
    # Rewriting assertions is of use to a test; here it would slow down every import.
    return ours | verilator_environment() | {"COCOTB_REWRITE_ASSERTION_FILES": ""}


def _write_inputs(
    folder: Path, job: Job, programs: Sequence[bytes], states: Mapping[int, ArchState]
) -> None:
    job.save(folder)
    for index, program in enumerate(programs):
        (folder / program_file(index)).write_bytes(program)
    for index, state in states.items():
        target = folder / state_folder(index)
        target.mkdir()
        np.savez(
            target / STATE,
            lane_state=state.lane_state,
            parameter_ram=state.parameter_ram,
            registers=state.registers,
            semaphores=state.semaphores,
            events=state.events,
            control=state.control,
        )
        for name, row_bytes in _row_bytes(job.config).items():
            memory = getattr(state, name)
            if index or memory.any():  # the simulator's memories start as zeros
                image = target / f"{name}.in"
                write_image(image, memory, lanes=job.config.lanes, row_bytes=row_bytes)


def _row_bytes(config: EngineConfig) -> dict[str, int]:
    return dict(zip(IMAGES, (config.sbuf_bytes, config.psum_bytes), strict=True))


_LONGEST_PAUSE = 0.1
"""Seconds between two looks at a running simulator."""


def await_batch(
    child: Child,
    folder: Path,
    index: int,
    log: Path,
    *,
    timeout: float | None = None,
    longest_pause: float = _LONGEST_PAUSE,
    report: Callable[[], None] = lambda: None,
) -> None:
    """Return when a batch is complete; look for it every ``longest_pause`` seconds or sooner.

    Raises
    ------
    CosimError
        If the simulator ends before, or exceeds its time.
    """
    target = folder / batch_folder(index)
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = 0.005  # short programs take milliseconds
    while not target.is_dir():
        code = child.wait(pause)
        pause = min(2 * pause, longest_pause)
        report()
        if target.is_dir():
            return
        if code is None and pause >= longest_pause and (error := _fatal_error(log)):
            raise CosimError(f"the simulator stopped: {error}; see {log}")
        if code is not None:
            _check(folder, log)
            raise CosimError(f"the simulator ended early with exit code {code}; see {log}")
        if deadline is not None and time.monotonic() > deadline:
            raise CosimError(
                f"program {index} took longer than {timeout:g} s in simulation; see {log}"
            )


_FATAL = "%Error: "


def _fatal_error(log: Path) -> str:
    """What Verilator's run time gave up for, or nothing.

    It flushes its waveforms then, and waits for itself if a full disk is the reason.
    """
    lines = log.read_text(errors="replace").splitlines()
    return next((line.removeprefix(_FATAL) for line in lines if line.startswith(_FATAL)), "")


_NO_ROOM_BYTES = 1 << 20
"""Free bytes below which a full disk is taken for the cause of a failure."""


def _check(folder: Path, log: Path) -> None:
    """Raise if an instruction waits in vain, or if the bench has failed or left no results."""
    waiting = folder / WAITING
    if waiting.exists():
        log.unlink(missing_ok=True)
        raise WaitError(waiting.read_text())
    failure = folder / FAILURE
    if failure.exists() and (message := failure.read_text()):
        raise EngineError(f"simulation failed: {message}; see {log}")
    try:
        if get_results(folder / RESULTS_XML) == (1, 0):
            return
        what = "the simulation bench failed"
    except (RuntimeError, ParseError):  # no results, or half of them
        what = "the simulator crashed"
    if shutil.disk_usage(folder).free < _NO_ROOM_BYTES:  # whatever came of it in there
        raise CosimError(f"no room left in {folder.parent}; set TMPDIR to a directory with room")
    raise CosimError(f"{what}; see {log}")


def _read_batch(
    batch: Path, config: EngineConfig, build_seconds: float, transfers: Sequence[Transfers]
) -> RunResult:
    memories = {
        name: read_image(batch / f"{name}.out", lanes=config.lanes, row_bytes=row_bytes)
        for name, row_bytes in _row_bytes(config).items()
    }
    with np.load(batch / RESULT) as result:
        completions = result["completions"]
        state = ArchState(
            sbuf=memories["sbuf"][:, : config.sbuf_active_bytes],
            psum=memories["psum"][:, : config.psum_active_bytes],
            registers=result["registers"],
            parameter_ram=result["parameter_ram"],
            lane_state=result["lane_state"],
            semaphores=result["semaphores"],
            events=result["events"],
            control=result["control"],
        )
        timing = Timing(
            build=build_seconds,
            simulate=float(result["simulate_seconds"]),
            python=float(result["python_seconds"]),
            dump=float(result["dump_seconds"]),
            cycles=int(result["simulated_cycles"]),
        )
        traffic = _traffic(result, transfers, config.lanes) if transfers else None
    shutil.rmtree(batch)
    opcode, reason, cycles, _ = completions.T
    return RunResult(
        state, opcode.astype(np.uint8), reason.astype(np.uint8), cycles.copy(), timing, traffic
    )


def _traffic(
    found: Mapping[str, NDArray], transfers: Sequence[Transfers], lanes: int
) -> HostTraffic:
    _, _, cycles, completed = found["completions"].T
    return HostTraffic(
        found["writes"],
        found["reads"],
        execution_spans(completed, cycles),
        sum(each.clocks(lanes) for each in transfers),
        [
            [found[f"result_{step}_{at}"] for at in range(len(each.results))]
            for step, each in enumerate(transfers)
        ],
    )
