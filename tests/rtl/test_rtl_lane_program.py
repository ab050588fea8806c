"""The lane programs as data: every unit once, and a schedule that keeps operands together."""

import pytest
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import GENERAL_ARITHMETIC
from dve_rtl.config import PRESETS, EngineConfig
from dve_rtl.lane_program import (
    ACCUMULATORS,
    ADDERS,
    ARITH,
    BACK_PROP,
    DIVIDE,
    FACTOR,
    GRAD_ACCUMULATE,
    MOMENT_OPERANDS,
    MULTIPLIERS,
    ORIGIN,
    PARAMETERS,
    POOL,
    PREPARE,
    RESULT_OF_OPERATOR,
    SECOND_OF_PAIR,
    SECOND_STREAMS,
    SPREAD,
    STATISTICS,
    STREAMS,
    TENSOR_TENSOR,
    TUPLE,
    UNITS,
    WEIGH,
    Action,
    Schedule,
)

PROGRAMS = (
    *(GRAD_ACCUMULATE, BACK_PROP, PREPARE, TENSOR_TENSOR, SECOND_OF_PAIR),
    *(STATISTICS, WEIGH, DIVIDE, SPREAD, POOL),
)


def test_seven_fp32_units_serve_both_opcodes():
    assert len(UNITS) == 7
    assert set(GRAD_ACCUMULATE) | set(BACK_PROP) == set(UNITS)
    assert len(MULTIPLIERS) == 3
    assert len(ADDERS) == 4


@pytest.mark.parametrize("program", PROGRAMS)
def test_units_do_what_they_can(program):
    for unit, step in program.items():
        assert (step.action is Action.MULTIPLY) == (unit in MULTIPLIERS)
        assert step.action is not Action.SUM or unit in ACCUMULATORS
        assert (step.action is Action.CHOOSE) == (unit == ARITH)
        for source in step.operands:
            known = (*STREAMS, FACTOR, *SECOND_STREAMS, *PARAMETERS, ORIGIN, *TUPLE)
            known += MOMENT_OPERANDS
            assert source in known or source in program


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


@pytest.mark.parametrize("beside", [(WEIGH, DIVIDE), (SPREAD, POOL)])
def test_sweeps_leave_units_free(beside):
    """The mean of one group is formed while another is swept, and the variance too."""
    elements, others = beside
    assert not elements.keys() & others.keys()


def test_latency_of_the_simulation_preset():
    # BackProp's longest chain: mul, sub, sub, mul; the two subtracters are accumulators, which
    # have one operand register each: 2 + (3 + 1) + (3 + 1) + 2.
    assert Schedule(PRESETS["sim"]).result(BACK_PROP) == 12


def test_every_operator_has_a_unit():
    assert set(RESULT_OF_OPERATOR) == set().union(*GENERAL_ARITHMETIC.values())
    assert set(RESULT_OF_OPERATOR.values()) == set(TENSOR_TENSOR)


def test_a_pair_has_units_for_both_elements():
    assert not TENSOR_TENSOR.keys() & SECOND_OF_PAIR.keys()
    actions = {step.action for step in SECOND_OF_PAIR.values()}
    assert actions == {Action.ADD, Action.MULTIPLY}


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("latencies", [(1, 1), (2, 3), (8, 7), (8, 1), (1, 7)])
def test_operators_wait_for_the_slowest_unit(generation, latencies):
    mul_latency, add_latency = latencies
    config = EngineConfig(generation=generation, mul_latency=mul_latency, add_latency=add_latency)
    schedule = Schedule(config)
    program = schedule.tensor_tensor
    # The second element of a pair is added in an accumulator, which has one register more.
    paired = generation is Generation.SUNDA
    assert schedule.result(program) == max(mul_latency, add_latency + paired)
    assert all(schedule.start(program, unit) == 0 for unit in program)
    assert schedule.ready(program, ARITH) <= schedule.result(program)
