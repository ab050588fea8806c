"""The terms that the study of summation sums, and the gradients that it forms of the sums."""

import numpy as np
import pytest
from dve_golden.batchnorm import GoldenEngine, backward
from dve_golden.batchnorm.layer import channel_major
from dve_studies.summation import data, layers
from dve_studies.summation.errors import Exact
from dve_studies.summation.schemes import EXACT, FOLD


@pytest.mark.parametrize("log2_condition", [0, 1, 10, 30, 60])
def test_condition_numbers_are_the_prescribed(log2_condition):
    values = data.ill_conditioned(256, 2.0**log2_condition, np.random.default_rng(1))
    conditions = Exact.of(values).conditions
    np.testing.assert_allclose(np.log2(conditions), log2_condition, atol=0.01)


@pytest.mark.parametrize("case", data.HARD)
def test_hard_terms_are_finite_rows_and_follow_from_the_seed(case):
    first, again = (data.HARD[case](64, np.random.default_rng(2)) for _ in range(2))
    assert first.shape == (data.SUMS, 64)
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, again)


def test_subnormal_terms_and_sums_are_subnormal():
    values = data.subnormal(1024, np.random.default_rng(3))
    assert 0 < np.abs(values).max() < 2.0**-126
    assert np.abs(values.astype(np.float64)).sum(axis=1).max() <= 2.0**-126


def test_runs_cover_the_digits_layer_in_its_order():
    runs = data.real_terms(1024).dy
    np.testing.assert_array_equal(runs.reshape(16, -1), channel_major(data.digits().dy))


def test_most_of_dy_is_zero():
    """As the page says."""
    assert round(float((data.digits().dy == 0).mean()), 2) == 0.84


def test_drawn_layers_resemble_the_digits_layer():
    real, large = data.terms(data.digits()), data.terms(data.drawn(8192, 1))
    for name in data.Terms._fields:
        here, there = (np.abs(getattr(terms, name)).mean() for terms in (real, large))
        assert 0.7 < there / here < 1.6, name
    assert np.abs(large.xn.mean(axis=1)).max() < 1e-6


@pytest.mark.parametrize("tile", [None, 504])
def test_gradients_by_the_fold_are_the_engine_s(tile):
    """Bit by bit, in one tile and in several."""
    layer = data.digits()
    sbuf_bytes = 64 * 1024 if tile is None else 64 + 3 * 4 * tile
    engine = GoldenEngine(sbuf_bytes=sbuf_bytes)
    want = backward(**layer.arguments(), backend=engine, on_engine=False)
    got = layers.gradients(layer, FOLD, tile)
    for name in want._fields:
        bits = [np.asarray(getattr(each, name)).view(np.uint32) for each in (got, want)]
        np.testing.assert_array_equal(*bits, err_msg=name)


def test_exact_sums_round_d_beta_once():
    layer = data.digits()
    got = layers.gradients(layer, EXACT)
    exact = layer.dy.astype(np.float64).sum(axis=(0, 2, 3))
    assert np.abs(got.d_beta - exact).max() <= np.spacing(np.abs(got.d_beta)).max()
