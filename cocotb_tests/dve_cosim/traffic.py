"""When host and engine worked, from the clocks of their transfers and completions."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class HostCycles(NamedTuple):
    """Clocks of a run in which host and engine work side by side.

    Parameters
    ----------
    transfer : int
        That the host port needs for its words if nothing is in their way.
    hidden : int
        Of transfers beside instructions: what the total is shorter than one after the other. With
        pauses on the streams, at least that.
    total : int
        From the first transfer or instruction to the last.
    """

    transfer: int
    hidden: int
    total: int

    def __add__(self, other: tuple) -> "HostCycles":  # type: ignore[override]
        """Of two runs, one after the other."""
        return HostCycles(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class HostTraffic:
    """What the host did in a run.

    Parameters
    ----------
    writes, reads : int64 [steps, 2]
        First clock of the transfers before and after each step's program, and the one behind the
        last.
    executed : int64 [instructions, 2]
        The same of every instruction.
    clocks : int
        That the transfers need if nothing is in their way.
    results : list of list of uint8 [partitions, bytes]
        What was read after each step.
    """

    writes: NDArray[np.int64]
    reads: NDArray[np.int64]
    executed: NDArray[np.int64]
    clocks: int
    results: list[list[NDArray[np.uint8]]]

    @property
    def cycles(self) -> HostCycles:
        every = np.concatenate([self.writes, self.reads, self.executed])
        total = int(every[:, 1].max() - every[:, 0].min())
        apart = self.clocks + int(np.diff(self.executed).sum())
        return HostCycles(transfer=self.clocks, hidden=max(0, apart - total), total=total)

    def executing(self, span: NDArray[np.int64]) -> int:
        """Clocks of a span in which an instruction executes."""
        shared = np.minimum(self.executed[:, 1], span[1]) - np.maximum(self.executed[:, 0], span[0])
        return int(np.maximum(shared, 0).sum())


def execution_spans(
    completed: NDArray[np.integer], cycles: NDArray[np.integer]
) -> NDArray[np.int64]:
    """First clock of each instruction, and the one behind its last, int64 [instructions, 2].

    ``completed`` is when its completion was received. A completion that was held back may be
    received after the next instruction began; that one counts from there on.
    """
    ends = completed.astype(np.int64)
    before = np.concatenate([[0], ends[:-1]])[: len(ends)]
    return np.stack([np.maximum(ends - cycles.astype(np.int64), before), ends], axis=1)
