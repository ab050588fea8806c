"""The programs of tests/regression: golden machine and RTL end in the same state."""

from functools import partial
from pathlib import Path

import pytest
from benches.configs import SMALL
from dve_cosim.case import Case
from dve_cosim.scoreboard import first_failure, golden, rtl

FOLDER = Path(__file__).parents[1] / "tests" / "regression"
PROGRAMS = sorted(FOLDER.glob("*.bin"))
CONFIG = SMALL[4]


def test_every_case_is_complete_and_explained():
    names = {path.stem for path in PROGRAMS}
    assert {"sums_feed_parameters", "malformed_addresses"} <= names
    assert {path.stem for path in FOLDER.glob("*.npz")} == names
    lines = (FOLDER / "README.md").read_text().splitlines()
    assert {line.split("`")[1] for line in lines if line.startswith("| `")} == names


@pytest.mark.parametrize(
    ("name", "reasons"),
    [("sums_feed_parameters", [0, 0, 0]), ("malformed_addresses", [13, 0, 13, 13, 13, 7])],
)
def test_what_the_first_cases_are_about(name, reasons):
    case = Case.load(FOLDER / f"{name}.bin")
    (outcome,) = golden([case.program], {0: case.state}, config=CONFIG)
    assert outcome.reason == reasons


def test_no_case_tells_the_sides_apart():
    cases = [Case.load(path) for path in PROGRAMS]
    for path, case in zip(PROGRAMS, cases, strict=True):
        assert case.config(4) == CONFIG, f"{path.name}: of other memory sizes than this build"
    failure = first_failure(
        [case.program for case in cases],
        {index: case.state for index, case in enumerate(cases)},
        suspect=partial(rtl, config=CONFIG),
        reference=partial(golden, config=CONFIG),
    )
    if failure is not None:
        pytest.fail(str(failure), pytrace=False)
