"""One tensor of an instruction: a walk through a memory in a storage format."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.fp32.arithmetic import Floats
from dve_golden.isa.enums import Dtype
from dve_golden.memory.load import load
from dve_golden.memory.store import store
from dve_golden.memory.walk import Walk


@dataclass(frozen=True)
class Operand:
    """A source or destination of all active channels.

    Parameters
    ----------
    memory
        The bytes of its region, [128, active].
    walk
        Where its elements lie.
    dtype
        Their format.
    channels
        Active channels.
    """

    memory: NDArray[np.uint8]
    walk: Walk
    dtype: Dtype
    channels: int

    def read(self, first: int, last: int) -> Floats:
        """Load and widen ordinals ``first`` to ``last - 1``: [channels, last - first]."""
        return widen(load(self.memory, self.walk, self.channels, first, last), self.dtype)

    def read_all(self) -> Floats:
        """Load and widen every element: [channels, count]."""
        return self.read(0, self.walk.count)

    def write(self, first: int, values: Floats) -> None:
        """Narrow and store ``values`` [channels, ordinals], beginning at ordinal ``first``."""
        store(self.memory, self.walk, first, narrow(values, self.dtype))
