"""Fixed clocks of the engine that programs can see, by configuration.

``docs/architecture.md`` explains them; `cocotb_tests/test_engine_cycles.py` measures them.
"""

from dve_rtl.config import EngineConfig
from dve_rtl.lane_aggregate import AGGREGATE_CLOCKS, clocks_ahead
from dve_rtl.lane_orders import LOAD_LATENCY
from dve_rtl.lane_program import (
    ACCUMULATORS,
    BACK_PROP,
    GRAD_ACCUMULATE,
    POOL,
    SPREAD,
    STATISTICS,
    WEIGH,
    Moments,
    Program,
    Schedule,
)

GATHER_CLOCKS = 1
"""From the last beat of a record to the whole record."""
FIRST_ISSUE_CLOCKS = 2
"""From an operation to its first address at the memories."""
RECIPROCAL_CLOCKS = 13
"""Of a parameter load, to form 1/N."""
COMPLETION_CLOCKS = 2
"""From the last write to the completion on the stream."""
SUMS = len(ACCUMULATORS)
"""Results of a GradAccum, written one per clock."""


def fold_clocks(config: EngineConfig) -> int:
    """From the last element at an accumulator to its sum: the eight clocks in which the partials
    come round, and three additions."""
    return 8 + 3 * config.add_latency


def grad_accumulate_tail(config: EngineConfig) -> int:
    """From the last address at the memories to the write of the third sum."""
    arrival = LOAD_LATENCY + config.widen_latency
    accumulate = Schedule(config).start(GRAD_ACCUMULATE, "acc0")
    return arrival + accumulate + fold_clocks(config) + SUMS + config.narrow_latency


def _summed(config: EngineConfig, program: Program) -> int:
    """From the last address at the memories to the clock in which its sums can be used."""
    arrival = LOAD_LATENCY + config.widen_latency
    return arrival + Schedule(config).start(program, "acc0") + fold_clocks(config) + 1


def stats_tail(config: EngineConfig) -> int:
    """From the last address at the memories to the write of nvar."""
    return _summed(config, STATISTICS) + Moments(config).count_result + 2 + config.narrow_latency


def stats2_tail(config: EngineConfig) -> int:
    """The same of the odd half; the fold of a half is one addition shorter."""
    return stats_tail(config) - config.add_latency + Moments(config).odd_half


def aggregate_tail(config: EngineConfig) -> int:
    """From the last address at the memories to the write of the variance."""
    return _summed(config, SPREAD) + Schedule(config).result(POOL) + config.narrow_latency


def aggregate_turn(config: EngineConfig) -> int:
    """From the last address of the first sweep to the first one of the second.

    If recip(n) of the last channel group is an entry of the Parameter RAM, or formed already.
    """
    return _summed(config, WEIGH) + AGGREGATE_CLOCKS + clocks_ahead(config) + FIRST_ISSUE_CLOCKS


def result_tail(config: EngineConfig, program: Program) -> int:
    """From an address at the memories to the write of its result."""
    result = Schedule(config).result(program)
    return LOAD_LATENCY + config.widen_latency + result + config.narrow_latency


def back_prop_tail(config: EngineConfig) -> int:
    """The same for BackProp."""
    return result_tail(config, BACK_PROP)


def tensor_tensor_tail(config: EngineConfig) -> int:
    """The same for the arithmetic operators and conversions; none is quicker than another."""
    return result_tail(config, Schedule(config).tensor_tensor)


def raw_tail(config: EngineConfig) -> int:
    """The same for bit-vector operators and exact copies, which no converter sees."""
    return LOAD_LATENCY + Schedule(config).bitvec_latency


def param_load_tail(config: EngineConfig) -> int:
    """From the last address at the memories to the clock after its parameter is written."""
    return LOAD_LATENCY + config.widen_latency + 1


def overhead(config: EngineConfig, tail: int, reciprocal: int = 0) -> int:
    """Clocks that an instruction takes beyond its slots, its operation waiting from the start."""
    return FIRST_ISSUE_CLOCKS + reciprocal + tail + COMPLETION_CLOCKS - 1
