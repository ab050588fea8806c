"""Each way of summing against scalar additions in its order, and its bound."""

import itertools
from functools import reduce

import numpy as np
import pytest
from dve_studies.summation import data, schemes
from dve_studies.summation.errors import Exact, measure
from dve_studies.summation.exact import nearest, to_units

LENGTHS = (1, 2, 7, 8, 9, 16, 100, 128, 129, 300)


def rows(n):
    rng = np.random.default_rng(n)
    return np.ldexp(rng.uniform(-1, 1, (3, n)), rng.integers(-20, 20, (3, n))).astype(np.float32)


def in_order(terms):
    return reduce(np.add, terms, np.float32(0))


def tree(terms):
    """A balanced tree over neighbours; +0 fills the last pair of a level."""
    while len(terms) > 1:
        pairs = itertools.zip_longest(terms[::2], terms[1::2], fillvalue=np.float32(0))
        terms = [a + b for a, b in pairs]
    return terms[0]


def strided(terms):
    return tree([in_order(terms[first::8]) for first in range(8)])


def in_blocks(terms):
    return tree([strided(terms[at : at + 128]) for at in range(0, len(terms), 128)])


def neumaier(terms):
    """As Neumaier (1974) wrote it, with a comparison in place of TwoSum."""
    total, lost = np.float32(0), np.float32(0)
    for term in terms:
        new = total + term
        large, small = (total, term) if abs(total) >= abs(term) else (term, total)
        lost += (large - new) + small
        total = new
    return total + lost


SCALAR = {
    schemes.SERIAL: in_order,
    schemes.FOLD: strided,
    schemes.BLOCKED: in_blocks,
    schemes.PAIRWISE: tree,
    schemes.COMPENSATED: neumaier,
    schemes.EXACT: lambda terms: nearest(sum(map(to_units, terms))),
}


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("scheme", schemes.SCHEMES, ids=lambda scheme: scheme.name)
def test_bits_are_those_of_scalar_additions(scheme, n):
    values = rows(n)
    want = np.array([SCALAR[scheme](list(row)) for row in values])
    got = scheme.sums(values)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize("scheme", schemes.SCHEMES, ids=lambda scheme: scheme.name)
def test_negative_zeros_sum_to_zero(scheme):
    assert scheme.sums(np.full((1, 9), -0.0, np.float32)).view(np.uint32) == [0]


@pytest.mark.parametrize("n", [8, 100, 1024])
@pytest.mark.parametrize("case", [case for case in data.HARD if case != "overflow on the way"])
def test_bounds_hold(case, n):
    """To first order: the terms of second order are below n^2 u^2."""
    values = data.HARD[case](n, np.random.default_rng(n))
    reference = Exact.of(values)
    for scheme in schemes.SCHEMES:
        errors = measure(values, reference)[scheme.name]
        bounds = [scheme.bound(n, condition) for condition in reference.conditions]
        assert (errors.relative <= np.array(bounds) * (1 + n * schemes.U)).all(), scheme.name


def test_bounds_of_the_page():
    u = schemes.U
    assert schemes.SERIAL.bound(1000, 1) == 999 * u
    assert schemes.FOLD.bound(8, 1) == 3 * u
    assert schemes.FOLD.bound(2048, 1) == (2048 / 8 + 2) * u
    assert schemes.BLOCKED.bound(1 << 14, 1) == (18 + 7) * u
    assert schemes.PAIRWISE.bound(1 << 14, 1) == 14 * u


def test_fold_loses_an_eighth_of_what_a_serial_sum_loses():
    """The claim about "1, then tiny terms": one partial in eight has met the 1."""
    values = data.stagnating(1 << 12, np.random.default_rng(0))
    found = measure(values, Exact.of(values))
    ratio = found[schemes.SERIAL.name].relative / found[schemes.FOLD.name].relative
    np.testing.assert_allclose(ratio, 8, rtol=0.05)


def test_infinities_are_infinitely_wrong():
    values = data.overflowing(256, np.random.default_rng(0))
    found = measure(values, Exact.of(values))
    assert np.isinf(found[schemes.FOLD.name].relative).all()
    assert found[schemes.EXACT.name].correct.all()
    assert found[schemes.EXACT.name].worst < schemes.U
