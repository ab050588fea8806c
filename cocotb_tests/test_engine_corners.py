"""Operands, walks, addresses at the corners; records one bit from legal ones: both sides agree."""

from collections import Counter
from functools import partial

import pytest
from benches.configs import SMALL
from dve_cosim.alignments import alignments
from dve_cosim.neighbours import neighbours
from dve_cosim.numeric_corners import numeric_corners
from dve_cosim.operator_corners import operator_corners
from dve_cosim.scoreboard import first_failure, golden, rtl
from dve_cosim.walk_corners import walk_corners
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


def test_operators_conversions_shifts_and_predicates_at_the_corners():
    workload = operator_corners(1, CONFIG)
    outcomes = golden(workload.programs, workload.states, config=CONFIG)
    assert {reason for outcome in outcomes for reason in outcome.reason} == {Reason.NONE}
    compare(workload)


def test_walks_at_the_ends_of_counts_and_reaches():
    workload = walk_corners(1, CONFIG)
    outcomes = golden(workload.programs, workload.states, config=CONFIG)
    reasons = Counter(reason for outcome in outcomes for reason in outcome.reason)
    assert reasons == {Reason.NONE: 4, Reason.WALK: 24}
    compare(workload)


def test_addresses_at_every_byte_of_a_word():
    workload = alignments(1, CONFIG)
    (outcome,) = golden(workload.programs, workload.states, config=CONFIG)
    reasons = {Reason.NONE, Reason.DTYPE, Reason.ALIGNMENT, Reason.REGION, Reason.IMMEDIATE}
    assert set(outcome.reason) == reasons
    compare(workload)


def test_records_one_bit_from_legal_ones():
    workload = neighbours(1, CONFIG)
    outcomes = golden(workload.programs, workload.states, config=CONFIG)
    reasons = Counter(reason for outcome in outcomes for reason in outcome.reason)
    assert reasons.keys() == set(Reason)
    compare(workload)
