"""Legal programs of bounded work, further into the corners than `ProgramGenerator` goes."""

from __future__ import annotations

import numpy as np
from dve_golden.isa.enums import MAX_CHANNELS
from dve_golden.memory.address import Geometry

from dve_cosim.generator import ProgramGenerator
from dve_cosim.workloads import work_of

MOST_WORK = 4096
"""Elements times channels of a program."""

LONGEST = 0xFFFF
"""Elements of a long instruction, on one channel: the largest count of a dimension."""

_SMALLEST_WORK = 3 * MAX_CHANNELS
"""What an instruction can ask for that does not choose its counts: three per channel."""

_FAR_STEPS = (-0x8000, 0x7FFF, -0x4000, 0x4000)
"""Steps of a dimension that is not walked; what they would reach is in no memory."""


class CornerGenerator(ProgramGenerator):
    """Legal programs; see `ProgramGenerator`.

    On top of it: one element, or all that the work allows in one dimension; the steps that cross
    the whole partition, and extreme steps of dimensions of count 1.
    """

    def __init__(self, rng: np.random.Generator, geometry: Geometry, registers: np.ndarray):
        super().__init__(rng, geometry, registers)
        self._left = 0
        self._channels_chosen = 1

    def program(self, instructions: int) -> bytes:
        """At most ``instructions`` records, of no more than `MOST_WORK` together."""
        self._left = MOST_WORK
        records = []
        while len(records) < instructions and self._left >= _SMALLEST_WORK:
            record = super().program(1)
            self._left -= work_of(record)
            records.append(record)
        return b"".join(records)

    def long_program(self) -> bytes:
        """One instruction of `LONGEST` elements in one dimension, on one channel."""
        self._left = LONGEST
        makers = (self.grad_accumulate, self.grad_accumulate2, self.back_prop)
        while True:
            record = self._legal(self._pick(makers))
            if work_of(record) == LONGEST:
                return record

    @property
    def _is_long(self) -> bool:
        return self._left == LONGEST

    def _channels(self) -> int:
        self._channels_chosen = 1 if self._is_long else super()._channels()
        return self._channels_chosen

    def _counts(self) -> tuple[int, int, int]:
        most = self._left // self._channels_chosen
        style = self.rng.random()
        if self._is_long or style < 0.08:
            return self._along_one_dimension(most)
        if style < 0.3:
            return 1, 1, 1
        self.max_elements = most
        return super()._counts()

    def _along_one_dimension(self, count: int) -> tuple[int, int, int]:
        counts = [1, 1, 1]
        counts[self._below(3)] = count
        return counts[0], counts[1], counts[2]

    def _step(self, count: int) -> int:
        across = self.geometry.sbuf_active // 4 - 1
        if count == 1:
            return self._pick((*_FAR_STEPS, super()._step(count), super()._step(count)))
        if count == 2 and self.rng.random() < 0.2:
            return self._pick((across, -across))
        if count > self.geometry.sbuf_active:  # any other step leaves the partition
            return 0
        return super()._step(count)
