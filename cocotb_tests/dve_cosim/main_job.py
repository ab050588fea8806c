"""The main job: one batch-norm backward pass on golden and on RTL, compared bit by bit.

The golden machine goes first: what it was given is recorded and handed to the RTL unchanged. The
steps of a program without host arithmetic are one run, in which the host port places operands and
reads results while the engine executes. Where the host computes between steps, there are several
runs. What the host reads is compared, and the whole state after every run.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from dve_golden.batchnorm import GoldenEngine, Gradients, Layer, reference, step_count
from dve_golden.batchnorm.accuracy import RelativeErrors, relative_errors, ulp_error
from dve_golden.batchnorm.on_engine import EngineBackward
from dve_golden.batchnorm.on_host import host_backward
from dve_golden.batchnorm.step import Step, merge
from dve_golden.isa.enums import RECORD_BYTES, Dtype, Reason
from dve_golden.isa.text import disassemble, split_records
from dve_golden.machine import Completion, Machine
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.compare import differences, differing_bits
from dve_cosim.main_result import Executed, GradientErrors, MainResult, Workload
from dve_cosim.progress import Progress, silent
from dve_cosim.reference import machine_of
from dve_cosim.session import RunResult, run_steps
from dve_cosim.state import ArchState
from dve_cosim.traffic import HostCycles

Runner = Callable[..., RunResult]
"""What `dve_cosim.session.run_steps` is; tests put a golden machine in its place."""

GAPS = 0.25
"""Share of stream transfers that wait, where a seed asks for it."""

SHOWN_DIFFERENCES = 8


class _Recorder(GoldenEngine):
    """The golden machine, keeping what it was given."""

    def __init__(self, config: EngineConfig, total: int, progress: Progress) -> None:
        super().__init__(
            sbuf_bytes=config.sbuf_bytes,
            psum_bytes=config.psum_bytes,
            generation=config.generation,
        )
        self.steps: list[Step] = []
        self._total = total
        self._progress = progress

    def execute(self, step: Step) -> NDArray[np.uint8]:
        sbuf = super().execute(step)
        self.steps.append(step)
        self._progress("golden", len(self.steps), self._total)
        return sbuf


def run_main_job(
    workload: Workload,
    *,
    config: EngineConfig,
    mean_coupling: bool = True,
    on_engine: bool = True,
    seed: int = 0,
    waves: Path | None = None,
    progress: Progress = silent,
    run: Runner = run_steps,
) -> MainResult:
    """Run the backward pass of a layer on both sides and compare.

    Parameters
    ----------
    workload : Workload
        The layer.
    config : EngineConfig
        The engine; golden takes its memory sizes.
    mean_coupling, on_engine : bool
        See `dve_golden.batchnorm.backward`.
    seed : int
        If not 0, a quarter of the transfers on every stream are delayed, by pauses of this seed.
    waves : Path, optional
        Trace file. Where there are several runs, each has one: ``name.<k>.vcd``.
    progress : callable
        Told of steps ``golden``, ``export``, ``build`` and ``simulate``.
    run : callable
        Executes steps on the RTL.

    Raises
    ------
    ValueError
        If a partition of ``config`` holds no tile, or a rectifier is to be on the host.
    OverlapError
        If the host cannot place or read operands of a step beside the execution of another.
    CosimError
        If the simulator cannot be built or fails.
    """
    layer = workload.layer
    clock = _StepClock()
    steps = step_count(layer, config.sbuf_active_bytes, on_engine=on_engine)
    recorder = _Recorder(config, steps, progress)
    with clock.step("golden"):
        gradients, assembly = _golden(layer, recorder, mean_coupling, on_engine)
    with clock.step("reference"):
        exact = reference(layer)
        errors = _errors(layer, gradients, exact)
        framework = workload.framework
        framework_errors = {} if framework is None else _errors(layer, framework, exact)

    runs = [recorder.steps] if on_engine else [[step] for step in merge(recorder.steps)]
    machine = machine_of(config)
    total = sum(len(step.program) for step in recorder.steps) // RECORD_BYTES
    instructions: list[Executed] = []
    bits, shown, host = 0, [], HostCycles(0, 0, 0)
    for index, steps in enumerate(runs):
        done = len(instructions)
        start = time.perf_counter()
        result = run(
            steps,
            config=config,
            state=ArchState.copy_of(machine),
            seed=seed,
            gaps=GAPS if seed else 0.0,
            stalls=GAPS if seed else 0.0,
            waves=_waves_file(waves, index, len(runs)),
            progress=lambda step, at, of, done=done: (
                progress(step, done + at, total) if step == "simulate" else progress(step, at, of)
            ),
        )
        clock.add_run(time.perf_counter() - start, result)
        with clock.step("compare"):
            different, lines = _compare(steps, machine, result, index)
        bits += different
        shown += lines[: SHOWN_DIFFERENCES - len(shown)]
        assert result.traffic is not None
        host += result.traffic.cycles
        records = split_records(b"".join(step.program for step in steps))
        instructions += [
            Executed(index, record, int(reason), int(cycles))
            for record, reason, cycles in zip(records, result.reason, result.cycles, strict=True)
        ]
    return MainResult(
        workload=workload,
        config=config,
        mean_coupling=mean_coupling,
        on_engine=on_engine,
        seed=seed,
        gradients=gradients,
        errors=errors,
        framework_errors=framework_errors,
        instructions=instructions,
        assembly=assembly,
        host=host,
        elements=sum(step.elements for step in recorder.steps),
        differing_bits=bits,
        first_differences=shown,
        seconds=clock.seconds,
    )


def _golden(
    layer: Layer, recorder: _Recorder, mean_coupling: bool, on_engine: bool
) -> tuple[Gradients, str]:
    """The gradients, and the program that gave them as text."""
    if on_engine:
        job = EngineBackward(layer, recorder, mean_coupling=mean_coupling)
        return job.run(), job.program.assembly()
    gradients = host_backward(layer, recorder, mean_coupling=mean_coupling)
    program = b"".join(step.program for step in recorder.steps)
    return gradients, disassemble(program, recorder.generation)


class _StepClock:
    """Wall time by step, in the order in which the steps first ended."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._start = time.perf_counter()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._seconds[name] += time.perf_counter() - start

    def add_run(self, wall: float, result: RunResult) -> None:
        """Split the wall time of a simulator run; ``start`` is what its own figures leave."""
        timing = result.timing
        known = {"build": timing.build, "simulate": timing.simulate, "dump": timing.dump}
        for name, seconds in known.items():
            self._seconds[name] += seconds
        self._seconds["start"] += wall - sum(known.values())
        self._seconds["python"] += timing.python

    @property
    def seconds(self) -> dict[str, float]:
        return dict(self._seconds) | {"total": time.perf_counter() - self._start}


