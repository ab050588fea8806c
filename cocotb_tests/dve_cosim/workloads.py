"""Random states and programs for a whole engine, by seed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np
from dve_golden.isa.codec import decode
from dve_golden.isa.control import CONTROL_WORDS, IEEE_EMAX_E4M3
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.generator import SPECIAL_PATTERNS
from dve_cosim.reference import geometry_of
from dve_cosim.state import ArchState
from dve_cosim.tensor_generator import TensorGenerator


def random_words(
    rng: np.random.Generator, shape: tuple[int, ...], *, special: float
) -> NDArray[np.uint32]:
    """Words that are plausible fp32, pairs of bf16 or fp16, or small integers.

    A share ``special`` of them is any bits, or a corner pattern of fp32. Sums over plain random
    bits would be NaN almost always, and hide what the datapath does.
    """
    ordinary = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    halves = rng.standard_normal((*shape, 2)).astype(np.float16).view(np.uint32)[..., 0]
    kinds = [
        ordinary,
        halves,
        (ordinary >> 16) * 0x1_0001,
        rng.integers(-1000, 1000, shape, np.int32).view(np.uint32),
    ]
    words = np.choose(rng.choice(4, shape, p=[0.4, 0.25, 0.25, 0.1]), kinds)
    bits = rng.integers(0, 1 << 32, shape, np.uint32)
    corners = rng.choice(SPECIAL_PATTERNS, shape)
    odd = np.where(rng.random(shape) < 0.5, bits, corners)
    return np.where(rng.random(shape) < special, odd, words)


def _small_bytes(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """Words of small numbers in some of their bytes, or zero: predicates, and counts of shifts."""
    counts = rng.integers(0, 40, (*shape, 4), np.uint8)
    kept = rng.random(counts.shape) < rng.choice((0.0, 0.3, 0.7), (*shape, 1))
    return (counts * kept).view(np.uint32)[..., 0]


_SHARE_OF_SMALL_BYTES = 0.25
"""Of the words of a memory."""

_PERIOD = 16411
"""Words after which the contents of a large partition repeat: making all of them takes long. As a
prime it lets no wrong bit of an address go unseen."""


def random_state(rng: np.random.Generator, config: EngineConfig, *, special: float) -> ArchState:
    """Every array filled but the registers, which a program generator fills."""
    state = ArchState.reset(config)
    for memory in (state.sbuf, state.psum):
        words = memory.view(np.uint32)
        period = random_words(rng, (128, min(words.shape[1], _PERIOD)), special=special)
        small = rng.random(period.shape) < _SHARE_OF_SMALL_BYTES
        period = np.where(small, _small_bytes(rng, period.shape), period)
        words[:] = np.resize(period.T, words.T.shape).T  # repeats rows, so along partitions
    state.lane_state.view(np.uint32)[:] = random_words(rng, (128, 5), special=special)
    counts = rng.choice(np.array([1, 3, 64, 255, 256, 1000, 2.5, -4, 1e-40], np.float32), 128)
    state.lane_state[:, 0] = np.where(rng.random(128) < 0.7, counts, state.lane_state[:, 0])
    patterns = state.parameter_ram.view(np.uint32)
    changed = rng.random(256) < 0.2
    patterns[:] = np.where(changed, random_words(rng, (256,), special=special), patterns)
    return state


def random_control(rng: np.random.Generator) -> NDArray[np.uint32]:
    """Any control values."""
    words = rng.integers(0, 2, len(CONTROL_WORDS), np.uint32)
    words[CONTROL_WORDS.index("emax_e4m3")] += IEEE_EMAX_E4M3
    return words


@dataclass(eq=False)
class Workload:
    """Programs, and states to load before some of them.

    Parameters
    ----------
    programs : list of bytes
    states : dict of int to ArchState
        Keys are indices of programs.
    """

    programs: list[bytes] = field(default_factory=list)
    states: dict[int, ArchState] = field(default_factory=dict)

    def append(self, state: ArchState, programs: Iterable[bytes]) -> None:
        """Add programs that start from ``state``."""
        self.states[len(self.programs)] = state
        self.programs += programs

    def records(self) -> Iterator[tuple[bytes, ArchState]]:
        """Every instruction with the state that was loaded last before it."""
        state = self.states[0]
        for index, program in enumerate(self.programs):
            state = self.states.get(index, state)
            for at in range(0, len(program), 64):
                yield program[at : at + 64], state


def random_programs(
    seed: int,
    config: EngineConfig,
    *,
    programs: int,
    instructions: int,
    special: float,
    max_elements: int = 64,
) -> tuple[ArchState, list[bytes]]:
    """A state, and legal programs to run from it one after the other."""
    rng = np.random.default_rng(seed)
    state = random_state(rng, config, special=special)
    generator = TensorGenerator(
        rng, geometry_of(config), state.registers, max_elements=max_elements
    )
    return state, [generator.program(instructions) for _ in range(programs)]


def work_of(record: bytes) -> int:
    """Elements times channels of a record whose opcode the engine executes."""
    _, fields = decode(record)
    counts = [
        prod(value)
        for name, value in fields.items()
        if name.endswith("num_elem") and isinstance(value, tuple)
    ]
    channels = fields.get("num_active_channels", 1)
    assert isinstance(channels, int)
    return max(counts, default=0) * channels
