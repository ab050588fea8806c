"""What the units of a lane do for each opcode, as data, and when.

The tables below are the datapath: one row per unit, saying what it takes. Everything else about
the datapath (operand multiplexers, delay lines, the clock in which each unit works) is derived
from them, so that a new opcode is a new table and nothing else.

Sources: batchnorm.md section 8 (GRAD_ACCUMULATE), section 9 (BACK_PROP, PREPARE) and section 10
(STATISTICS, MEAN, VARIANCE; of Aggregate WEIGH, DIVIDE, SPREAD, POOL); isa_common.md 5.4, 5.5 and
5.7 (TENSOR_TENSOR).
"""

from dataclasses import dataclass
from enum import Enum

from dve_golden.isa.operators import AluOp

from dve_rtl.alu import arith, bitvec
from dve_rtl.config import EngineConfig

MULTIPLIERS = ("mul0", "mul1", "mul2")
ADDERS = ("sub", "acc0", "acc1", "acc2")
UNITS = MULTIPLIERS + ADDERS
"""The fp32 units, which round."""

ARITH = "arith"
"""The unit of all operators that do not round (``alu/arith.py``)."""

ACCUMULATORS = ("acc0", "acc1", "acc2")
"""Adders that can also sum a stream; their operand register adds one clock of latency."""

STREAMS = ("src0", "src1")
"""Widened elements of the two sources."""

FACTOR = "factor"
"""The widened element of source 1; of source 0 for SQUARE."""

ORIGIN = "origin"
"""x0, the first element of the ordinals that an element of the statistics is counted among."""

TUPLE = {"part_count": 0, "part_mean": 1, "part_nvar": 2}
"""The elements of a tuple of Aggregate, which come in turn, with the clock of each after the first.

A program of tuples works once in three clocks; its clocks count from the arrival of a count.
"""

SECOND_STREAMS = ("second0", "second1")
"""Second elements of a pair, widened."""

PARAMETERS = ("mean", "scale", "n", "b", "a", "recip", "prefactor")
"""Per-channel values, read from the lane state when their unit works.

``scale`` is inv_std for GRAD_ACCUMULATE and C for BACK_PROP: both multiply the centred activation.
"""


MOMENT_OPERANDS = ("sum", "squares", "first", "share", "size")
"""What the tail of a statistics pass takes of one half when a unit needs it: the folds of s and of
s * s, x0, 1/n, and n."""


class Action(Enum):
    """What a unit does with its operands."""

    MULTIPLY = "a * b"
    SUBTRACT = "a - b"
    SUM = "fold of a over the pass"
    ADD = "a + b or a - b"
    CHOOSE = "operator of a, b"


@dataclass(frozen=True)
class Step:
    """One unit's row of a lane program."""

    action: Action
    a: str
    b: str | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        return (self.a,) if self.b is None else (self.a, self.b)


Program = dict[str, Step]

GRAD_ACCUMULATE: Program = {
    "sub": Step(Action.SUBTRACT, "src0", "mean"),
    "mul0": Step(Action.MULTIPLY, "sub", "scale"),  # xn = (om - mean) * inv_std
    "mul1": Step(Action.MULTIPLY, "src1", "mul0"),  # p = dy * xn
    "acc0": Step(Action.SUM, "src1"),  # d_beta
    "acc1": Step(Action.SUM, "mul1"),  # d_gamma
    "acc2": Step(Action.SUM, "mul0"),  # mean coupling
}

BACK_PROP: Program = {
    "sub": Step(Action.SUBTRACT, "src0", "mean"),  # c = x - mean
    "mul0": Step(Action.MULTIPLY, "sub", "scale"),  # t3 = c * C
    "mul1": Step(Action.MULTIPLY, "src1", "n"),  # t1 = N * dy
    "acc0": Step(Action.SUBTRACT, "mul1", "b"),  # t2 = t1 - B
    "acc1": Step(Action.SUBTRACT, "acc0", "mul0"),  # t4 = t2 - t3
    "mul2": Step(Action.MULTIPLY, "acc1", "prefactor"),
}

PREPARE: Program = {
    "mul2": Step(Action.MULTIPLY, "a", "recip"),  # prefactor = A * recip(N), once per channel
}
"""Runs in one slot ahead of each BACK_PROP pass, through the same multiplier at the same time."""

RESULT_OF_BACK_PROP = "mul2"

STATISTICS: Program = {
    "sub": Step(Action.SUBTRACT, "src0", ORIGIN),  # s = x - x0
    "mul0": Step(Action.MULTIPLY, "sub", "sub"),
    "acc0": Step(Action.SUM, "sub"),
    "acc1": Step(Action.SUM, "mul0"),
}

MEAN: Program = {
    "mul1": Step(Action.MULTIPLY, "sum", "share"),  # m
    "mul2": Step(Action.MULTIPLY, "mul1", "mul1"),
    "acc2": Step(Action.ADD, "first", "mul1"),  # mean = x0 + m
}
"""The tail of a STATISTICS pass, by the units that its elements leave free: see ``Moments``."""

VARIANCE: Program = {
    "mul1": Step(Action.MULTIPLY, "mul2", "size"),  # n * (m * m)
    "acc2": Step(Action.SUBTRACT, "squares", "mul1"),  # nvar
}

RESULT_OF_MOMENTS = "acc2"

WEIGH: Program = {
    "mul0": Step(Action.MULTIPLY, "part_count", "part_mean"),
    "acc0": Step(Action.SUM, "part_count"),  # n
    "acc1": Step(Action.SUM, "mul0"),
}
"""First sweep of an Aggregate over its tuples. Both folds are kept: n as N, the other as mean, in
the banks of immediates."""

