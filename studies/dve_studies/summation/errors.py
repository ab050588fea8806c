"""Errors of sums against the exact ones, computed without rounding."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from dve_golden.fp32.arithmetic import Floats
from numpy.typing import NDArray

from dve_studies.summation.exact import exact_sums, nearest, to_units, ulp
from dve_studies.summation.schemes import SCHEMES


@dataclass(frozen=True, eq=False)
class Exact:
    """What errors are measured against; a list entry per sum, in units of 2^-149.

    Members
    -------
    sums : list of int
        Exact sums.
    magnitudes : list of int
        Exact sums of the magnitudes.
    """

    sums: list[int]
    magnitudes: list[int]

    @classmethod
    def of(cls, values: Floats) -> "Exact":
        """Of each row of [sums, n], finite."""
        return cls(exact_sums(values), exact_sums(np.abs(values)))

    @property
    def conditions(self) -> NDArray[np.float64]:
        """Condition number of each sum, sum|x| / |sum x|: 1 at least, infinite for a sum of 0."""
        pairs = zip(self.sums, self.magnitudes, strict=True)
        return np.array([m / abs(s) if s else np.inf for s, m in pairs])


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of several sums; float64 or bool, [sums] each.

    Members
    -------
    relative
        Relative to the sum of magnitudes; a sum of zeros has error 0.
    ulps
        In ulp of the exact sum.
    correct
        Whether the result is the exact sum, rounded to nearest.
    """

    relative: NDArray[np.float64]
    ulps: NDArray[np.float64]
    correct: NDArray[np.bool_]

    @classmethod
    def join(cls, parts: Iterable["Errors"]) -> "Errors":
        """The errors of several sets as of one."""
        each = list(parts)
        return cls(
            np.concatenate([part.relative for part in each]),
            np.concatenate([part.ulps for part in each]),
            np.concatenate([part.correct for part in each]),
        )

    @property
    def rms(self) -> float:
        """Root mean square of the relative errors."""
        return float(np.sqrt(np.mean(self.relative**2)))

    @property
    def worst(self) -> float:
        """Largest relative error."""
        return float(self.relative.max())


def errors(computed: Floats, reference: Exact) -> Errors:
    """Errors of ``computed``, [sums]; an infinity or NaN is infinitely wrong."""
    relative, ulps, correct = [], [], []
    rows = zip(computed, reference.sums, reference.magnitudes, strict=True)
    for value, exact, magnitude in rows:
        correct.append(bool(value == nearest(exact)))
        if not np.isfinite(value):
            relative.append(np.inf)
            ulps.append(np.inf)
            continue
        error = abs(to_units(value) - exact)
        relative.append(error / magnitude if error else 0.0)  # integer division rounds once
        ulps.append(error / ulp(exact))
    return Errors(np.array(relative), np.array(ulps), np.array(correct))


def measure(values: Floats, reference: Exact) -> dict[str, Errors]:
    """Errors of every scheme on the rows of ``values``, [sums, n], whose `Exact` is given.

    Returns
    -------
    Errors by the name of the scheme.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow on the way is a result too
        return {scheme.name: errors(scheme.sums(values), reference) for scheme in SCHEMES}
