"""Ways of summing in binary32, each as a function of rows, with its error bound.

All take [sums, n] and return [sums]; row by row, nothing but the order and kind of additions
differs. The bounds are worst cases, relative to the sum of magnitudes, with u = 2^-24:

    |computed - exact| <= depth u sum|x|

to first order in u, where depth is the largest number of rounded additions that one term passes
through (Higham 1993). An addition to +0 is exact and does not count.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from dve_golden.fp32.arithmetic import Floats
from dve_golden.fp32.fold import PARTIALS, Fold

from dve_studies.summation.exact import exact_sums, nearest_each

U = 2.0**-24
"""Unit roundoff of binary32: half an ulp of 1."""

BLOCK = 128
"""Terms of a leaf of blocked pairwise summation, as numpy has it."""


@dataclass(frozen=True)
class Scheme:
    """A way of summing.

    Members
    -------
    name : str
        For tables and legends.
    sums : callable
        [sums, n] to [sums], float32.
    bound : callable
        Number of terms and condition number, sum|x| / |sum x|, to the worst error relative to
        sum|x|.
    """

    name: str
    sums: Callable[[Floats], Floats]
    bound: Callable[[int, float], float]


def serial(values: Floats) -> Floats:
    """One running sum in the order of the terms."""
    # `accumulate` defines r[i] = r[i-1] + x[i]; numpy's `sum` chooses an order of its own.
    return np.add.accumulate(values, axis=1)[:, -1] + np.float32(0)  # -0 alone gives +0


def fold(values: Floats) -> Floats:
    """The engine's: eight strided partials, then a tree (batchnorm.md section 8)."""
    running = Fold(len(values))
    running.add(values)
    return running.total()


def pairwise(values: Floats) -> Floats:
    """A binary tree over neighbours; a row is filled up with +0, which changes no sum."""
    level = values
    while level.shape[1] > 1:
        level = _padded(level, 2)
        level = level[:, 0::2] + level[:, 1::2]
    return level[:, 0] + np.float32(0)


def blocked(values: Floats) -> Floats:
    """The engine's fold of each 128 neighbours, then a tree over these sums.

    For n = 2^k these are the additions of numpy's own pairwise sum: it, too, cuts at 128 and has
    eight running sums per block.
    """
    padded = _padded(values, BLOCK)
    return pairwise(fold(padded.reshape(-1, BLOCK)).reshape(len(values), -1))


def compensated(values: Floats) -> Floats:
    """A serial sum, and a second one of its rounding errors, added at the end.

    Neumaier's variant of Kahan's algorithm, in the form Sum2 of Ogita, Rump and Oishi (2005). The
    rounding error of each addition is exact, by Knuth's TwoSum.
    """
    running = np.add.accumulate(values, axis=1)
    before = np.zeros_like(running)
    before[:, 1:] = running[:, :-1]
    added = running - before
    errors = (before - (running - added)) + (values - added)
    return running[:, -1] + np.add.accumulate(errors, axis=1)[:, -1]


def exact(values: Floats) -> Floats:
    """The exact sum, rounded once."""
    return nearest_each(exact_sums(values))


def _padded(values: Floats, multiple: int) -> Floats:
    """Rows filled up with +0 to a length that ``multiple`` divides."""
    missing = -values.shape[1] % multiple
    return np.pad(values, ((0, 0), (0, missing))) if missing else values


def levels(terms: int) -> int:
    """Depth of a binary tree."""
    return (terms - 1).bit_length()


def _fold_depth(n: int) -> int:
    """ceil(n/8) additions to a partial, the first of them to +0, and three in the tree."""
    return -(-n // PARTIALS) - 1 + levels(PARTIALS)


SERIAL = Scheme("serial", serial, lambda n, _: (n - 1) * U)
FOLD = Scheme("eight-partial fold", fold, lambda n, _: _fold_depth(n) * U)
BLOCKED = Scheme(
    "blocks of 128, then tree",
    blocked,
    lambda n, _: (_fold_depth(min(n, BLOCK)) + levels(-(-n // BLOCK))) * U,
)
PAIRWISE = Scheme("pairwise tree", pairwise, lambda n, _: levels(n) * U)
COMPENSATED = Scheme(
    "compensated", compensated, lambda n, condition: U / condition + ((n - 1) * U) ** 2
)
EXACT = Scheme("exact, one rounding", exact, lambda _, condition: U / condition)

SCHEMES = (SERIAL, FOLD, BLOCKED, PAIRWISE, COMPENSATED, EXACT)
