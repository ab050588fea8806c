"""Fuzzing of the RTL at a fixed seed; ``dve fuzz`` does the same for as long as one likes."""

from functools import partial

import pytest
from benches.configs import SMALL
from dve_cosim.crosses import CONTROL, OPERATOR, TYPES
from dve_cosim.fuzz import fuzz
from dve_cosim.fuzz_batch import LONG_EVERY, PROGRAMS
from dve_cosim.reachable import reachable_bins
from dve_cosim.scoreboard import golden, rtl
from dve_golden.isa.enums import Reason
from dve_golden.isa.generations import Generation

CONFIG = SMALL[4]
SEED = 4

COUNT = 2000
"""Programs: the twenty of `long_programs`; random ones of at most 4,096 elements times channels."""

SHARDS = 2
"""Tests, so that two cores share them; together they are one campaign."""

BATCHES = -(-COUNT // PROGRAMS // SHARDS)
"""Of the first shard; the last one may end within a batch."""


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_program_tells_the_sides_apart(shard):
    first = shard * BATCHES
    count = min(BATCHES * PROGRAMS, COUNT - first * PROGRAMS)
    result = fuzz(
        seed=SEED,
        first_batch=first,
        count=count,
        config=CONFIG,
        illegal=0.3,
        suspect=partial(rtl, config=CONFIG),
        reference=partial(golden, config=CONFIG),
    )
    if result.failure is not None:
        pytest.fail(f"batch {result.batch}:\n{result.failure}", pytrace=False)
    assert result.programs == count >= COUNT // LONG_EVERY
    assert not result.bins.keys() - reachable_bins(Generation.CAYMAN)
    # Nearly every value of every part of a bin, by opcode; all bins take a longer campaign.
    reachable = reachable_bins(Generation.CAYMAN)
    for part, share in (("types", 0.02), ("memory", 0.02), ("aliasing", 0.06)):
        missed = _values(reachable, part) - _values(result.bins, part)
        assert len(missed) <= share * len(_values(reachable, part)), missed
    illegal = {which for which in reachable if which.reason != Reason.NONE.name}
    assert len(illegal & result.missed) <= 0.2 * len(illegal), illegal & result.missed
    for kind, share in ((TYPES, 0.19), (OPERATOR, 0.88), (CONTROL, 0.99)):
        hit = sum(which.kind == kind for which in result.crosses)
        left_out = sum(which.kind == kind for which in result.missed_crosses)
        assert hit >= share * (hit + left_out), kind
    assert {reason.name for reason in Reason} == {which.reason for which in result.bins}


def _values(bins, part):
    return {(which.opcode, getattr(which, part)) for which in bins}