DIVIDE: Program = {
    "mul2": Step(Action.MULTIPLY, "mean", "recip"),  # mean = fold(count * mean_i) * recip(n)
}
"""Once per channel, between its passes of both sweeps."""

SPREAD: Program = {
    "sub": Step(Action.SUBTRACT, "part_mean", "mean"),  # d
    "mul0": Step(Action.MULTIPLY, "sub", "sub"),
    "mul1": Step(Action.MULTIPLY, "part_count", "mul0"),
    "acc0": Step(Action.SUM, "part_nvar"),
    "acc1": Step(Action.SUM, "mul1"),
}
"""Second sweep."""

POOL: Program = {
    "acc2": Step(Action.ADD, "sum", "squares"),  # the folds of nvar and of count * (d * d)
    "mul2": Step(Action.MULTIPLY, "acc2", "recip"),  # variance
}
"""The tail of a SPREAD pass, beside the elements of the next one."""

RESULT_OF_POOL = "mul2"

TENSOR_TENSOR: Program = {
    "sub": Step(Action.ADD, "src0", "src1"),
    "mul0": Step(Action.MULTIPLY, "src0", FACTOR),
    ARITH: Step(Action.CHOOSE, "src0", "src1"),
}
"""All at once: the operator says whose result counts. CAST_PREDICATED passes src1 through arith."""

SECOND_OF_PAIR: Program = {
    "acc0": Step(Action.ADD, *SECOND_STREAMS),
    "mul1": Step(Action.MULTIPLY, *SECOND_STREAMS),
}
"""Beside TENSOR_TENSOR where the generation has pairs; other units are the first elements'."""

RESULT_OF_OPERATOR = {
    AluOp.ADD: "sub",
    AluOp.SUBTRACT: "sub",
    AluOp.ABSOLUTE_DIFF: "sub",
    AluOp.MULT: "mul0",
    AluOp.SQUARE: "mul0",
} | dict.fromkeys(arith.OPERATORS, ARITH)
"""The unit of TENSOR_TENSOR whose result counts."""


@dataclass(frozen=True)
class Schedule:
    """When each unit works, in clocks after the widened elements arrive.

    Parameters
    ----------
    config : EngineConfig
        Gives the latencies of the units.
    """

    config: EngineConfig

    @property
    def tensor_tensor(self) -> Program:
        """TENSOR_TENSOR with all units that it uses in this generation."""
        return TENSOR_TENSOR | (SECOND_OF_PAIR if self.config.traits.pairs else {})

    @property
    def bitvec_latency(self) -> int:
        """Clocks of the bit-vector unit, which works beside the narrowing converter."""
        return min(self.config.narrow_latency, len(bitvec.STAGES))

    def latency(self, unit: str) -> int:
        """Clocks from operands to result."""
        if unit == ARITH:
            # No deeper than it need be, nor than the units beside it.
            return min(len(arith.STAGES), max(self.config.mul_latency, self.config.add_latency))
        if unit in MULTIPLIERS:
            return self.config.mul_latency
        return self.config.add_latency + (1 if unit in ACCUMULATORS else 0)

    def ready(self, program: Program, source: str) -> int:
        """Clock in which a stream or a unit's result is there; parameters are there any time."""
        if source in program:
            return self.start(program, source) + self.latency(source)
        return TUPLE.get(source, 0)

    def start(self, program: Program, unit: str) -> int:
        """Clock in which a unit takes its operands: as soon as all are there.

        The accumulators of a program work in the same clock, so that their sums appear together
        and one store can write them one after the other.
        """
        if program is PREPARE:
            return self.start(BACK_PROP, unit)
        step = program[unit]
        peers = [step]
        if step.action is Action.SUM:
            peers = [other for other in program.values() if other.action is Action.SUM]
        return max(self.ready(program, source) for peer in peers for source in peer.operands)

    def delay(self, program: Program, unit: str, source: str) -> int:
        """Clocks for which an operand waits for its unit."""
        return self.start(program, unit) - self.ready(program, source)

    def result(self, program: Program) -> int:
        """Clock in which the program's last result is there; others wait for it."""
        return max(self.ready(program, unit) for unit in program)


@dataclass(frozen=True)
class Moments:
    """When the tail of a statistics pass works, in clocks after its folds are there.

    ``m`` is formed twice: for its square, and again so late that the mean leaves the units just
    ahead of the variance. So nothing has to be kept but the folds, and the results of a half,
    count, mean and variance, come in the order in which they are written.

    Parameters
    ----------
    config : EngineConfig
        Gives the latencies of the units.
    """

    config: EngineConfig

    MEAN = 0
    """``mul1`` forms m, to be squared."""

    @property
    def mean_again(self) -> int:
        """``mul1`` forms m again, in the clock before it forms n * (m * m)."""
        return self.variance - 1

    @property
    def variance(self) -> int:
        """``mul1`` forms n * (m * m)."""
        return 2 * self.config.mul_latency

    @property
    def add_mean(self) -> int:
        """``acc2`` adds x0."""
        return self.mean_again + self.config.mul_latency

    @property
    def subtract_variance(self) -> int:
        """``acc2`` forms the variance."""
        return self.add_mean + 1

    @property
    def count_result(self) -> int:
        """The count is narrowed; mean and variance in the two clocks after."""
        return self.add_mean + self.config.add_latency

    @property
    def odd_half(self) -> int:
        """Clocks by which the odd half follows the even one.

        Three for its results, and none in which both halves want ``mul1``.
        """
        taken = {self.mean_again - self.MEAN, self.variance - self.MEAN}
        return next(clocks for clocks in range(3, 6) if clocks not in taken)

    @property
    def end(self) -> int:
        """The clock after the last one in which a fold is needed."""
        return self.odd_half + self.subtract_variance + 1
