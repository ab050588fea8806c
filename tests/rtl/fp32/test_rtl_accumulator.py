# amaranth: UnusedElaboratable=no
"""Accumulator: the order of the fold, its schedule, and its arithmetic.

The schedule is tested with a cheap stand-in for the adder whose operation is commutative but not
associative, so that a lost, repeated or misplaced operand changes the result.
"""

import random
from collections.abc import Callable, Iterator

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from binary32_reference import SIGN, class_pairs, grid_pairs, reference_add, softfloat_add, stream
from dve_rtl.fp32 import accumulator
from dve_rtl.fp32.accumulator import Accumulator, Fold, min_period

GAP = 8


def mixed(a: int, b: int) -> int:
    """Rotate the sum by one place and add 1."""
    total = a + b & 0xFFFFFFFF
    return ((total << 1 | total >> 31) + 1) & 0xFFFFFFFF


class MixingAdder(wiring.Component):
    """Stand-in with the ports and latency of the adder."""

    a: In(32)
    b: In(32)
    subtract: In(1)
    o: Out(32)

    def __init__(self, *, latency: int):
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        value = ((self.a + self.b)[:32].rotate_left(1) + 1)[:32]
        for _ in range(self.latency):
            register = Signal(32)
            m.d.sync += register.eq(value)
            value = register
        m.d.comb += self.o.eq(value)
        return m


def partials(values: list[int], add: Callable[[int, int], int]) -> list[int]:
    q = [0] * 8
    for ordinal, value in enumerate(values):
        q[ordinal % 8] = add(value, q[ordinal % 8])
    return q


def fold(values: list[int], add: Callable[[int, int], int]) -> int:
    """batchnorm.md section 8."""
    q = partials(values, add)
    return add(add(add(q[0], q[1]), add(q[2], q[3])), add(add(q[4], q[5]), add(q[6], q[7])))


def fold_halves(values: list[int], add: Callable[[int, int], int]) -> list[int]:
    """batchnorm.md section 10: of the even ordinals, then of the odd ones."""
    q = partials(values, add)
    return [add(add(q[h], q[h + 2]), add(q[h + 4], q[h + 6])) for h in (0, 1)]


class Sums(list):
    """The sums of several passes; of HALVES, a pair for each pass."""

    def take(self, how: Fold, value: int, is_odd: int) -> None:
        if how is not Fold.HALVES:
            self.append(value)
            return
        if not self or None not in self[-1]:
            self.append([None, None])
        assert self[-1][is_odd] is None
        self[-1][is_odd] = value


def run(
    dut: Accumulator,
    passes: list[list[int]],
    periods: Iterator[int],
    how: Fold = Fold.WHOLE,
    blank: Callable[[], int] = lambda: 0,
):
    """Feed passes; ``periods`` gives the distance to the next one.

    Of TUPLES, ``passes`` are the first of each three; ``blank`` gives what stands in the others.

    Returns
    -------
    sums : list
    latency : int
        Clocks from the last element of all to the last sum.
    """
    sums = Sums()
    cycle = last_element = last_sum = 0

    async def step(ctx):
        nonlocal cycle, last_sum
        if ctx.get(dut.sum_valid):
            sums.take(how, ctx.get(dut.sum), ctx.get(dut.sum_is_odd))
            last_sum = cycle
        await ctx.tick()
        cycle += 1

    def clocks(values: list[int]) -> list[tuple[int, int]]:
        """What goes in: an element, and whether it does not count."""
        if how is not Fold.TUPLES:
            return [(value, 0) for value in values]
        return [slot for value in values for slot in ((value, 0), (blank(), 1), (blank(), 1))]

    async def bench(ctx):
        nonlocal last_element
        ctx.set(dut.accumulate, 1)
        ctx.set(dut.fold, how)
        # What accumulate must ignore.
        ctx.set(dut.b, 0x3F800000)
        ctx.set(dut.subtract, 1)
        for values in passes:
            ctx.set(dut.valid, 1)
            slots = clocks(values)
            for ordinal, (value, is_blank) in enumerate(slots):
                ctx.set(dut.last, ordinal == len(slots) - 1)
                ctx.set(dut.a, value)
                ctx.set(dut.blank, is_blank)
                last_element = cycle
                await step(ctx)
            ctx.set(dut.valid, 0)
            for _ in range(next(periods) - len(slots)):
                await step(ctx)
        for _ in range(3 * dut.adder_latency + 12):
            await step(ctx)

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    return sums, last_sum - last_element


