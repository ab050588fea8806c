"""Cycles of the RTL are those that docs/architecture.md promises, to the clock."""

from pathlib import Path

import numpy as np
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
from dve_cosim.state import ArchState
from dve_golden.isa.text import assemble

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


def test_each_reciprocal_of_an_aggregate_takes_16_clocks():
    """One for all lanes that have the same count, one more for each other count."""
    config = SMALL[8]
    lane = np.arange(8)
    counts = [3 + 0 * lane, 300 + 0 * lane, 300 + lane % 2, 300 + lane]
    formed = [0, 1, 2, 8]
    state = ArchState.reset(config)
    for index, count in enumerate(counts):
        state.sbuf[:8, 4 * index : 4 * index + 4] = count.astype("<f4").view(np.uint8).reshape(8, 4)
    programs = [
        assemble(f"aggregate channels=8 src=sbuf[0:{4 * index}]:fp32:3@32 dst=sbuf[0:512]:fp32:2")
        for index in range(len(counts))
    ]
    results = run_batches(programs, config=config, state=state)
    cycles = [int(result.cycles[0]) for result in results]
    assert cycles == [cycles[0] + 16 * reciprocals for reciprocals in formed]
