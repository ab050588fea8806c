"""Mean and variance in exact rational arithmetic, and how far the engine may be from them.

The bounds are those of docs/numerics.md, section "Forward statistics", with gamma(k) for the
relative error of k roundings. They hold where nothing overflows or underflows.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt

UNIT = Fraction(1, 1 << 24)
"""Half an ulp of 1: relative error of one rounding to binary32."""

HALF, WHOLE = 4, 8
"""Partial sums of a half, and of all elements."""


def gamma(roundings):
    return roundings * UNIT / (1 - roundings * UNIT)


def fold_depth(terms, partials):
    """Rounded additions that a term of a fold goes through at most: its partial sum, the tree.

    The first addition, to zero, is exact.
    """
    return max(ceil(terms / partials) - 1, 0) + (2 if partials == HALF else 3)


@dataclass(frozen=True)
class Moments:
    """Of numbers, exactly: how many, their mean, sum of squared distances from it."""

    count: int
    mean: Fraction
    nvar: Fraction

    @classmethod
    def of(cls, values):
        values = [Fraction(value) for value in values]
        mean = Fraction(sum(values)) / len(values)
        return cls(len(values), mean, Fraction(sum((value - mean) ** 2 for value in values)))

    @classmethod
    def combined(cls, parts):
        """Of the union of sets; ``parts`` are (count, mean, nvar)."""
        parts = [tuple(map(Fraction, part)) for part in parts]
        count = sum(n for n, _, _ in parts)
        mean = Fraction(sum(n * m for n, m, _ in parts)) / count
        nvar = Fraction(sum(v + n * (m - mean) ** 2 for n, m, v in parts))
        return cls(int(count), mean, nvar)

    @property
    def variance(self):
        return self.nvar / self.count


def stats_bounds(values, partials):
    """Bounds of the errors of mean and nvar that Stats or a half of Stats2 makes."""
    values = [Fraction(value) for value in values]
    n = len(values)
    shifted = [value - values[0] for value in values]
    depth = fold_depth(n, partials)
    spread = sum(map(abs, shifted)) / n
    squares = sum(s * s for s in shifted)
    mean = gamma(depth + 4) * spread + UNIT * abs(sum(values) / n)
    return mean, gamma(3 * depth + 12) * squares


def aggregate_bounds(parts):
    """Bounds of the errors of mean and variance that Aggregate adds to those of its tuples."""
    parts = [tuple(map(Fraction, part)) for part in parts]
    depth = fold_depth(len(parts), WHOLE)
    count = sum(n for n, _, _ in parts)
    mean = gamma(depth + 3) * sum(n * abs(m) for n, m, _ in parts) / count
    exact = Moments.combined(parts)
    size = sum(abs(v) + n * (m - exact.mean) ** 2 for n, m, v in parts) / count
    return mean, mean**2 + gamma(depth + 7) * (size + mean**2)


def split_bounds(sets, parts):
    """Bounds of the errors of mean and variance of a union, formed set by set and aggregated.

    Parameters
    ----------
    sets
        The numbers of each half of each tile.
    parts
        What the engine says of each: count, mean, nvar.
    """
    bounds = [stats_bounds(values, HALF) for values in sets]
    moments = [Moments.of(values) for values in sets]
    count = sum(m.count for m in moments)
    whole = Moments.combined([(m.count, m.mean, m.nvar) for m in moments])
    between = sum(m.count * (m.mean - whole.mean) ** 2 for m in moments) / count
    # A distance between means is wrong by this much at most, their standard deviation as well.
    off = max(mean for mean, _ in bounds)
    deviation = Fraction(sqrt(between)) * (1 + UNIT)
    mean, variance = aggregate_bounds(parts)
    mean += sum(m.count * bound for m, (bound, _) in zip(moments, bounds, strict=True)) / count
    variance += sum(nvar for _, nvar in bounds) / count + 2 * deviation * off + off**2
    return mean, variance