def _errors(layer: Layer, got: Gradients, exact: Gradients) -> dict[str, GradientErrors]:
    relative: RelativeErrors = relative_errors(layer, got, exact)
    formats = {"d_x": layer.dtype, "d_gamma": Dtype.FP32, "d_beta": Dtype.FP32}
    return {
        name: GradientErrors(
            dtype, ulp_error(getattr(got, name), getattr(exact, name), dtype), value
        )
        for (name, dtype), value in zip(formats.items(), relative, strict=True)
    }


def _compare(
    steps: Sequence[Step], machine: Machine, result: RunResult, batch: int
) -> tuple[int, list[str]]:
    """Run ``steps`` on golden as well: differing bits, and lines that name the first few."""
    expected: list[Completion] = []
    bits, lines = 0, []
    assert result.traffic is not None
    for number, (step, results) in enumerate(zip(steps, result.traffic.results, strict=True)):
        for image in step.images:
            image.place(machine.sbuf)
        expected += machine.run(step.program)
        for extent, got in zip(step.results, results, strict=True):
            wrong = int(np.bitwise_count(got ^ extent.of(machine.sbuf)).sum())
            if wrong:
                bits += wrong
                span = extent.span
                lines.append(
                    f"step {number}: {wrong} bits differ in what the host read of bytes "
                    f"{span.start} to {span.stop - 1} of partitions 0 to {extent.partitions - 1}"
                )
    for at, completion in enumerate(expected):
        got = int(result.opcode[at]), int(result.reason[at])
        wanted = completion.opcode, int(completion.reason)
        wrong = sum((a ^ b).bit_count() for a, b in zip(got, wanted, strict=True))
        if wrong:
            bits += wrong
            lines.append(
                f"completion {at}: got opcode {got[0]:#04x} reason {_reason(got[1])}, "
                f"expected opcode {wanted[0]:#04x} reason {_reason(wanted[1])}"
            )
    state_bits = differing_bits(result.state, machine)
    if state_bits:
        bits += state_bits
        found = differences(result.state, machine, limit=SHOWN_DIFFERENCES)
        lines += [str(difference) for difference in found]
    return bits, [f"batch {batch}: {line}" for line in lines]


def _reason(code: int) -> str:
    names = {int(reason): reason.name.lower() for reason in Reason}
    return f"{code} ({names.get(code, 'unknown')})"


def _waves_file(waves: Path | None, index: int, batches: int) -> Path | None:
    if waves is None or batches == 1:
        return waves
    return waves.with_suffix(f".{index}{waves.suffix}")
