"""What each way of summing costs in hardware, at one term per clock.

The figures of a `Unit` are measured on a Lattice ECP5-85F of speed grade 8, by Yosys and nextpnr,
median of three seeds, inside a harness that loads operands serially: those of the engine's units
by ``dve synth``, that of the exact accumulator on a prototype. Everything else is derived here from
the dependences between additions; no circuit of it has been built.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dve_golden.fp32.fold import PARTIALS
from dve_synth.recorded import CONFIG, Row, recorded

from dve_studies.summation.exact import PRECISION
from dve_studies.summation.schemes import (
    BLOCK,
    BLOCKED,
    COMPENSATED,
    EXACT,
    FOLD,
    PAIRWISE,
    SERIAL,
    Scheme,
    levels,
)

WORD = 32
ADDER_LATENCY = CONFIG.add_latency
"""Clocks of the adder in an accumulator; with the operand register its loop is one longer."""

LOOP = ADDER_LATENCY + 1
FOLD_TAIL = 3 * ADDER_LATENCY + PARTIALS
"""Clocks from the last term to the sum: the partials pass by, then three additions in a row.

These take an operand past the operand register.
"""

TWO_SUM_ADDITIONS = 6
"""Additions that give a rounding error without a comparison (Knuth)."""

TWO_SUM_DEPTH = 5
"""Of these, how many follow from one another."""

COUNT_BITS = 32
"""An access pattern has fewer than 2^32 elements."""


@dataclass(frozen=True)
class Unit:
    """Size and speed of a placed and routed unit, its harness included.

    Members
    -------
    lut4, ff : int
        Tables of four inputs, registers.
    mhz : float
        Highest clock.
    harness_lut4, harness_ff : int
        What of it is the harness.
    """

    lut4: int
    ff: int
    mhz: float
    harness_lut4: int
    harness_ff: int

    @property
    def net(self) -> tuple[int, int]:
        """LUT4 and FF without the harness."""
        return self.lut4 - self.harness_lut4, self.ff - self.harness_ff


def _of_engine(unit: str, latency: int) -> Unit:
    """A unit of the engine as it is recorded in docs/synthesis.json."""
    figures = recorded(Row(unit, latency))
    harness = figures["harness"]
    return Unit(figures["lut4"], figures["ff"], figures["mhz"], harness["lut4"], harness["ff"])


ADDER = _of_engine("add", ADDER_LATENCY)

ACCUMULATOR = _of_engine("acc", ADDER_LATENCY)
"""The fold with its control; without a fold it is an adder."""

MULTIPLIER = _of_engine("mul", CONFIG.mul_latency)

KULISCH = Unit(1289, 1129, 225, 33, 68)
"""Exact fixed-point accumulator: any order, one final rounding. A prototype."""


@dataclass(frozen=True)
class Cost:
    """Of one sum at a time.

    Members
    -------
    scheme : Scheme
    adders : int
        Floating-point adders that take one term per clock, or as many as the scheme can use.
    interval : float
        Clocks per term.
    tail : callable
        Number of terms to clocks from the last term to the sum; None if not known.
    state_bits : callable
        Number of terms to bits that are live between two terms.
    unit : Unit or None
        What was measured.
    remark : str
        What the measured unit is, or why there is none.
    """

    scheme: Scheme
    adders: int
    interval: float
    tail: Callable[[int], int] | None
    state_bits: Callable[[int], int]
    unit: Unit | None
    remark: str

    def clocks(self, n: int) -> int | None:
        """From the first of ``n`` terms to the sum."""
        return None if self.tail is None else round(n * self.interval) + self.tail(n)


def _waiting(n: int) -> int:
    """A tree over a stream keeps at most one finished subtree per level, and whether it does."""
    return levels(n) * (WORD + 1)


def _blocks(n: int) -> int:
    return -(-n // BLOCK)


def kulisch_bits(count_bits: int = COUNT_BITS) -> int:
    """Width of an accumulator that no sum of 2^count_bits finite terms overflows.

    Significands of 24 bits start at 254 places: one per exponent code of a normal number, the
    lowest shared with the subnormals. Carries of ``count_bits`` and a sign come on top.
    """
    places = 254
    return places - 1 + PRECISION + count_bits + 1


COSTS = (
    Cost(
        SERIAL,
        adders=1,
        interval=LOOP,
        tail=lambda n: 0,
        state_bits=lambda n: WORD,
        unit=ADDER,
        remark="the adder, a term every eighth clock",
    ),
    Cost(
        FOLD,
        adders=1,
        interval=1,
        tail=lambda n: FOLD_TAIL,
        state_bits=lambda n: PARTIALS * WORD,
        unit=ACCUMULATOR,
        remark="the engine's accumulator",
    ),
    Cost(
        BLOCKED,
        adders=1,
        # Each block costs the gap in which its partials pass by; its seven additions and the one
        # of the tree take the slots of that gap.
        interval=1 + PARTIALS / BLOCK,
        tail=lambda n: FOLD_TAIL - PARTIALS + LOOP * levels(_blocks(n)),
        state_bits=lambda n: PARTIALS * WORD + _waiting(_blocks(n)),
        unit=None,
        remark="the fold, and a buffer for the tree",
    ),
    Cost(
        PAIRWISE,
        adders=1,
        # n - 1 additions for n terms: level k has a term every 2^k clocks, all fit one adder.
        interval=1,
        tail=lambda n: LOOP * levels(n),
        state_bits=_waiting,
        unit=None,
        remark="an adder, a buffer and its schedule",
    ),
    Cost(
        COMPENSATED,
        adders=TWO_SUM_ADDITIONS + 1,
        # The running sum is a loop through one adder, so it is strided and folded like the plain
        # one; the sum of the errors follows behind.
        interval=1,
        tail=lambda n: TWO_SUM_DEPTH * ADDER_LATENCY + FOLD_TAIL + LOOP,
        state_bits=lambda n: 2 * PARTIALS * WORD,
        unit=None,
        remark="seven adders",
    ),
    Cost(
        EXACT,
        adders=0,
        interval=1,
        tail=None,
        state_bits=lambda n: kulisch_bits(),
        unit=KULISCH,
        remark="a prototype, with its final rounding",
    ),
)


@dataclass(frozen=True)
class Lane:
    """The arithmetic of a lane: units by kind, without memory and converters."""

    name: str
    units: tuple[tuple[Unit, int], ...]

    @property
    def lut4(self) -> int:
        return sum(unit.net[0] * count for unit, count in self.units)

    @property
    def ff(self) -> int:
        return sum(unit.net[1] * count for unit, count in self.units)


BACK_PROP_ADDERS = 3
"""Subtractions of BackProp, each on an adder of its own."""

SUMS = 3

LANES = (
    Lane("three folds, which are adders too", ((MULTIPLIER, 3), (ADDER, 1), (ACCUMULATOR, SUMS))),
    Lane(
        "three exact accumulators beside the adders",
        ((MULTIPLIER, 3), (ADDER, BACK_PROP_ADDERS), (KULISCH, SUMS)),
    ),
)
"""A fold is an adder and serves BackProp too. An exact accumulator is none, so the adders stay."""
