"""One tensor of an instruction: a walk through a memory in a storage format."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.fp32.arithmetic import Floats
from dve_golden.isa.control import Control
from dve_golden.isa.enums import Dtype
from dve_golden.memory.load import load
from dve_golden.memory.store import store
from dve_golden.memory.walk import Walk

Patterns = NDArray[np.unsignedinteger]
Truth = NDArray[np.bool_]


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
    control
        What the converters do where the format leaves it open.
    """

    memory: NDArray[np.uint8]
    walk: Walk
    dtype: Dtype
    channels: int
    control: Control

    def read(self, first: int, last: int) -> Floats:
        """Load and widen ordinals ``first`` to ``last - 1``: [channels, last - first]."""
        raw = load(self.memory, self.walk, self.channels, first, last)
        return widen(raw, self.dtype, self.control)

    def read_all(self) -> Floats:
        """Load and widen every element: [channels, count]."""
        return self.read(0, self.walk.count)

    def read_raw(self, first: int, last: int) -> Patterns:
        """The bit patterns of the same elements, past the converter; as of `load`."""
        return load(self.memory, self.walk, self.channels, first, last)

    def write(self, first: int, values: Floats, where: Truth | None = None) -> None:
        """Narrow and store ``values`` [channels, ordinals], beginning at ordinal ``first``.

        With ``where``, of the same shape, only the elements for which it holds.
        """
        self.write_raw(first, narrow(values, self.dtype, self.control), where)

    def write_raw(self, first: int, raw: Patterns, where: Truth | None = None) -> None:
        """Store bit patterns past the converter; otherwise as `write`."""
        store(self.memory, self.walk, first, raw, where)