def random_passes(rng: random.Random, lengths: list[int]) -> list[list[int]]:
    return [[rng.getrandbits(32) for _ in range(length)] for length in lengths]


@pytest.fixture
def mixing(monkeypatch):
    monkeypatch.setattr(accumulator, "Adder", MixingAdder)


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize("adder_latency", range(1, 8))
def test_every_short_pass(adder_latency):
    """Every length of pass at its shortest period, and short ones at longer periods too."""
    runs = []  # length of a pass, period, passes
    for length in range(1, 41):
        shortest = max(length + GAP, min_period(adder_latency))
        runs.append((length, shortest, 8 if length < 20 else 4))
        if length in (1, 2, 3, 4, 8, 9):
            runs += [(length, shortest + extra, 6) for extra in range(1, 9)]
    rng = random.Random(adder_latency)
    lengths, periods = [], []
    for length, period, count in runs:
        lengths += [length] * count
        periods += [period] * (count - 1)
        periods.append(length + 3 * adder_latency + 12)  # the next run finds nothing in flight
    passes = random_passes(rng, lengths)
    sums, _ = run(Accumulator(adder_latency=adder_latency), passes, iter(periods))
    for number, (got, values) in enumerate(zip(sums, passes, strict=True)):
        assert got == fold(values, mixed), f"pass {number} of {len(values)} elements"


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize("adder_latency", range(1, 8))
def test_irregular_periods(adder_latency):
    rng = random.Random(adder_latency)
    lengths, periods = [], []
    for _ in range(30):
        length = rng.randint(1, 16)
        slack = rng.choice(((0, 1, 2), (0, 0, 0, 1), (0, 0, 3, 7)))
        for _ in range(16):
            lengths.append(length)
            periods.append(max(length + GAP + rng.choice(slack), min_period(adder_latency)))
        periods[-1] += 3 * adder_latency + 4
    passes = random_passes(rng, lengths)
    sums, _ = run(Accumulator(adder_latency=adder_latency), passes, iter(periods))
    assert sums == [fold(values, mixed) for values in passes]


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize("adder_latency", range(1, 8))
def test_every_short_pass_in_halves(adder_latency):
    """As one sum, at the shortest periods and at irregular ones."""
    rng = random.Random(500 + adder_latency)
    lengths, periods = [], []
    for length in (*range(1, 27), 33):
        shortest = max(length + GAP, min_period(adder_latency))
        for slack in ((0,), (0, 1, 2), (0, 0, 3, 7)):
            lengths += [length] * 8
            periods += [shortest + rng.choice(slack) for _ in range(8)]
            periods[-1] += 3 * adder_latency + 4
    passes = random_passes(rng, lengths)
    sums, _ = run(Accumulator(adder_latency=adder_latency), passes, iter(periods), Fold.HALVES)
    for number, (got, values) in enumerate(zip(sums, passes, strict=True)):
        assert got == fold_halves(values, mixed), f"pass {number} of {len(values)} elements"


@pytest.mark.parametrize("adder_latency", range(1, 8))
def test_every_short_pass_in_tuples(adder_latency, monkeypatch):
    """Blanks leave a partial as it is, so the stand-in may not change what it adds +0 to."""

    def changes_nothing(a, b):
        return (a == 0) | (b == 0)

    class KeepingAdder(MixingAdder):
        def elaborate(self, platform):
            m = Module()
            mix = ((self.a + self.b)[:32].rotate_left(1) + 1)[:32]
            value = Mux(changes_nothing(self.a, self.b), self.a | self.b, mix)
            for _ in range(self.latency):
                register = Signal(32)
                m.d.sync += register.eq(value)
                value = register
            m.d.comb += self.o.eq(value)
            return m

    monkeypatch.setattr(accumulator, "Adder", KeepingAdder)
    rng = random.Random(600 + adder_latency)
    lengths, periods = [], []
    for length in range(1, 20):
        shortest = max(3 * length + GAP, min_period(adder_latency))
        for slack in ((0,), (0, 1, 2), (0, 0, 3, 7)):
            lengths += [length] * 6
            periods += [shortest + rng.choice(slack) for _ in range(6)]
            periods[-1] += 3 * adder_latency + 4
    passes = random_passes(rng, lengths)
    sums, _ = run(
        Accumulator(adder_latency=adder_latency),
        passes,
        iter(periods),
        Fold.TUPLES,
        lambda: rng.getrandbits(32),
    )

    def keep(a: int, b: int) -> int:
        return a | b if changes_nothing(a, b) else mixed(a, b)

    for number, (got, values) in enumerate(zip(sums, passes, strict=True)):
        assert got == fold(values, keep), f"pass {number} of {len(values)} tuples"


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize("adder_latency", [6, 7])
def test_a_shorter_period_loses_operands(adder_latency):
    """``min_period`` is the smallest one; up to latency 5 nothing shorter fits the gap."""
    period = min_period(adder_latency) - 1
    rng = random.Random(adder_latency)

    def survives(length: int) -> bool:
        passes = random_passes(rng, [length] * 10)
        sums, _ = run(Accumulator(adder_latency=adder_latency), passes, iter([period] * 10))
        return sums == [fold(values, mixed) for values in passes]

    assert not all(survives(length) for length in range(1, period - GAP + 1))


