"""Corner operands and records one bit away from legal ones: RTL and golden machine agree."""

from collections import Counter
from functools import partial

import pytest
from benches.configs import SMALL
from dve_cosim.neighbours import neighbours
from dve_cosim.numeric_corners import numeric_corners
from dve_cosim.scoreboard import first_failure, golden, rtl
from dve_golden.isa.enums import Reason

CONFIG = SMALL[4]


def compare(workload):
    failure = first_failure(
        workload.programs,
        workload.states,
        suspect=partial(rtl, config=CONFIG),
        reference=partial(golden, config=CONFIG),
    )
    if failure is not None:
        pytest.fail(str(failure), pytrace=False)


def test_operands_at_the_corners():
    compare(numeric_corners(1, CONFIG))


def test_records_one_bit_from_legal_ones():
    workload = neighbours(1, CONFIG)
    outcomes = golden(workload.programs, workload.states, config=CONFIG)
    reasons = Counter(reason for outcome in outcomes for reason in outcome.reason)
    assert reasons.keys() == set(Reason)
    compare(workload)
