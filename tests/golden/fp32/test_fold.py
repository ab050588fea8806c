"""The eight-partial sum against a scalar reference, however the ordinals arrive."""

import numpy as np
from binary32_scalar import SPECIAL, add
from dve_golden.fp32.arithmetic import canonicalize
from dve_golden.fp32.fold import Fold
from hypothesis import given, settings
from hypothesis import strategies as st

pattern = st.one_of(st.sampled_from(SPECIAL), st.integers(0, 0xFFFF_FFFF))


def scalar_fold(bits):
    q = [0] * 8
    for ordinal, x in enumerate(bits):
        q[ordinal % 8] = add(q[ordinal % 8], x)
    return add(add(add(q[0], q[1]), add(q[2], q[3])), add(add(q[4], q[5]), add(q[6], q[7])))


def fold(rows, cuts=()):
    """Bits of the sums of ``rows`` [channels, ordinals], added in pieces that end at ``cuts``."""
    values = np.array(rows, np.uint32).view(np.float32)
    sums = Fold(len(values))
    with np.errstate(all="ignore"):
        for piece in np.split(values, sorted(cuts), axis=1):
            sums.add(piece)
        return canonicalize(sums.total()).view(np.uint32).tolist()


@given(st.data())
@settings(derandomize=True, max_examples=60, deadline=None)
def test_equals_the_scalar_fold_for_any_data_and_any_cuts(data):
    count = data.draw(st.integers(1, 40))
    row = st.lists(pattern, min_size=count, max_size=count)
    rows = data.draw(st.lists(row, min_size=1, max_size=3))
    cuts = data.draw(st.lists(st.integers(0, count), max_size=4))
    assert fold(rows, cuts) == [scalar_fold(row) for row in rows]


def test_equals_the_scalar_fold_where_every_addition_rounds():
    rng = np.random.default_rng(9)
    rows = (rng.standard_normal((5, 1003)) * 10.0 ** rng.integers(-3, 4, (5, 1003))).astype("<f4")
    bits = rows.view(np.uint32)
    want = [scalar_fold(row) for row in bits.tolist()]
    assert fold(bits) == want
    assert fold(bits, [248, 251, 600]) == want
    assert fold(bits) != np.cumsum(rows, axis=1)[:, -1].view(np.uint32).tolist()


def test_halves_have_every_other_partial():
    rng = np.random.default_rng(10)
    rows = (rng.standard_normal((5, 203)) * 10.0 ** rng.integers(-3, 4, (5, 203))).astype("<f4")
    sums = Fold(5)
    for piece in np.split(rows, [3, 10, 64], axis=1):
        sums.add(piece)
    for half, total in ((rows[:, 0::2], sums.even()), (rows[:, 1::2], sums.odd())):
        q = np.zeros((4, 5), np.float32)
        for index, values in enumerate(half.T):
            q[index % 4] += values
        want = (q[0] + q[1]) + (q[2] + q[3])
        assert total.tolist() == want.tolist()
    nothing = Fold(2)
    assert nothing.even().tolist() == nothing.odd().tolist() == [0, 0]


def test_large_first_element():
    """batchnorm.md section 12: 2^24, then eight ones."""
    values = np.array([[2.0**24] + [1.0] * 8], np.float32)
    assert fold(values.view(np.uint32)) == [0x4B80_0003]


def test_negative_zeros_sum_to_positive_zero():
    assert fold([[0x8000_0000] * 20]) == [0]


def test_nothing_sums_to_positive_zero():
    assert Fold(2).total().view(np.uint32).tolist() == [0, 0]
