"""The lane programs as data: every unit once, and a schedule that keeps operands together."""

import pytest
from dve_rtl.config import PRESETS, EngineConfig
from dve_rtl.lane_program import (
    ACCUMULATORS,
    ADDERS,
    BACK_PROP,
    GRAD_ACCUMULATE,
    MULTIPLIERS,
    PARAMETERS,
    PREPARE,
    STREAMS,
    UNITS,
    Action,
    Schedule,
)

PROGRAMS = (GRAD_ACCUMULATE, BACK_PROP, PREPARE)


def test_seven_units_serve_both_opcodes():
    assert len(UNITS) == 7
    assert set(GRAD_ACCUMULATE) | set(BACK_PROP) == set(UNITS)
    assert len(MULTIPLIERS) == 3
    assert len(ADDERS) == 4


@pytest.mark.parametrize("program", PROGRAMS)
def test_units_do_what_they_can(program):
    for unit, step in program.items():
        assert (step.action is Action.MULTIPLY) == (unit in MULTIPLIERS)
        assert step.action is not Action.SUM or unit in ACCUMULATORS
        for source in step.operands:
            assert source in STREAMS + PARAMETERS or source in program


@pytest.mark.parametrize("config", [*PRESETS.values(), EngineConfig(mul_latency=1, add_latency=1)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_operand_is_late(program, config):
    schedule = Schedule(config)
    for unit, step in program.items():
        for source in step.operands:
            if source not in PARAMETERS:
                assert schedule.delay(program, unit, source) >= 0


@pytest.mark.parametrize("config", PRESETS.values())
def test_sums_appear_together(config):
    schedule = Schedule(config)
    assert len({schedule.ready(GRAD_ACCUMULATE, unit) for unit in ACCUMULATORS}) == 1


def test_latency_of_the_simulation_preset():
    # BackProp's longest chain: mul, sub, sub, mul; the two subtracters are accumulators, which
    # have one operand register each: 2 + (3 + 1) + (3 + 1) + 2.
    assert Schedule(PRESETS["sim"]).result(BACK_PROP) == 12
