"""The cocotb side of a run: executes a `Job` inside the simulator."""

import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import Any

import cocotb
import numpy as np
from cocotb._gpi_triggers import GPITrigger  # for PythonTime only
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, Timer, with_timeout
from dve_golden.fp32.reciprocal import reset_parameter_ram
from dve_golden.frontend.sync import Awaited, awaited
from dve_golden.isa.control import RESET_CONTROL
from dve_golden.isa.enums import MAX_CHANNELS, RECORD_BYTES, Opcode, WaitMode
from dve_golden.isa.notation import MNEMONICS

from dve_cosim.driver import (
    NO_PAUSES,
    CompletionSink,
    HostPort,
    Pauses,
    RecordSource,
    RegisterPort,
    SyncPort,
    random_pauses,
)
from dve_cosim.engine import waiting_packing
from dve_cosim.job import (
    FAILURE,
    MAX_PENDING,
    PROGRAM,
    RESULT,
    STATE,
    TRANSFERS,
    WAITING,
    Counter,
    Job,
    batch_folder,
    pending_batches,
    program_file,
    state_folder,
    step_folder,
    transfers_file,
)
from dve_cosim.side_by_side import LoadedStep, SideBySide
from dve_cosim.state import SHAPES
from dve_cosim.transfers import Transfers
from dve_cosim.watchdog import HOST_CYCLES, cycle_budget
from dve_cosim.wrapper import IMAGES

PERIOD = 10
"""Simulator steps, nanoseconds, of a clock cycle; even."""


_CYCLES_PER_BYTE = 64
"""Above what the host port takes for a byte, with back-pressure and one lane."""

_LOOK_SECONDS = 0.001
"""Between two looks for the next step of a live job."""


