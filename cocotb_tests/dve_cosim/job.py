"""What passes between the two sides of a run: files in one directory, its working directory.

The parent writes ``job.json``, ``program_<k>.bin`` and, for a program that does not go on from the
state before it, a ``state_<k>`` directory with ``state.npz`` and the memory images. The simulator
writes one ``batch_<k>`` directory after each program, complete when it appears, and counts
completions in ``progress``. If programs are steps, ``transfers_<k>.npz`` holds what the host moves
around each, and there is one batch for all of them.

A live job has no programs yet. The parent makes a ``step_<k>`` directory with a program and its
transfers, complete when it appears, whenever it knows the next one; the answer is ``batch_<k>``,
without memory images. The parent ends the simulator.
"""

import json
import mmap
import struct
from dataclasses import asdict, dataclass
from pathlib import Path

from dve_golden.isa.generations import Generation
from dve_rtl.config import EngineConfig
from dve_rtl.target import Target

JOB = "job.json"
STATE = "state.npz"
FAILURE = "failure.txt"
WAITING = "waiting.txt"
"""Names the instruction whose wait has not come true, and what it waits for."""

RESULT = "result.npz"
RESULTS_XML = "results.xml"

PROGRAM = "program.bin"
TRANSFERS = "transfers.npz"
"""What a ``step_<k>`` directory of a live job holds."""

MAX_PENDING = 8
"""Finished batches that may wait for their reader; then the simulator waits (disk space)."""


@dataclass(frozen=True)
class Job:
    """A run.

    Parameters
    ----------
    config : EngineConfig
        The engine.
    programs : int
        Number of programs, executed one after the other on persistent state.
    seed : int
        Of the pauses.
    gaps, stalls : float
        Share of transfers that are held back, on streams into and out of the engine.
    most_cycles : int
        No instruction may take longer, whatever its counts; 0 for no such limit.
    side_by_side : bool
        Whether the programs are steps, with transfers of the host beside them.
    live : bool
        Whether steps come one by one while the simulator runs.
    """

    config: EngineConfig
    programs: int
    seed: int
    gaps: float
    stalls: float
    most_cycles: int = 0
    side_by_side: bool = False
    live: bool = False

    @property
    def batches(self) -> int:
        """How many the simulator writes."""
        return 1 if self.side_by_side else self.programs

    def save(self, folder: Path) -> None:
        """Write ``job.json``."""
        (folder / JOB).write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, folder: Path) -> "Job":
        """Read ``job.json``."""
        values = json.loads((folder / JOB).read_text())
        config = values["config"]
        config["generation"] = Generation(config["generation"])
        config["target"] = Target(config["target"])
        return cls(**values | {"config": EngineConfig(**config)})


def program_file(index: int) -> str:
    """Name of a program's file."""
    return f"program_{index}.bin"


def transfers_file(index: int) -> str:
    """Name of the file that says what the host moves around a program."""
    return f"transfers_{index}.npz"


def step_folder(index: int) -> str:
    """Name of the directory that holds a step of a live job."""
    return f"step_{index}"


def state_folder(index: int) -> str:
    """Name of the directory that holds the state to load before a program."""
    return f"state_{index}"


def batch_folder(index: int) -> str:
    """Name of the directory that holds what a program left behind."""
    return f"batch_{index}"


def pending_batches(folder: Path) -> int:
    """Number of finished batches that nobody has read yet."""
    return sum(1 for _ in folder.glob("batch_*"))


class Counter:
    """A count in a file that one process writes and another reads, at the cost of a store."""

    _FORMAT = struct.Struct("<Q")

    def __init__(self, folder: Path) -> None:
        path = folder / "progress"
        if not path.exists():
            path.write_bytes(bytes(self._FORMAT.size))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), self._FORMAT.size)

    @property
    def value(self) -> int:
        """The count."""
        return self._FORMAT.unpack_from(self._bytes)[0]

    @value.setter
    def value(self, count: int) -> None:
        self._FORMAT.pack_into(self._bytes, 0, count)

    def close(self) -> None:
        """Release the file."""
        self._bytes.close()
