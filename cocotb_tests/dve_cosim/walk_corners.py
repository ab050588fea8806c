"""Walks at the ends of what counts and reaches can be: legal ones, and ones that go far outside."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from dve_golden.isa.text import assemble
from dve_rtl.config import EngineConfig

from dve_cosim.alignments import PLAIN, RESULTS
from dve_cosim.workloads import Workload, random_state

_MOST_INDEX, _MOST_STEP = 65534, 32767
"""Of one dimension: the index of its last element, and its longest step forwards."""

_LONGEST = ("65535x2@0,1", "1x65535x2@9,0,1", "1x1x65535@1,1,0")
"""The largest count in each dimension. What it steps over shows in the next dimension, or in the
next row of channels."""

_DIMENSIONS = 2
"""In which a walk can go far: with a third one it has more elements than are legal (reason 11)."""

_WORD_BYTES = 4

_TOO_LONG = " ".join(
    ["back_prop channels=1"]
    + [f"{name}=sbuf[0:0x0]:fp32:32768x32768x4@0,0,0" for name in ("src0", "src1", "dst")]
)
"""2^32 elements, which is 0 in 32 bits."""


def walk_corners(seed: int, config: EngineConfig) -> Workload:
    """Short programs on a random state.

    Parameters
    ----------
    seed : int
        Of the state.
    config : EngineConfig
        With 1,024 bytes of SBUF or more.
    """
    workload = Workload()
    state = random_state(np.random.default_rng(seed), config, special=0.0)
    texts = (*_longest(config.lanes), *_far(config), _TOO_LONG, *_in_place())
    workload.append(state, map(assemble, texts))
    return workload


def _longest(lanes: int) -> Iterator[str]:
    for walk in _LONGEST:
        yield (
            f"back_prop channels={lanes + 1} src0=sbuf[0:0x0]:fp32:{walk}"
            f" src1=sbuf[0:0x10]:fp32:{walk} dst=sbuf[0:0x20]:fp32:{walk}"
        )
    # The raw path has a clock of its own.
    yield (
        f"copy_predicated channels={lanes + 1} src0=sbuf[0:0x30]:int8:{_LONGEST[0]}"
        f" src1=sbuf[0:0x31]:uint8:{_LONGEST[0]} dst=sbuf[0:0x33]:uint8:{_LONGEST[0]}"
    )


def _in_place() -> Iterator[str]:
    """Every type under every other one: of another size, an element overwrites the next ones."""
    for result in RESULTS:
        yield "\n".join(
            f"tensor_tensor channels=1 op=add src0=sbuf[0:{place}]:{source}:4"
            f" src1=sbuf[0:0x200]:fp32:4 dst=sbuf[0:{place}]:{result}:4"
            for place, source in zip(range(0, 0x200, 16), PLAIN, strict=False)
        )


def _far(config: EngineConfig) -> Iterator[str]:
    """Sums over walks that end a power of two beyond their start, as far as walks can go.

    A sum of fewer bits would end inside the partition.
    """
    beyond = config.sbuf_active_bytes.bit_length() - 1
    farthest = _DIMENSIONS * _MOST_INDEX * _MOST_STEP * _WORD_BYTES
    for exponent in range(beyond, farthest.bit_length()):
        dimensions = _dimensions((1 << exponent) // _WORD_BYTES)
        counts = "x".join(str(index + 1) for index, _ in dimensions)
        steps = ",".join(str(step) for _, step in dimensions)
        walk = f"sbuf[0:0x0]:fp32:{counts}@{steps}"
        yield (
            f"grad_accumulate channels=1 src0={walk} src1={walk} dst=sbuf[0:0x100]:fp32:3"
            " imm0=sbuf[0:0x200] imm1=sbuf[0:0x204] imm_dtype=fp32"
        )


def _dimensions(distance: int) -> list[tuple[int, int]]:
    """Last index and step of each dimension, whose products add up to ``distance``."""
    dimensions = []
    rest = distance
    for left in reversed(range(_DIMENSIONS)):
        index, step = _factors(rest) if rest <= _MOST_INDEX * _MOST_STEP else (0, 0)
        if not index:  # not in one dimension: as much as possible in this one
            index, step = _MOST_INDEX, min(_MOST_STEP, rest // _MOST_INDEX)
        dimensions.append((index, step))
        rest -= index * step
        if not rest:
            return dimensions
        assert left, f"{distance} is out of reach"
    return dimensions


def _factors(distance: int) -> tuple[int, int]:
    """Two factors within a dimension, (0, 0) if there are none."""
    for step in range(-(-distance // _MOST_INDEX), _MOST_STEP + 1):
        if distance % step == 0:
            return distance // step, step
    return 0, 0
