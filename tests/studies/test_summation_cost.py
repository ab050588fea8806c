"""The derived costs of summation, against the engine where it has the same thing."""

import heapq
from collections import Counter

import numpy as np
import pytest
from dve_rtl.lane_program import ACCUMULATORS, ADDERS, BACK_PROP, GRAD_ACCUMULATE, MULTIPLIERS
from dve_studies.summation import cost, schemes
from dve_studies.summation.exact import to_units
from dve_synth.units import UNITS

BY_SCHEME = {each.scheme: each for each in cost.COSTS}


def test_every_scheme_has_a_cost():
    assert tuple(BY_SCHEME) == schemes.SCHEMES


def test_exact_accumulator_holds_the_largest_sum_and_no_bit_more():
    largest = to_units(np.finfo(np.float32).max)
    total = ((1 << cost.COUNT_BITS) - 1) * largest
    assert total.bit_length() == cost.kulisch_bits() - 1  # beside the sign


def stream_through_tree(n):
    """One adder, a term per clock, the highest level first: clocks to the sum, most words held."""
    waiting, in_flight, clock, held = Counter(), [], 0, 0
    for _ in range(n - 1):
        while True:
            while in_flight and in_flight[0][0] <= clock:
                waiting[heapq.heappop(in_flight)[1]] += 1
            waiting[0] += clock < n
            ready = [level for level, words in waiting.items() if words >= 2]
            held = max(held, waiting.total() - 2 * bool(ready))
            clock += 1
            if ready:
                waiting[max(ready)] -= 2
                heapq.heappush(in_flight, (clock - 1 + cost.LOOP, max(ready) + 1))
                break
    return in_flight[-1][0], held


@pytest.mark.parametrize("n", [1 << k for k in range(1, 13)])
def test_one_adder_suffices_for_a_tree(n):
    clocks, held = stream_through_tree(n)
    pairwise = BY_SCHEME[schemes.PAIRWISE]
    assert abs(clocks - pairwise.clocks(n)) <= 2
    assert held <= schemes.levels(n)
    assert held * (cost.WORD + 1) <= pairwise.state_bits(n)


def test_gap_of_a_block_has_a_slot_for_every_addition_of_it():
    """Seven of the fold, and at most one of the tree, per block."""
    blocked = BY_SCHEME[schemes.BLOCKED]
    slots = (blocked.interval - 1) * schemes.BLOCK
    assert slots == (cost.PARTIALS - 1) + 1


def test_the_fold_takes_as_long_as_that_of_the_engine():
    assert UNITS["acc"].clocks(cost.ADDER_LATENCY) == f"{cost.LOOP}, fold {cost.FOLD_TAIL}"


def test_lane_has_the_units_of_the_engine():
    """An exact accumulator replaces no adder that BackProp uses."""
    assert sum(unit in ADDERS for unit in BACK_PROP) == cost.BACK_PROP_ADDERS
    assert sum(unit in ACCUMULATORS for unit in GRAD_ACCUMULATE) == cost.SUMS
    today, exact = cost.LANES
    counts = Counter(dict(today.units))
    assert counts[cost.MULTIPLIER] == len(MULTIPLIERS)
    assert counts[cost.ADDER] + counts[cost.ACCUMULATOR] == len(ADDERS)
    assert Counter(dict(exact.units))[cost.KULISCH] == cost.SUMS


def test_a_lane_is_counted_without_the_harness_of_its_units():
    small, large = cost.Unit(43, 88, 200.0, 33, 68), cost.Unit(133, 1068, 200.0, 33, 68)
    lane = cost.Lane("three and one", ((small, 3), (large, 1)))
    assert (lane.lut4, lane.ff) == (3 * 10 + 100, 3 * 20 + 1000)
