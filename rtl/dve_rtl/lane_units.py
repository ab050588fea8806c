"""The units of a lane between widening and narrowing, with operands as the lane programs say."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.alu.arith import Arith
from dve_rtl.config import EngineConfig
from dve_rtl.fp32.accumulator import Accumulator, Fold
from dve_rtl.fp32.adder import Adder
from dve_rtl.fp32.multiplier import Multiplier
from dve_rtl.lane_orders import LaneProgram, Result, control_layout
from dve_rtl.lane_program import (
    ACCUMULATORS,
    ADDERS,
    ARITH,
    BACK_PROP,
    DIVIDE,
    FACTOR,
    GRAD_ACCUMULATE,
    MEAN,
    MOMENT_OPERANDS,
    MULTIPLIERS,
    ORIGIN,
    PARAMETERS,
    POOL,
    PREPARE,
    RESULT_OF_BACK_PROP,
    RESULT_OF_MOMENTS,
    RESULT_OF_POOL,
    SECOND_STREAMS,
    SPREAD,
    STATISTICS,
    STREAMS,
    TUPLE,
    UNITS,
    VARIANCE,
    WEIGH,
    Program,
    Schedule,
)

ONE_256TH = 0x3B800000
"""1/256, the general reciprocal of the one count that the Parameter RAM has no entry for."""


class LaneUnits(wiring.Component):
    """Seven fp32 units and the operators that do not round; one element per clock.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    control : In(control_layout(config))
    src0, src1 : In(32)
        Widened elements.
    second0, second1 : In(32)
        Those of the second element of a pair; not used where the generation has no pairs.
    mean, scale, n, b, a, recip, prefactor : In(32)
        Parameters, each in the clock in which its unit works.
    entry : In(32)
        Of the Parameter RAM, for the tail of statistics.
    o, second : Out(32)
        What ``control.result`` selects, of both elements of a pair; comes in clock R.
    product : Out(32)
        Of mul2: the prefactor of a prepare slot, or the mean of an Aggregate.
    sum0, sum1 : Out(32)
        Folds of ``acc0`` and ``acc1``.
    sums_valid : Out(1)
        The sums of a pass are there in the next clock and stay for at least 8 more.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.schedule = Schedule(config)
        super().__init__(
            {
                "control": In(control_layout(config)),
                **{name: In(32) for name in (*STREAMS, *SECOND_STREAMS, *PARAMETERS, "entry")},
                "o": Out(32),
                "second": Out(32),
                "product": Out(32),
                "sum0": Out(32),
                "sum1": Out(32),
                "sums_valid": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        units = {name: self._unit(name) for name in (*UNITS, ARITH)}
        for name, unit in units.items():
            m.submodules[name] = unit
        factor = Mux(control.operator.square, self.src0, self.src1)
        streams = {name: getattr(self, name) for name in (*STREAMS, *SECOND_STREAMS)}
        streams |= {FACTOR: factor, ORIGIN: self._origin(m)}
        results = {name: unit.o for name, unit in units.items()}
        delayed = DelayLines(m, streams | results)
        sums, moments = self._sums(m, units)
        self._operands(m, units, delayed, moments)

        for name in ADDERS:
            subtracts = name not in self.schedule.tensor_tensor
            m.d.comb += units[name].subtract.eq(subtracts | control.operator.subtract)
        with m.Switch(control.program):
            with m.Case(LaneProgram.STATISTICS):
                m.d.comb += units[RESULT_OF_MOMENTS].subtract.eq(control.moments.subtracts)
            with m.Case(LaneProgram.SPREAD):
                m.d.comb += units["acc2"].subtract.eq(0)
        tuples = _runs(control, LaneProgram.WEIGH, LaneProgram.SPREAD)
        for name in ACCUMULATORS:
            folding = [LaneProgram.GRAD_ACCUMULATE]
            if name in STATISTICS:
                folding += [LaneProgram.STATISTICS, LaneProgram.WEIGH, LaneProgram.SPREAD]
            m.d.comb += [
                units[name].accumulate.eq(_runs(control, *folding)),
                units[name].fold.eq(
                    Mux(tuples, Fold.TUPLES, Mux(control.halves, Fold.HALVES, Fold.WHOLE))
                ),
                units[name].valid.eq(control.sum_valid),
                units[name].last.eq(control.sum_last),
                units[name].blank.eq(control.sum_blank),
            ]
        m.d.comb += [
            units[ARITH].control.eq(control.operator.arith),
            self.product.eq(results["mul2"]),
            self.sum0.eq(sums["acc0"]),
            self.sum1.eq(sums["acc1"]),
            self.sums_valid.eq(units[ACCUMULATORS[0]].sum_valid),
        ]
        self._results(m, sums, results, delayed)
        return m

    def _origin(self, m: Module) -> Value:
        """x0 of the half that the element of this clock belongs to.

        The elements of a pass come without a pause, so an origin comes round with its half.
        """
        control = self.control
        origin, before, two_before = (Signal(32, name=f"origin_{age}") for age in range(3))
        m.d.sync += [before.eq(origin), two_before.eq(before)]
        m.d.comb += origin.eq(
            Mux(control.first, self.src0, Mux(control.halves, two_before, before))
        )
        return origin

    def _sums(self, m: Module, units) -> tuple[dict[str, Signal], dict[str, Value]]:
        """Sums of the latest pass, and what the tail of statistics takes of them and else."""
        moments = self.control.moments
        sums = {name: Signal(32, name=f"{name}_sum") for name in ACCUMULATORS}
        of_s, of_squares, spare = ACCUMULATORS
        odd_squares = Signal(32)
        with m.If(self.sums_valid):
            with m.If(self.control.halves & units[of_s].sum_is_odd):
                m.d.sync += [sums[spare].eq(units[of_s].sum), odd_squares.eq(units[of_squares].sum)]
            with m.Else():
                m.d.sync += [sums[name].eq(units[name].sum) for name in (of_s, of_squares)]
            with m.If(~self.control.halves):
                m.d.sync += sums[spare].eq(units[spare].sum)
        operands = {
            "sum": Mux(moments.sum_is_odd, sums[spare], sums[of_s]),
            "squares": Mux(moments.squares_are_odd, odd_squares, sums[of_squares]),
            "first": Mux(moments.first_is_odd, self.scale, self.mean),
            "share": Mux(moments.share_is_256th, ONE_256TH, self.entry),
            "size": moments.size,
        }
        return sums, operands

    def _unit(self, name: str) -> Multiplier | Accumulator | Adder | Arith:
        config = self.config
        if name in MULTIPLIERS:
            return Multiplier(latency=config.mul_latency, target=config.target)
        if name in ACCUMULATORS:
            return Accumulator(adder_latency=config.add_latency)
        if name == ARITH:
            return Arith(latency=self.schedule.latency(ARITH))
        return Adder(latency=config.add_latency)

    def _operands(self, m: Module, units, delayed: "DelayLines", moments) -> None:
        control, schedule = self.control, self.schedule

        def operand(program: Program, unit: str, source: str) -> Value:
            if source in PARAMETERS:
                return getattr(self, source)
            if source in MOMENT_OPERANDS:
                return moments[source]
            line = "src0" if source in TUPLE else source
            return delayed(line, schedule.delay(program, unit, source))

        is_statistics = _runs(control, LaneProgram.STATISTICS)
        weighs, spreads = _runs(control, LaneProgram.WEIGH), _runs(control, LaneProgram.SPREAD)
        under_variance = {
            "mul1": control.moments.multiplies_square,
            RESULT_OF_MOMENTS: control.moments.subtracts,
        }
        for name, unit in units.items():
            for port in ("a", "b"):
                choices = []
                for condition, program in (
                    (control.program == LaneProgram.GRAD_ACCUMULATE, GRAD_ACCUMULATE),
                    (control.prepare, PREPARE),
                    (control.program == LaneProgram.TENSOR_TENSOR, schedule.tensor_tensor),
                    (is_statistics, STATISTICS),
                    (is_statistics & under_variance.get(name, 0), VARIANCE),
                    (is_statistics, MEAN),
                    (weighs, WEIGH),
                    (weighs, DIVIDE),
                    (spreads, SPREAD),
                    (spreads, POOL),
                    (control.program == LaneProgram.BACK_PROP, BACK_PROP),
                ):
                    source = getattr(program[name], port) if name in program else None
                    if source is not None:
                        choices.append((condition, operand(program, name, source)))
                m.d.comb += getattr(unit, port).eq(_select(choices))

    def _results(self, m: Module, sums, results, delayed: "DelayLines") -> None:
        """What is narrowed; all units of TENSOR_TENSOR wait for the slowest one."""
        schedule = self.schedule
        program = schedule.tensor_tensor

        def waited(unit: str) -> Value:
            return delayed(unit, schedule.result(program) - schedule.ready(program, unit))

        def difference(unit: str) -> Value:
            value = waited(unit)
            return Cat(value[:-1], value[-1] & ~self.control.operator.magnitude)

        choices = {
            Result.SUM0: sums["acc0"],
            Result.SUM1: sums["acc1"],
            Result.SUM2: sums["acc2"],
            Result.BACK_PROP: results[RESULT_OF_BACK_PROP],  # and of POOL
            Result.SUM: difference("sub"),
            Result.PRODUCT: waited("mul0"),
            Result.CHOICE: waited(ARITH),
            Result.COUNT: self.control.n_value,
            Result.MOMENT: results[RESULT_OF_MOMENTS],
            Result.MEAN: self.scale,
        }
        assert RESULT_OF_POOL == RESULT_OF_BACK_PROP
        with m.Switch(self.control.result):
            for result, value in choices.items():
                with m.Case(result):
                    m.d.comb += self.o.eq(value)
        if self.config.traits.pairs:
            is_sum = self.control.result == Result.SUM
            m.d.comb += self.second.eq(Mux(is_sum, waited("acc0"), waited("mul1")))


class DelayLines:
    """Registers that hold a value for some clocks, shared by all who ask for the same."""

    def __init__(self, m: Module, sources: dict[str, Value]):
        self._m = m
        self._lines: dict[str, list[Value]] = {name: [v] for name, v in sources.items()}

    def __call__(self, source: str, clocks: int) -> Value:
        line = self._lines[source]
        while len(line) <= clocks:
            stage = Signal(line[0].shape(), name=f"{source}_after_{len(line)}")
            self._m.d.sync += stage.eq(line[-1])
            line.append(stage)
        return line[clocks]


def _runs(control, *programs: LaneProgram) -> Value:
    """The lane program is one of these."""
    return Cat(control.program == program for program in programs).any()


def _select(choices: list[tuple[Value, Value]]) -> Value:
    """The first choice whose condition holds; the last needs none."""
    if not choices:
        return Const(0, 32)
    *conditional, (_, chosen) = choices
    for condition, value in reversed(conditional):
        chosen = Mux(condition, value, chosen)
    return chosen