@pytest.mark.usefixtures("mixing")
@pytest.mark.parametrize("adder_latency", range(1, 8))
def test_latency_of_a_lone_fold(adder_latency):
    for length in (*range(1, 9), 13):
        passes = random_passes(random.Random(length), [length])
        _, latency = run(Accumulator(adder_latency=adder_latency), passes, iter([length]))
        two_in_one_slot = adder_latency == 1 and length % 4 == 1
        assert latency == 3 * adder_latency + 8 + two_in_one_slot
        _, latency = run(
            Accumulator(adder_latency=adder_latency), passes, iter([length]), Fold.HALVES
        )
        assert latency == 2 * adder_latency + 8 + (adder_latency == 1)


@pytest.mark.parametrize("adder_latency", [1, 3, 7])
def test_sums(adder_latency):
    rng = random.Random(300 + adder_latency)
    lengths = [1, 2, 3, 5, 7, 8, 9, 12, 16, 17, 30, 41]
    values = iter(
        bits for pair in grid_pairs(rng, 200) for bits in pair if bits & SIGN - 1 < 0x7F800000
    )
    passes = [[next(values) for _ in range(length)] for length in lengths]
    passes += [
        [0x80000000],
        [0x80000000] * 17,
        [0x7F800000, 0x3F800000, 0xFF800000],
        [0xFFC12345, 0x3F800000],
        # Of similar scale and mixed signs: every addition rounds, the order of addition shows.
        [rng.randint(0x3F000000, 0x4B000000) | rng.choice((0, SIGN)) for _ in range(29)],
    ]

    def summed(how: Fold, clocks: int = 1):
        periods = [max(clocks * len(v) + GAP, min_period(adder_latency)) for v in passes]
        dut = Accumulator(adder_latency=adder_latency)
        return run(dut, passes, iter(periods), how, lambda: rng.getrandbits(32))[0]

    whole = summed(Fold.WHOLE)
    assert whole == [fold(values, reference_add) for values in passes]
    assert whole == [fold(values, softfloat_add) for values in passes]
    assert whole[len(lengths)] == 0  # a fold of nothing but -0 is +0
    assert summed(Fold.HALVES) == [fold_halves(values, softfloat_add) for values in passes]
    assert summed(Fold.TUPLES, 3) == whole


@pytest.mark.parametrize("adder_latency", [1, 3, 7])
def test_element_mode(adder_latency):
    rng = random.Random(400 + adder_latency)
    pairs = [*class_pairs(), *grid_pairs(rng, 300)]
    cases = [
        # valid and last mean nothing in this mode
        {"a": a, "b": b, "subtract": i & 1, "valid": i >> 1 & 1, "last": i >> 2 & 1}
        for i, (a, b) in enumerate(pairs)
    ]
    dut = Accumulator(adder_latency=adder_latency)
    assert dut.latency == 1 + adder_latency
    want = [reference_add(case["a"], case["b"], case["subtract"]) for case in cases]
    assert stream(dut, cases) == want


@pytest.mark.parametrize("adder_latency", [0, 8])
def test_rejects_latency(adder_latency):
    with pytest.raises(ValueError, match=f"adder_latency must be 1 to 7, got {adder_latency}"):
        Accumulator(adder_latency=adder_latency)
