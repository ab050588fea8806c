"""Fuzzing of the RTL at a fixed seed; ``dve fuzz`` does the same for as long as one likes."""

from functools import partial

import pytest
from benches.configs import SMALL
from dve_cosim.coverage import ALL_TYPES
from dve_cosim.fuzz import fuzz
from dve_cosim.scoreboard import golden, rtl
from dve_golden.isa.enums import Opcode, Reason

CONFIG = SMALL[4]

COUNT = 200
"""Programs: 7 s on a busy machine with two cores, where 2,000 take above a minute."""


RARE = {"COUNT_ZERO", "OPERATOR", "REGION"}
"""Reasons that so few programs may miss; `test_engine_random` reaches every one."""


def test_no_program_tells_the_sides_apart():
    result = fuzz(
        seed=4,
        count=COUNT,
        config=CONFIG,
        illegal=0.3,
        suspect=partial(rtl, config=CONFIG),
        reference=partial(golden, config=CONFIG),
    )
    if result.failure is not None:
        pytest.fail(f"batch {result.batch}:\n{result.failure}", pytrace=False)
    assert result.programs == COUNT
    legal = {which for which in result.bins if which.reason == "NONE"}
    assert {which.opcode for which in legal} == {opcode.name for opcode in Opcode}
    for name, types in ALL_TYPES.items():
        seen = {which.types for which in legal if which.opcode == name}
        assert 2 * len(seen) > len(types), name
    assert {which.aliasing for which in legal} == {
        *("-", "disjoint", "in place", "overlaps src0", "overlaps src1", "overlaps both"),
    }
    assert {which.reason for which in result.bins} >= {reason.name for reason in Reason} - RARE
