"""Random legal operands: walks, pointers and the registers that hold them."""

from __future__ import annotations

from collections import deque

import numpy as np
from dve_golden.isa.codec import Fields
from dve_golden.isa.enums import DTYPE_BYTES, MAX_CHANNELS, REGISTERS, Dtype, ImmSrc
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import Geometry
from numpy.typing import NDArray

from dve_cosim.places import Place, address_of, has_psum, place_of

REGISTER_WORD = 0x80000000
"""Marks an address word whose low byte is the number of a register."""

_IGNORED_BITS = 0x1F00_0000
"""Of such a word, on every generation but sunda (isa_common.md 3.1)."""

_RECENT = 4
"""Destinations that later operands like to read."""

_CHANNELS = (1, 2, 31, 32, 33, 63, 64, 65, 127, MAX_CHANNELS)
"""The ends of quadrants, and one beyond."""

_QUADRANT = 32
"""Channels that may start anywhere."""


class OperandGenerator:
    """Makes operands that are legal on their own; fills address registers as it needs them.

    Parameters
    ----------
    rng : numpy.random.Generator
    geometry : Geometry
        Memories of the machine that the operands are for.
    registers : uint32 [64]
        Written when an operand is addressed through a register.
    max_elements : int
        Largest number of elements per channel.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        geometry: Geometry,
        registers: NDArray[np.uint32],
        *,
        max_elements: int = 64,
    ):
        self.rng = rng
        self.geometry = geometry
        self.registers = registers
        self.max_elements = max_elements
        self._next_register = 0
        self._recent: deque[Place] = deque(maxlen=_RECENT)

    @property
    def registers_used(self) -> int:
        """How many of the first registers hold what instructions address with."""
        return self._next_register

    # memories

    def in_psum(self, share: float) -> bool:
        """True for a share of the calls, if the generation has that memory."""
        return has_psum(self.geometry.generation) and self.rng.random() < share

    def room(self, psum: bool) -> int:
        """Bytes of a partition."""
        return self.geometry.psum_active if psum else self.geometry.sbuf_active

    def partition(self, channels: int) -> int:
        """A legal first partition."""
        return self.pick(_starts(channels))

    def wrote(self, place: Place) -> None:
        """Note a destination, so that later operands meet it."""
        self._recent.append(place)

    # operands

    def walk(self, name: str, partition, counts, dtype: Dtype, *, psum: bool) -> Fields:
        """The fields of a walk with these counts that stays in its partition."""
        size = DTYPE_BYTES[dtype]
        while True:
            steps = tuple(self._step(count) for count in counts)
            low = size * sum(min(0, (n - 1) * s) for n, s in zip(counts, steps, strict=True))
            high = size * sum(max(0, (n - 1) * s) for n, s in zip(counts, steps, strict=True))
            if high - low + size <= self.room(psum):
                break
        place = Place(psum, partition, self._offset(-low, high + size, size, psum=psum))
        return self.pattern(name, place, steps, counts)

    def pattern(self, name: str, start: Place, steps, counts) -> Fields:
        """The fields of a given walk; the address may go through a register."""
        if name == "dst":
            self.wrote(start)
        word = address_of(start, self.geometry.generation)
        return {
            f"{name}.start_addr": self.maybe_register(word),
            f"{name}.step_elem": tuple(steps),
            f"{name}.num_elem": tuple(counts),
        }

    def contiguous(self, elements: int, dtype: Dtype) -> int:
        """Address word of elements in a row, in one partition."""
        size, psum = DTYPE_BYTES[dtype], self.in_psum(0.25)
        psum = psum and elements * size <= self.room(True)
        offset = self._offset(0, elements * size, size, psum=psum)
        place = Place(psum, self.partition(1), offset)
        return self.maybe_register(address_of(place, self.geometry.generation))

    def pointer(self, channels: int, dtype: Dtype) -> int:
        """Address of an immediate."""
        size, psum = DTYPE_BYTES[dtype], self.in_psum(0.25)
        place = Place(psum, self.partition(channels), self._offset(0, size, size, psum=psum))
        return address_of(place, self.geometry.generation)

    def pointer_source(
        self, channels: int, dtype: Dtype, direct: tuple[ImmSrc, ...]
    ) -> tuple[ImmSrc, int]:
        """An immediate as selector and word: a pointer in a register, or one of ``direct``."""
        pointer = self.pointer(channels, dtype)
        if self.rng.random() < 0.25:
            found = self._holding(channels, DTYPE_BYTES[dtype])
            if found is not None and (self.rng.random() < 0.5 or not self._has_free_register):
                return ImmSrc.REGISTER, found
            if self._has_free_register:
                return ImmSrc.REGISTER, self._register(pointer)
        return self.pick(direct), pointer

    def maybe_register(self, address: int) -> int:
        """An address word for an address, sometimes by way of a register."""
        if self.rng.random() >= 0.1:
            return address
        (equal,) = np.nonzero(self.registers[: self._next_register] == address)
        if equal.size:
            register = int(equal[0])
        elif self._has_free_register:
            register = self._register(address)
        else:
            return address
        ignored = self.geometry.generation is not Generation.SUNDA and self.rng.random() < 0.5
        noise = int(self.rng.integers(1 << 32)) & _IGNORED_BITS if ignored else 0
        return REGISTER_WORD | noise | register

    def _offset(self, before: int, after: int, size: int, *, psum: bool) -> int:
        """An aligned byte with ``before`` bytes below it and ``after`` bytes from it on."""
        lowest, highest = -(-before // size), (self.room(psum) - after) // size
        # Both ends of the room are corners: a walk that begins at byte 0, one that ends the row.
        anywhere = int(self.rng.integers(lowest, highest + 1))
        slot = self.pick((lowest, highest, anywhere, anywhere))
        if self._recent and self.rng.random() < 0.25:
            recent = self.pick(self._recent)
            if recent.psum == psum:
                slot = min(max(recent.offset // size, lowest), highest)
        return slot * size

    # registers

    @property
    def _has_free_register(self) -> bool:
        return self._next_register < REGISTERS

    def _register(self, value: int) -> int:
        register = self._next_register
        self.registers[register] = value
        self._next_register += 1
        return register

    def _holding(self, channels: int, size: int) -> int | None:
        """A register that already holds where an immediate may lie."""
        for register in self.rng.permutation(self._next_register)[:8]:
            place = place_of(int(self.registers[register]), self.geometry.generation)
            if place.partition in _starts(channels) and place.offset % size == 0:
                return int(register)
        return None

    # numbers

    def _channels(self) -> int:
        few, any_number = 1 + self.below(_QUADRANT), 1 + self.below(MAX_CHANNELS)
        return self.pick((*_CHANNELS, few, few, few, any_number, any_number, any_number))

    def _counts(self) -> tuple[int, int, int]:
        while True:
            x, y, z = (int(n) for n in self.rng.integers(1, 1 + self.pick((1, 2, 4, 9, 24)), 3))
            if x * y * z <= self.max_elements:
                return x, y, z

    def reshaped(self, counts) -> tuple[int, ...]:
        """The same product in another shape, because ordinals are matched, not shapes."""
        total = int(np.prod(counts))
        divisors = [d for d in range(1, total + 1) if total % d == 0]
        inner = self.pick(divisors)
        middle = self.pick([d for d in divisors if (total // inner) % d == 0])
        return inner, middle, total // inner // middle

    def _step(self, count: int) -> int:
        if count == 1 and self.rng.random() < 0.3:
            return int(self.rng.integers(-(1 << 15), 1 << 15))
        return self.pick((1, 1, -1, 0, 2, -2, 3, int(self.rng.integers(-8, 9))))

    def below(self, limit: int) -> int:
        """0 to ``limit`` - 1."""
        return int(self.rng.integers(limit))

    def pick(self, options):
        """One of a sequence."""
        return options[self.below(len(options))]


def _starts(channels: int) -> tuple[int, ...]:
    if channels <= _QUADRANT:
        return 0, 32, 64, 96
    return (0, 64) if channels <= 64 else (0,)
