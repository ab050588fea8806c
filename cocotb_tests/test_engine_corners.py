"""Operands, walks, addresses at the corners; records one bit from legal ones: both sides agree."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from benches.configs import SMALL
from dve_cosim.alignments import alignments
from dve_cosim.neighbours import neighbours
from dve_cosim.numeric_corners import numeric_corners
from dve_cosim.operator_corners import operator_corners
from dve_cosim.scoreboard import first_failure, golden, rtl
from dve_cosim.walk_corners import walk_corners
from dve_cosim.workloads import Workload, random_state
from dve_golden.isa.enums import Reason
from dve_golden.isa.text import assemble

CONFIG = SMALL[4]


def compare(workload, config=CONFIG):
    failure = first_failure(
        workload.programs,
        workload.states,
        suspect=partial(rtl, config=config),
        reference=partial(golden, config=config),
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
    in_place = 12 * 13  # types of sources and of destinations
    assert reasons == {Reason.NONE: 4 + in_place, Reason.WALK: 24, Reason.COUNT_MISMATCH: 1}
    compare(workload)


def test_as_many_passes_as_there_are_channels():
    """Of a lone lane; each has a number of its own, and is followed by another instruction."""
    config = SMALL[1]
    state = random_state(np.random.default_rng(1), config, special=0.0)
    program = assemble(
        "aggregate channels=128 src=sbuf[0:0x0]:uint16:3 dst=sbuf[0:0x100]:fp32:2\n"
        "nop\n"
        "aggregate channels=65 src=sbuf[0:0x200]:fp32:27 dst=sbuf[0:0x180]:fp32:2\n"
    )
    workload = Workload()
    workload.append(state, [program])
    compare(workload, config)


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
