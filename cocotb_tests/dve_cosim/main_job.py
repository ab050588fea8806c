"""The main job: one batch-norm backward pass on golden and on RTL, compared bit by bit.

The golden machine goes first, because the host needs its sums for the coefficients. What it was
given is recorded and handed to the RTL unchanged; whole states are compared after every batch.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from dve_golden.batchnorm import GoldenEngine, Gradients, Layer, backward, reference, step_count
from dve_golden.batchnorm.accuracy import RelativeErrors, relative_errors, ulp_error
from dve_golden.batchnorm.program import Step, merge
from dve_golden.isa.enums import RECORD_BYTES, Dtype, Opcode, Reason
from dve_golden.isa.notation import MNEMONICS
from dve_golden.machine import Machine
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.batchnorm_rtl import Runner
from dve_cosim.compare import differences, differing_bits
from dve_cosim.progress import Progress, silent
from dve_cosim.session import RunResult, run_program
from dve_cosim.state import ArchState

GAPS = 0.25
"""Share of stream transfers that wait, where a seed asks for it."""

SHOWN_DIFFERENCES = 8


@dataclass(frozen=True)
class Executed:
    """One instruction on the RTL.

    Parameters
    ----------
    batch : int
        Number of the simulator run.
    opcode : Opcode
    reason : int
        0 if executed.
    cycles : int
        Clock cycles since the later of its last beat and the previous completion.
    """

    batch: int
    opcode: Opcode
    reason: int
    cycles: int

    @property
    def name(self) -> str:
        return MNEMONICS[self.opcode]


@dataclass(frozen=True)
class GradientErrors:
    """Errors of one gradient against float64.

    Parameters
    ----------
    dtype : Dtype
        Format whose ulp is meant.
    ulp : float64 array
        One error per element.
    relative : float
        Largest error relative to its scale; see `dve_golden.batchnorm.accuracy`.
    """

    dtype: Dtype
    ulp: NDArray[np.float64]
    relative: float

    @property
    def max_ulp(self) -> float:
        return float(self.ulp.max())

    @property
    def p999_ulp(self) -> float:
        """The smallest error that at least 99.9 % of the elements do not exceed."""
        return float(np.quantile(self.ulp, 0.999, method="inverted_cdf"))


@dataclass(frozen=True)
class JobResult:
    """What the main job found.

    Parameters
    ----------
    config : EngineConfig
    shape : tuple of int
        Of x.
    dtype : Dtype
        Of x, dy and d_x.
    mean_coupling : bool
    seed : int
    gradients : Gradients
        As computed; golden's, which are the RTL's unless bits differ.
    errors : dict
        Errors by gradient.
    instructions : list of Executed
        In order.
    elements : int
        Elements through the datapath: channels times count of each GradAccum and BackProp.
    differing_bits : int
        Between the two whole states and completion lists, added over the batches; each batch
        starts from equal states.
    first_differences : list of str
        The first few, one line each.
    seconds : dict
        Wall time by step.
    """

    config: EngineConfig
    shape: tuple[int, ...]
    dtype: Dtype
    mean_coupling: bool
    seed: int
    gradients: Gradients
    errors: dict[str, GradientErrors]
    instructions: list[Executed]
    elements: int
    differing_bits: int
    first_differences: list[str]
    seconds: dict[str, float]

    @property
    def cycles(self) -> int:
        """Clock cycles of all instructions."""
        return sum(instruction.cycles for instruction in self.instructions)

    @property
    def elements_per_lane_cycle(self) -> float:
        """``elements`` over lanes times cycles, with every instruction's cycles: 1 is the peak.

        Idle lanes count: 1 channel on 8 lanes reaches 1/8 at most.
        """
        return self.elements / (self.config.lanes * self.cycles)


class _Recorder(GoldenEngine):
    """The golden machine, keeping what it was given."""

    def __init__(self, config: EngineConfig, total: int, progress: Progress) -> None:
        super().__init__(sbuf_bytes=config.sbuf_bytes, psum_bytes=config.psum_bytes)
        self.steps: list[Step] = []
        self._total = total
        self._progress = progress

    def execute(self, step: Step) -> NDArray[np.uint8]:
        sbuf = super().execute(step)
        self.steps.append(step)
        self._progress("golden", len(self.steps), self._total)
        return sbuf


def run_main_job(
    layer: Layer,
    *,
    config: EngineConfig,
    mean_coupling: bool = True,
    seed: int = 0,
    waves: Path | None = None,
    progress: Progress = silent,
    run: Runner = run_program,
) -> JobResult:
    """Run the backward pass of ``layer`` on both sides and compare.

    Parameters
    ----------
    layer : Layer
        Checked operands.
    config : EngineConfig
        The engine; golden takes its memory sizes.
    mean_coupling : bool
        See `dve_golden.batchnorm.backward`.
    seed : int
        If not 0, a quarter of the transfers on every stream are delayed, by pauses of this seed.
    waves : Path, optional
        Trace file. Where the operands need several batches, each has one: ``name.<k>.vcd``.
    progress : callable
        Told of steps ``golden``, ``export``, ``build`` and ``simulate``.
    run : callable
        Executes a program on the RTL.

    Raises
    ------
    ValueError
        If a partition of ``config`` holds no tile.
    CosimError
        If the simulator cannot be built or fails.
    """
    clock = _StepClock()
    recorder = _Recorder(config, step_count(layer, config.sbuf_active_bytes), progress)
    with clock.step("golden"):
        gradients = backward(**layer.arguments(), mean_coupling=mean_coupling, backend=recorder)
    with clock.step("reference"):
        exact = reference(layer)
        errors = _errors(layer, gradients, exact)

    batches = list(merge(recorder.steps))
    machine = Machine(sbuf_bytes=config.sbuf_bytes, psum_bytes=config.psum_bytes)
    total = sum(len(batch.program) for batch in batches) // RECORD_BYTES
    instructions: list[Executed] = []
    bits, shown = 0, []
    for index, batch in enumerate(batches):
        for image in batch.images:
            image.place(machine.sbuf)
        done = len(instructions)
        start = time.perf_counter()
        result = run(
            batch.program,
            config=config,
            state=ArchState.copy_of(machine),
            seed=seed,
            gaps=GAPS if seed else 0.0,
            stalls=GAPS if seed else 0.0,
            waves=_waves_file(waves, index, len(batches)),
            progress=lambda step, at, of, done=done: (
                progress(step, done + at, total) if step == "simulate" else progress(step, at, of)
            ),
        )
        clock.add_run(time.perf_counter() - start, result)
        with clock.step("compare"):
            different, lines = _compare(batch.program, machine, result, index)
        bits += different
        shown += lines[: SHOWN_DIFFERENCES - len(shown)]
        instructions += [
            Executed(index, Opcode(int(opcode)), int(reason), int(cycles))
            for opcode, reason, cycles in zip(
                batch.program[::RECORD_BYTES], result.reason, result.cycles, strict=True
            )
        ]
    return JobResult(
        config=config,
        shape=layer.x.shape,
        dtype=layer.dtype,
        mean_coupling=mean_coupling,
        seed=seed,
        gradients=gradients,
        errors=errors,
        instructions=instructions,
        elements=sum(batch.elements for batch in batches),
        differing_bits=bits,
        first_differences=shown,
        seconds=clock.seconds,
    )


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
    program: bytes, machine: Machine, result: RunResult, batch: int
) -> tuple[int, list[str]]:
    """Run ``program`` on golden as well: differing bits, and lines that name the first few."""
    expected = machine.run(program)
    bits, lines = 0, []
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
