"""Stats, Stats2 and TransposeStats2: 0x60, 0x61, 0x82 (batchnorm.md section 10).

A set of numbers is described by its count, its mean and nvar, the sum of the squared distances from
the mean. What is summed is the distance from the first number of the set: a sum of plain squares
would lose the spread where the mean is far from zero.
"""

from collections.abc import Callable

import numpy as np

from dve_golden.execute.operands import Operands
from dve_golden.fp32.arithmetic import Floats
from dve_golden.fp32.fold import Fold
from dve_golden.fp32.reciprocal import engine_reciprocal
from dve_golden.state import State

Sum = Callable[[Fold], Floats]
"""Which of the partial sums belong to a set."""


def stats(state: State, operands: Operands) -> None:
    """0x60: all elements are one set, and its count is in ``even_count``."""
    _describe(state, operands, {"even_count": Fold.total})


def stats2(state: State, operands: Operands) -> None:
    """0x61: even and odd ordinals are two sets. 0x82 does the same: how it transposes is unknown.

    The data movement of TransposeStats2 is not documented beyond what its legality says.
    """
    _describe(state, operands, {"even_count": Fold.even, "odd_count": Fold.odd})


def _describe(state: State, operands: Operands, sets: dict[str, Sum]) -> None:
    """Write count, mean and nvar of each set, after all has been read.

    Elements go to the sets in turn. ``sets`` says under which name the instruction has the count,
    which is copied, and how the set is summed.
    """
    x = operands.tensor("src", "in_dtype").read_all()
    channels, elements = x.shape
    first = x[:, np.arange(elements) % len(sets)]
    shifted = np.subtract(x, first)
    sums, squares = Fold(channels), Fold(channels)
    sums.add(shifted)
    squares.add(np.multiply(shifted, shifted))
    results = []
    for index, (name, total) in enumerate(sets.items()):
        results.append(np.full(channels, operands.number(name), np.uint32).view(np.float32))
        members = len(range(index, elements, len(sets)))
        if members:
            results += _moments(
                members, first[:, index], total(sums), total(squares), state.parameter_ram
            )
        else:
            results += 2 * [np.zeros(channels, np.float32)]
    operands.tensor("dst", "out_dtype").write(0, np.stack(results, axis=1))


def _moments(
    members: int, first: Floats, total: Floats, squares: Floats, parameter_ram: Floats
) -> tuple[Floats, Floats]:
    """Mean and nvar, six roundings.

    Parameters
    ----------
    members
        How many numbers there are, not what the instruction says.
    first
        The number that has been subtracted from each, [channels].
    total, squares
        Sums of the differences and of their squares, [channels].
    parameter_ram
        [256].
    """
    n = np.array([members], np.float32)
    m = np.multiply(total, engine_reciprocal(n, parameter_ram))
    mean = np.add(first, m)
    return mean, np.subtract(squares, np.multiply(n, np.multiply(m, m)))
