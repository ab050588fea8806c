"""The study of training as published: its gradients measured again, its claims, its command."""

import json
import math
import sys

import numpy as np
import pytest
from dve_golden.batchnorm import Layer, backward
from dve_studies.training import plots, results, tables
from dve_studies.training.__main__ import COMMAND, main
from dve_studies.training.gradients import DEVIATIONS, ORDERS, errors, moved, orders
from dve_studies.training.runs import BIASES, FLOAT64, SEEDS, STEPS, training
from dve_studies.training.ways import (
    COARSE,
    COARSE_PLAIN,
    FORWARD,
    FP32,
    GRADIENTS,
    PLAIN,
    STORED,
    WAYS,
    Way,
    rounded,
)

REWRITE = "run: .venv/bin/python -m dve_studies.training --out docs/studies"
PUBLISHED = results.published()


def close(got, want):
    """Entries of one kind: same texts, numbers equal in three digits."""
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        for name, value in vars(other).items():
            found = vars(one)[name]
            if isinstance(value, float):
                assert math.isclose(found, value, rel_tol=2e-3), f"{other}: {name}; {REWRITE}"
            else:
                assert found == value, f"{other}: {name}; {REWRITE}"


def test_gradients_are_what_the_code_measures():
    close([each for far in DEVIATIONS for each in errors(far)], PUBLISHED.errors)
    close(orders(ORDERS), PUBLISHED.orders)


def test_everything_is_published():
    shown = [(each.bias, each.way) for each in PUBLISHED.training]
    assert shown == [
        (bias, name)
        for bias, ways in BIASES.items()
        for name in (FLOAT64, *(way.name for way in ways))
    ]
    for each in PUBLISHED.training:
        assert (len(each.loss), len(each.deviation)) == (STEPS, STEPS)
        assert len(each.accuracy) == SEEDS


def test_claims_about_gradients():
    by = {(each.way, each.deviations): each for each in PUBLISHED.errors}
    for far in DEVIATIONS:
        for way in (FP32, COARSE):
            found = by[way.name, far]
            assert max(found.d_x, found.d_gamma, found.d_beta) <= 2.0**-21, found
        assert 2.0**-8.5 < by[GRADIENTS.name, far].d_x < 2.0**-7.9
    for far in DEVIATIONS[2:]:
        assert by[PLAIN.name, far].d_gamma > 2.0**-21
        assert by[COARSE_PLAIN.name, far].d_gamma > 2.0**-5
    assert by[STORED.name, 100].d_gamma > 2.0**5 * by[GRADIENTS.name, 100].d_gamma


def test_claims_about_training():
    by = {(each.way, each.bias): each for each in PUBLISHED.training}
    for bias in (10, 100):
        coupled, plain = by[COARSE.name, bias], by[COARSE_PLAIN.name, bias]
        assert coupled.deviation[0] < 3 * by[FP32.name, bias].deviation[0]
        assert plain.deviation[0] > 1e4 * coupled.deviation[0]
        others = [each for each in PUBLISHED.training if each.bias == bias and each is not plain]
        assert plain.deviation[-1] > 3 * max(each.deviation[-1] for each in others)
    assert by[FP32.name, 0].deviation[0] < 1e-7
    assert by[FP32.name, 100].deviation[0] > 15 * by[FORWARD.name, 100].deviation[0]
    for each in PUBLISHED.training:
        assert each.last_loss < 0.03
        assert np.mean(each.accuracy) > 0.93


def test_a_step_of_training_is_off_as_published():
    """By less than twice, because the last bits of PyTorch's convolutions may be others."""
    by = {(each.way, each.bias): each for each in PUBLISHED.training}
    again = training(steps=1, seeds=SEEDS, biases=[100])
    assert [each.way for each in again] == [FLOAT64, *(way.name for way in BIASES[100])]
    for each in again:
        want = by[each.way, 100]
        assert math.isclose(each.deviations, want.deviations, rel_tol=0.01)
        assert math.isclose(each.loss[0], want.loss[0], rel_tol=0.01)
        assert want.deviation[0] / 2 <= each.deviation[0] <= 2 * want.deviation[0]


# --- ways -----------------------------------------------------------------------------------


def small():
    rng = np.random.default_rng(4)
    x, dy = rng.normal(size=(2, 3, 2, 5, 4)).astype(np.float32)
    return Layer.from_arrays(dy, x, x.mean((0, 2, 3)), [1, 2], inv_std=[1, 1])


def test_order_is_undone():
    layer = small()
    for got, want in zip(Way("", order=3)(layer), backward(**layer.arguments()), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_formats_are_rounded_to():
    found = GRADIENTS(small()).d_x
    np.testing.assert_array_equal(found, rounded(found, "bf16"))
    assert rounded(np.array([1 + 2.0**-9, 3], np.float32), "bf16").tolist() == [1, 3]
    assert (WAYS[0](small()).d_x != found).any()


def test_the_moved_layer_has_the_mean_that_it_says():
    layer = moved(100)
    x = layer.x.astype(np.float64)
    far = x.mean((0, 2, 3)) / x.std((0, 2, 3))
    assert (np.abs(far - 100) < 4).all()


# --- files and command ----------------------------------------------------------------------


def test_figures_show_the_measurements():
    figures = plots.figures(PUBLISHED)
    assert figures.keys() == {path.name for path in results.PAGE_FOLDER.glob("training*.svg")}
    page = (results.PAGE_FOLDER / "training.md").read_text()
    for name, drawn in figures.items():
        assert drawn == (results.PAGE_FOLDER / name).read_bytes(), f"{name} is stale; {REWRITE}"
        assert len(drawn) < 250_000, name
        assert f"]({name})" in page


@pytest.mark.parametrize("name", tables.TABLES)
def test_tables_are_rectangular(name):
    headings, rows = tables.TABLES[name](PUBLISHED)
    assert {len(row) for row in rows} == {len(headings)}
    assert name in tables.TITLES


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command with options; exit status, standard output and standard error."""

    def run(*options):
        monkeypatch.setattr(sys, "argv", [COMMAND, *map(str, options)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    return run


def test_command_writes_and_shows(command, tmp_path):
    single = tmp_path / "all.json"
    options = ("--steps", 1, "--seeds", 1, "--out", tmp_path, "--json", single)
    status, shown, messages = command(*options)
    assert (status, messages) == (0, "")
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {single.name, results.FILE, *plots.FIGURES}
    assert single.read_bytes() == (tmp_path / results.FILE).read_bytes()
    assert len(json.loads(single.read_text())["training"][0]["loss"]) == 1
    for title in tables.TITLES.values():
        assert title in " ".join(shown.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "0"], "Invalid value for '--steps'"),
        (["--out", "absent"], "--out absent is not a directory"),
        (["--json", "absent/all.json"], "there is no directory absent"),
    ],
)
def test_bad_options_are_one_line(command, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    status, shown, messages = command(*options)
    assert (status, shown) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1
