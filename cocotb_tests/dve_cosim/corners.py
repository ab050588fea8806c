"""Legal programs of bounded work, further into the corners than `TensorGenerator` goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from dve_golden.isa.enums import Opcode
from dve_golden.memory.address import Geometry

from dve_cosim.crossing import Crossing
from dve_cosim.tensor_generator import TensorGenerator
from dve_cosim.workloads import work_of

MOST_WORK = 4096
"""Elements times channels of a program."""

LONGEST = 0xFFFF
"""Elements of a long instruction, on one channel: the largest count of a dimension."""

_TRANSPOSED = 32
"""Least channels, and least elements, of a TransposeStats2."""

_SMALLEST_WORK = _TRANSPOSED * _TRANSPOSED
"""What an instruction can ask for whatever its number of channels, and an opcode."""

_FAR_STEPS = (-0x8000, 0x7FFF, -0x4000, 0x4000)
"""Steps of a dimension that is not walked; what they would reach is in no memory."""


@dataclass(frozen=True)
class Slot:
    """A legal record, and whether another one takes its place."""

    record: bytes
    is_altered: bool


_SHARE_AIMED = 0.4
"""Of the records that stay legal: those that are what the next crossing wants."""


class CornerGenerator(TensorGenerator):
    """Legal programs; see `TensorGenerator`.

    On top of it: all that the work allows in one dimension; the steps that cross the whole
    partition, extreme steps of dimensions of count 1, and every crossing in turn.

    Parameters
    ----------
    rng, geometry, registers
        As for `OperandGenerator`.
    aims : iterator of Crossing
        What instructions shall be, one after the other.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        geometry: Geometry,
        registers: np.ndarray,
        *,
        aims: Iterator[Crossing],
    ):
        super().__init__(rng, geometry, registers)
        self._aims = aims
        self._left = 0
        self._channels_chosen = 1

    def slots(self, instructions: int, *, altered: float) -> list[Slot]:
        """At most ``instructions`` records, of no more than `MOST_WORK` together.

        Parameters
        ----------
        instructions : int
        altered : float
            Share of the records that the caller will put others in the place of.
        """
        self._left = MOST_WORK
        slots = []
        while len(slots) < instructions and self._left >= _SMALLEST_WORK:
            slot = self._slot(is_altered=bool(self.rng.random() < altered))
            self._left -= work_of(slot.record)
            slots.append(slot)
        return slots

    def _slot(self, *, is_altered: bool) -> Slot:
        if not is_altered and self.rng.random() < _SHARE_AIMED:
            aim = next(self._aims, None)
            if aim is not None:
                return Slot(self.legal(lambda: self.aimed(aim)), is_altered)
        return Slot(self.program(1), is_altered)

    def long_program(self) -> bytes:
        """One instruction of `LONGEST` elements in one dimension, on one channel."""
        self._left = LONGEST
        makers = (
            *(self.grad_accumulate, self.grad_accumulate2, self.back_prop, self.arithmetic),
            *(self.bit_vector, self.copy_predicated, self.cast_predicated),
            lambda: self.statistics(self._any_crossing(Opcode.BATCH_NORM_AGGREGATE)),
        )
        while True:
            record = self.legal(self.pick(makers))
            if work_of(record) == LONGEST:
                return record

    def tensors(self, crossing: Crossing) -> bytes:
        if self._is_long:  # too many elements to choose places that meet in a given way
            crossing = replace(crossing, aliasing={})
        return super().tensors(crossing)

    @property
    def _is_long(self) -> bool:
        return self._left == LONGEST

    def _channels(self) -> int:
        self._channels_chosen = 1 if self._is_long else super()._channels()
        return self._channels_chosen

    def statistics(self, crossing: Crossing) -> bytes:
        if self._is_long:
            crossing = replace(crossing, aliasing={})
        return super().statistics(crossing)

    def _transposed_channels(self) -> int:
        quadrants = min(4, self._left // _TRANSPOSED**2)
        self._channels_chosen = _TRANSPOSED * (1 + self.below(quadrants))
        return self._channels_chosen

    def _counts(self) -> tuple[int, int, int]:
        most = self._left // self._channels_chosen
        if self._is_long or self.rng.random() < 0.08:
            return self._along_one_dimension(most)
        self.max_elements = most
        return super()._counts()

    def _along_one_dimension(self, count: int) -> tuple[int, int, int]:
        counts = [1, 1, 1]
        counts[self.below(3)] = count
        return counts[0], counts[1], counts[2]

    def _step(self, count: int) -> int:
        across = min(self.geometry.sbuf_active // 4 - 1, 0x7FFF)
        if count == 1:
            return self.pick((*_FAR_STEPS, super()._step(count), super()._step(count)))
        if count == 2 and self.rng.random() < 0.2:
            return self.pick((across, -across))
        if count > self.geometry.sbuf_active:  # any other step leaves the partition
            return 0
        return super()._step(count)
