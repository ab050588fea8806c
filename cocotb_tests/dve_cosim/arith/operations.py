"""What the units compute, by which references, and on which operands."""

from collections.abc import Iterator

import numpy as np
from dve_golden.fp32.reciprocal import reciprocal as golden_reciprocal

from dve_cosim.arith import grids, ieee, softfloat
from dve_cosim.arith.converters import CONVERTERS
from dve_cosim.arith.ieee import Patterns
from dve_cosim.arith.operation import Blocks, Operation
from dve_cosim.arith.operators import OPERATORS


def _single(blocks: Iterator[Patterns]) -> Blocks:
    """Arrays as blocks of one operand, none of them longer than `BLOCK`."""
    for array in blocks:
        for start in range(0, len(array), grids.BLOCK):
            yield (array[start : start + grids.BLOCK],)


def _numbers(count: int, seed: int) -> Blocks:
    return _single(grids.random_numbers(count, seed))


def _sums(level: int, seed: int) -> Blocks:
    """The pair grid; on level 2 also the neighbours of every power of two."""
    yield from grids.pairs(level, seed)
    if level == 2:
        yield from grids.binades()


INTEGERS = 1 << 24
"""The integers that binary32 has without gaps: whatever N a layer can have."""


def every_integer(step: int = 1, seed: int = 0) -> Blocks:
    """Integers from 1 to 2^24: all, or one at a random place of each ``step``."""
    rng = np.random.default_rng((seed, 5))
    for start in range(0, INTEGERS, grids.BLOCK * step):
        integers = np.arange(start + 1, start + grids.BLOCK * step + 1, step)
        integers += rng.integers(0, step, len(integers))
        yield (integers.astype(np.float32).view(np.uint32),)


SUBNORMAL_SIDE = (0, 253, 254)
"""Exponent fields of subnormal operands, and of those with subnormal results."""


def _reciprocal_grid(level: int, seed: int) -> Blocks:
    """Operands of the pair grid, and integers.

    On level 2 every integer, which is every significand with a normal result, and every
    significand of `SUBNORMAL_SIDE`.
    """
    yield from _single(iter([grids.operands(2)]))
    if level == 1:
        yield from every_integer(step=256, seed=seed)
        return
    yield from every_integer()
    for field in SUBNORMAL_SIDE:
        for start in range(0, 1 << 23, grids.BLOCK):
            yield (np.arange(start, start + grids.BLOCK, dtype=np.uint32) | np.uint32(field << 23),)


def _by_golden_reciprocal(a: Patterns) -> Patterns:
    with np.errstate(all="ignore"):
        return golden_reciprocal(a.view(np.float32)).view(np.uint32)


OPERATIONS = (
    Operation(
        name="add",
        unit="adder",
        exact=ieee.add,
        second=softfloat.add,
        grid=_sums,
        random=grids.random_pairs,
    ),
    Operation(
        name="subtract",
        unit="adder",
        select=1,
        exact=ieee.subtract,
        second=softfloat.subtract,
        grid=_sums,
        random=grids.random_pairs,
    ),
    Operation(
        name="multiply",
        unit="multiplier",
        exact=ieee.multiply,
        second=softfloat.multiply,
        grid=grids.pairs,
        random=grids.random_pairs,
    ),
    Operation(
        name="reciprocal",
        unit="reciprocal",
        exact=ieee.reciprocal,
        second=softfloat.reciprocal,
        golden=_by_golden_reciprocal,
        grid=_reciprocal_grid,
        random=_numbers,
    ),
    *CONVERTERS,
    *OPERATORS,
)


def operation(name: str) -> Operation:
    """The entry of `OPERATIONS` with that name."""
    return next(entry for entry in OPERATIONS if entry.name == name)


def suite_size(entry: Operation) -> tuple[int, int]:
    """What the test suite compares of an operation: the level of its grid, and cases at least.

    Of the pairs it is level 2, and then so many random ones that all kinds are among them: only the
    related ones often cancel to a subnormal sum.
    """
    return (2, 10_000_000) if entry.unit in ("adder", "multiplier") else (1, 300_000)
