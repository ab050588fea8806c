"""Exact sums and their single rounding, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from dve_golden.batchnorm.accuracy import ulp_error
from dve_studies.summation.exact import exact_sums, nearest, to_units, ulp

UNIT = Fraction(1, 1 << 149)

EDGES = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 2.0**-149, -(2.0**-149), 2.0**-126, 1.5 * 2.0**-126),
        *(np.finfo(np.float32).max, np.finfo(np.float32).min, 1 + 2.0**-23, 2.0**24),
    ],
    np.float32,
)


def finite(seed, *shape):
    """Patterns of every class, infinities and NaN excepted."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)
    bits[bits >> 23 & 0xFF == 0xFF] &= 0x807F_FFFF  # become subnormal
    return bits.view(np.float32)


def fractions(row):
    return [Fraction(float(value)) for value in row]


def test_units_are_the_value():
    for value in (*EDGES, *finite(1, 500)):
        assert to_units(value) * UNIT == Fraction(float(value))


def test_sums_are_those_of_fractions():
    rows = finite(2, 20, 57)
    assert [units * UNIT for units in exact_sums(rows)] == [sum(fractions(row)) for row in rows]


def test_sum_of_cancelling_rows():
    row = finite(3, 100)
    rows = np.concatenate([row, -row, EDGES[4:5]])[np.newaxis]
    assert exact_sums(rows) == [1]


def test_sum_of_edges():
    (units,) = exact_sums(EDGES[np.newaxis])
    assert units * UNIT == sum(fractions(EDGES))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_terms_must_be_finite(value):
    with pytest.raises(ValueError, match="finite"):
        exact_sums(np.array([[1, value]], np.float32))


def test_rounding_decides_at_the_midpoint():
    """Half way to the neighbour the even pattern counts, a unit before or after the nearer one."""
    values = np.abs(finite(4, 300))
    values = values[values > 2.0**-120]  # a unit is less than half an ulp there
    for value in (*values, np.finfo(np.float32).max, np.float32(1), np.float32(2 - 2.0**-23)):
        with np.errstate(over="ignore"):
            above = np.nextafter(value, np.float32(np.inf))
        beyond = to_units(above) if np.isfinite(above) else 1 << 277
        middle = (to_units(value) + beyond) // 2
        even = value if int(value.view(np.uint32)) % 2 == 0 else above
        for units, want in ((middle - 1, value), (middle, even), (middle + 1, above)):
            assert nearest(units) == want
            assert nearest(-units) == -want


def test_no_double_rounding():
    """A detour through binary64 would first round to the midpoint, then to even: to 1."""
    midpoint = (1 << 149) + (1 << 149 - 24)
    assert np.float32(float(Fraction(midpoint + 1) * UNIT)) == 1
    assert nearest(midpoint + 1) == np.float32(1 + 2.0**-23)


def test_numbers_are_their_own_nearest():
    for value in (*EDGES, *finite(5, 300)):
        assert nearest(to_units(value)) == value


def test_ulp_is_that_of_the_golden_accuracy():
    """Errors in ulp agree with `ulp_error`, where binary64 holds the exact value."""
    rng = np.random.default_rng(6)
    exact = [int(n) for n in rng.integers(1, 1 << 53, 500)] + [0, 1, (1 << 25) - 1, (1 << 24) + 1]
    got = [n + int(d) for n, d in zip(exact, rng.integers(-1000, 1000, len(exact)), strict=True)]
    computed = np.array([nearest(n) for n in got])
    want = ulp_error(computed, np.array([float(n * UNIT) for n in exact]))
    found = [abs(to_units(c) - n) / ulp(n) for c, n in zip(computed, exact, strict=True)]
    np.testing.assert_array_equal(found, want)
