"""Cycles of the RTL are those that docs/architecture.md promises, to the clock."""

from pathlib import Path

import pytest
from benches.configs import SMALL
from dve_cosim.cycle_counts import (
    CycleCounts,
    behind_another,
    cases_alone,
    cases_behind,
    measured_from,
)
from dve_cosim.session import run_batches

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


@pytest.mark.parametrize("lanes", [1, 8])
def test_cycles_follow_the_formulas(lanes):
    config, documented = SMALL[lanes], CycleCounts(PAGE.read_text())
    behind, alone = cases_behind(), cases_alone()
    programs = [behind_another(behind), *(case.encode() for case in alone)]
    results = run_batches(programs, config=config, state=measured_from(config))
    first = next(results)
    assert not first.reason.any()
    measured = dict(zip(behind, first.cycles[1::2].tolist(), strict=True))
    assert measured == {case: documented.expected(case, config, alone=False) for case in behind}
    for case, result in zip(alone, results, strict=True):
        expected = documented.expected(case, config, alone=True)
        assert (case, result.cycles.tolist()) == (case, [expected])