class PythonTime:
    """Wall time spent in Python since the simulator started.

    Everything that cocotb does in Python happens under the callback of a trigger.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        react: Callable[[GPITrigger], None] = GPITrigger._react

        def timed(trigger: GPITrigger) -> None:
            start = time.perf_counter()
            react(trigger)
            self.seconds += time.perf_counter() - start

        GPITrigger._react = timed  # type: ignore[method-assign]


class Failure(Exception):
    """The engine has stopped answering, or answers what nobody asked."""


class Session:
    """The running engine with its endpoints."""

    def __init__(self, dut: Any, job: Job, folder: Path) -> None:
        def gaps(stream: str) -> Pauses:
            return self._pauses(f"{job.seed} {stream}", job.gaps)

        def stalls(stream: str) -> Pauses:
            return self._pauses(f"{job.seed} {stream}", job.stalls)

        self._dut = dut
        self._config = job.config
        self._folder = folder
        self._most_cycles = job.most_cycles
        self._python = PythonTime()
        self._counter = Counter(folder)
        self._sequence = 0
        self._held = {
            "lane_state": np.zeros(SHAPES["lane_state"], np.float32),
            "parameter_ram": reset_parameter_ram(),
            "registers": np.zeros(SHAPES["registers"], np.uint32),
            "semaphores": np.zeros(SHAPES["semaphores"], np.uint32),
            "events": np.zeros(SHAPES["events"], np.uint8),
            "control": RESET_CONTROL[job.config.generation].words,
        }
        self._records = RecordSource(dut, job.config, pauses=gaps("instruction"))
        self._completions = CompletionSink(dut, pauses=stalls("completion"))
        self._host = HostPort(
            dut,
            job.config,
            request_pauses=gaps("host_request"),
            response_pauses=stalls("host_response"),
        )
        self._registers = RegisterPort(
            dut,
            request_pauses=gaps("register_request"),
            response_pauses=stalls("register_response"),
        )
        self._sync = SyncPort(
            dut,
            request_pauses=gaps("sync_request"),
            response_pauses=stalls("sync_response"),
        )

    @staticmethod
    def _pauses(seed: str, share: float) -> Pauses:
        return random_pauses(seed, share=share) if share else NO_PAUSES

    async def start(self) -> None:
        """Reset."""
        dut = self._dut
        dut.image_load.value = dut.image_dump.value = 0
        dut.rst.value = 1
        Clock(dut.clk, PERIOD, unit="step").start(start_high=False)
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0

    async def load(self, index: int) -> None:
        """Load the state that belongs before a program, if there is one."""
        await self._soon(self._load(index), "loading of the state")

    async def _load(self, index: int) -> None:
        source = self._folder / state_folder(index)
        if not source.is_dir():
            return
        for name in IMAGES:
            image = f"{name}.in"
            if (source / image).exists():
                (source / image).rename(self._folder / image)
        await self._pulse(self._dut.image_load)
        with np.load(source / STATE) as state:
            wanted, held = dict(state), self._held
        await self._host.write_lane_state(wanted["lane_state"], held=held["lane_state"])
        await self._host.write_parameter_ram(wanted["parameter_ram"], held=held["parameter_ram"])
        await self._registers.write_all(wanted["registers"], held=held["registers"])
        await self._sync.write_semaphores(wanted["semaphores"], held=held["semaphores"])
        await self._sync.write_events(wanted["events"], held=held["events"])
        await self._host.write_control(wanted["control"], held=held["control"])

    async def execute(self, index: int) -> None:
        """Run one program and write what it leaves behind."""
        program = self._program(index)

        async def work() -> tuple[np.ndarray, dict[str, np.ndarray]]:
            cocotb.start_soon(self._records.send(program))
            return await self._complete(program), {}

        await self._measured(index, work())

    async def execute_steps(self, number: int) -> None:
        """Run all programs with the transfers of the host beside them, as one batch."""
        steps = [
            LoadedStep(self._program(k), Transfers.load(self._folder / transfers_file(k)))
            for k in range(number)
        ]
        await self._measured(0, self._side_by_side(steps))

    async def serve(self) -> None:
        """Run steps as they come, each a batch of its own, until the parent ends this process."""
        for index in count():
            source = self._folder / step_folder(index)
            while not source.is_dir():
                time.sleep(_LOOK_SECONDS)
            transfers = Transfers.load(source / TRANSFERS)
            step = LoadedStep((source / PROGRAM).read_bytes(), transfers)
            rmtree(source)
            await self._measured(index, self._side_by_side([step]), state=False)

    async def _side_by_side(
        self, steps: Sequence[LoadedStep]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        both = SideBySide(
            self._host,
            self._records,
            self._config.lanes,
            complete=self._complete,
            now=self._clock,
        )

        async def within(work: Awaitable[None], what: str, number: int) -> None:
            # An instruction may keep the host out for as long as it lasts.
            neighbours = steps[max(number - 1, 0) : number + 2]
            beside = sum(self._budget(step.program) for step in neighbours)
            transfers = steps[number].transfers
            size = sum(image.data.size for image in transfers.images)
            size += sum(extent.partitions * len(extent.span) for extent in transfers.results)
            await self._soon(work, f"{what} of step {number}", beside + _CYCLES_PER_BYTE * size)

        return await both.run(steps, within)

    def _program(self, index: int) -> bytes:
        return (self._folder / program_file(index)).read_bytes()

    def _budget(self, program: bytes) -> int:
        starts = range(0, len(program), RECORD_BYTES)
        return sum(cycle_budget(program[at : at + RECORD_BYTES], self._config) for at in starts)

    def _clock(self) -> int:
        return get_sim_time("step") // PERIOD

    async def _complete(self, program: bytes) -> np.ndarray:
        """Opcode, reason, cycles and clock of every completion of a program that is offered."""
        completions = np.zeros((len(program) // RECORD_BYTES, 4), np.uint32)
        watchdog = cocotb.start_soon(self._watch(program, self._sequence))
        for row in completions:
            completion = await self._completions.receive()
            if completion.sequence != self._sequence:
                raise self._failure(
                    f"completion {completion.sequence} came where {self._sequence} was due"
                )
            row[:] = completion.opcode, completion.reason, completion.cycles, self._clock()
            self._sequence += 1
            self._counter.value = self._sequence
        watchdog.cancel()
        return completions

    async def _measured(
        self,
        index: int,
        work: Coroutine[Any, Any, tuple[np.ndarray, dict[str, np.ndarray]]],
        *,
        state: bool = True,
    ) -> None:
        """Await completions and what else the work found; write both, and the state, as a batch."""
        python, start, first = self._python.seconds, time.perf_counter(), self._clock()
        completions, found = await work
        await self._soon(self._idle(), "return to idle")
        simulated = time.perf_counter()
        # Python time of the wake-up that we are in is counted at its end: at most one is missed.
        seconds = {
            "simulate_seconds": simulated - start,
            "python_seconds": self._python.seconds - python,
            "simulated_cycles": self._clock() - first,
        }
        figures = {"completions": completions, **seconds, **found}
        target = self._folder / batch_folder(index)
        draft = target.with_suffix(".draft")
        draft.mkdir()
        if state:
            await self._soon(self._dump(draft), "reading of the state")
            figures |= self._held | {"dump_seconds": time.perf_counter() - simulated}
        np.savez(draft / RESULT, **figures, allow_pickle=False)
        draft.rename(target)

    async def _idle(self) -> None:
        while not self._dut.idle.value:
            await RisingEdge(self._dut.idle)

    async def _soon(self, work: Awaitable[None], what: str, more: int = 0) -> None:
        """Fail if the work takes longer than any engine that answers needs for it."""
        cycles = HOST_CYCLES + more
        try:
            await with_timeout(work, cycles * PERIOD, "step")
        except SimTimeoutError:
            raise self._failure(f"{what} did not end within {cycles} cycles") from None

    async def _dump(self, draft: Path) -> None:
        """Read the whole state: the memories as files in ``draft``, the rest into our hands."""
        await self._pulse(self._dut.image_dump)
        row_bytes = (self._config.sbuf_bytes, self._config.psum_bytes)
        for name, size in zip(IMAGES, row_bytes, strict=True):
            image = self._folder / f"{name}.out"
            if image.stat().st_size != MAX_CHANNELS * size:  # Verilog does not notice a full disk
                raise Failure(f"{image.name} is not complete; is there room for it?")
            image.rename(draft / image.name)
        self._held = {
            "registers": await self._registers.read_all(),
            "parameter_ram": await self._host.read_parameter_ram(),
            "lane_state": await self._host.read_lane_state(),
            "semaphores": await self._sync.read_semaphores(),
            "events": await self._sync.read_events(),
            "control": await self._host.read_control(),
        }

    async def _pulse(self, signal: Any) -> None:
        """Raise an image request between two clock edges."""
        signal.value = 1
        await RisingEdge(self._dut.clk)
        signal.value = 0
        await RisingEdge(self._dut.clk)

    def _failure(self, message: str) -> Failure:
        """Leave the message to the parent; a task's exception ends the run without our help."""
        (self._folder / FAILURE).write_text(message)
        return Failure(message)

    def _waiting_for(self) -> Awaited | None:
        """The wait that holds the engine up, if one does."""
        status = waiting_packing().unpack(self._dut.waiting.value.to_unsigned())
        if not status["active"]:
            return None
        return awaited(WaitMode(status["mode"]), status["index"], status["threshold"])

    async def _watch(self, program: bytes, first: int) -> None:
        """Fail when an instruction has taken longer than its budget; wakes once per budget."""
        while (at := self._sequence - first) * RECORD_BYTES < len(program):
            record = program[at * RECORD_BYTES :][:RECORD_BYTES]
            budget = cycle_budget(record, self._config)
            budget = min(budget, self._most_cycles or budget)
            await Timer(budget * PERIOD, unit="step")
            if self._sequence - first == at:
                if waiting := self._waiting_for():
                    name = MNEMONICS[Opcode(record[0])]  # no other one waits
                    message = f"instruction {at} ({name}) waits for {waiting}; {waiting.remedy}"
                    (self._folder / WAITING).write_text(message)
                    raise Failure(message)
                raise self._failure(
                    f"instruction {at} (opcode {record[0]:#04x}) did not complete "
                    f"within {budget} cycles"
                )


@cocotb.test()
async def run_job(dut: Any) -> None:
    """Execute the job in the working directory."""
    folder = Path.cwd()
    job = Job.load(folder)
    session = Session(dut, job, folder)
    await session.start()
    if job.live:
        await session.serve()
        return
    if job.side_by_side:
        await session.load(0)
        await session.execute_steps(job.programs)
        return
    for index in range(job.programs):
        while pending_batches(folder) >= MAX_PENDING:
            time.sleep(0.01)
        await session.load(index)
        await session.execute(index)
