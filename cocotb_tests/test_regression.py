"""The programs of tests/regression: golden machine and RTL end in the same state."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from benches.configs import SMALL
from dve_cosim.case import Case
from dve_cosim.scoreboard import first_failure, golden, rtl
from dve_golden.isa.generations import Generation

FOLDER = Path(__file__).parents[1] / "tests" / "regression"
CONFIG = SMALL[4]

PROGRAMS = {
    generation: sorted(folder.glob("*.bin"))
    for generation in Generation
    for folder in [FOLDER if generation is Generation.CAYMAN else FOLDER / generation.value]
}
"""By the generation that they are for; only those with a folder."""


def test_every_case_is_complete_and_explained():
    names = {path.stem for paths in PROGRAMS.values() for path in paths}
    assert {"sums_feed_parameters", "malformed_addresses"} <= names
    assert len(names) == sum(map(len, PROGRAMS.values()))
    assert {path.stem for path in FOLDER.rglob("*.npz")} == names
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


@pytest.mark.parametrize("generation", [which for which, paths in PROGRAMS.items() if paths])
def test_no_case_tells_the_sides_apart(generation):
    config = replace(CONFIG, generation=generation)
    cases = [Case.load(path, generation) for path in PROGRAMS[generation]]
    for path, case in zip(PROGRAMS[generation], cases, strict=True):
        assert case.config(4) == config, f"{path.name}: of other memory sizes than this build"
    failure = first_failure(
        [case.program for case in cases],
        {index: case.state for index, case in enumerate(cases)},
        suspect=partial(rtl, config=config),
        reference=partial(golden, config=config),
    )
    if failure is not None:
        pytest.fail(str(failure), pytrace=False)
