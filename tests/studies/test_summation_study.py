"""The study of summation as published: measured again, drawn again, and its command."""

import json
import math
import sys

import pytest
from dve_studies.summation import plots, results, study, tables
from dve_studies.summation.__main__ import COMMAND, main

REWRITE = "run: .venv/bin/python -m dve_studies.summation --out docs/studies"
LONGEST = 1 << 12
"""Lengths and layers above it are taken as published."""

PUBLISHED = results.published()


def close(got, want, where=""):
    """Same structure, texts and integers; numbers equal in four digits."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), where
        for key in want:
            close(got[key], want[key], f"{where}/{key}")
    elif isinstance(want, list):
        assert len(got) == len(want), where
        for at, pair in enumerate(zip(got, want, strict=True)):
            close(*pair, f"{where}/{at}")
    elif isinstance(want, float):
        assert math.isclose(got, want, rel_tol=1e-4), f"{where}: {got}, not {want}; {REWRITE}"
    else:
        assert got == want, f"{where}: {got}, not {want}; {REWRITE}"


def test_measurements_are_what_the_code_measures():
    again = study.Study(
        growth=study.growth(LONGEST),
        layout=study.layout(study.TYPICAL),
        hard=study.hard(study.TYPICAL),
        conditioned=study.conditioned(2048, study.CONDITIONS),
        order=study.order(study.PERMUTATIONS),
        layers=study.layers([n for n in study.LAYER_SIZES if n <= LONGEST]),
    )
    shown = study.Study(
        growth=[case for case in PUBLISHED.growth if case.n <= LONGEST],
        layout=PUBLISHED.layout,
        hard=PUBLISHED.hard,
        conditioned=PUBLISHED.conditioned,
        order=PUBLISHED.order,
        layers=[row for row in PUBLISHED.layers if row.n <= LONGEST],
    )
    close(json.loads(results.dumps(again)), json.loads(results.dumps(shown)))


def test_all_lengths_and_layers_are_published():
    assert {case.n for case in PUBLISHED.growth} == {1 << k for k in range(3, 21)}
    assert {row.n for row in PUBLISHED.layers} == set(study.LAYER_SIZES)


def test_figures_show_the_measurements():
    figures = plots.figures(PUBLISHED)
    shown = {path.name for path in results.PAGE_FOLDER.glob("summation*.svg")}
    assert figures.keys() == shown
    for name, drawn in figures.items():
        assert drawn == (results.PAGE_FOLDER / name).read_bytes(), f"{name} is stale; {REWRITE}"
        assert len(drawn) < 150_000, name


def test_every_figure_is_on_the_page():
    page = (results.PAGE_FOLDER / "summation.md").read_text()
    for name in plots.FIGURES:
        assert f"]({name})" in page


def test_file_keeps_six_digits_and_infinity():
    case = PUBLISHED.hard[-1]
    assert case.terms == "overflow on the way"
    assert math.isinf(case.errors["serial"].worst)
    assert results.rounded(PUBLISHED) == PUBLISHED


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
    single = tmp_path / "sums.json"
    status, shown, messages = command("--largest", 2048, "--out", tmp_path, "--json", single)
    assert (status, messages) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {
        *(single.name, results.FILE),
        *plots.FIGURES,
    }
    found = results.loads(single.read_bytes())
    assert max(case.n for case in found.growth) == max(row.n for row in found.layers) == 2048
    close(json.loads(results.dumps(found))["hard"], json.loads(results.dumps(PUBLISHED))["hard"])
    for title in tables.TITLES.values():
        assert title in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--largest", "8"], "Invalid value for '--largest'"),
        (["--out", "absent"], "--out absent is not a directory"),
        (["--json", "absent/sums.json"], "there is no directory absent"),
        (["--fast"], "No such option"),
    ],
)
def test_bad_options_are_one_line(command, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    status, shown, messages = command(*options)
    assert (status, shown) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1


def test_help_has_examples(command):
    status, shown, _ = command("--help")
    assert status == 0
    assert "--out docs/studies" in " ".join(shown.split())
