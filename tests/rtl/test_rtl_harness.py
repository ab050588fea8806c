# amaranth: UnusedElaboratable=no
"""The harness of measurements: what is loaded reaches the unit, and its results come out."""

import random

import pytest
from amaranth import *
from amaranth.hdl import Fragment
from amaranth.sim import Simulator
from dve_rtl.convert.widen import Widen
from dve_rtl.fp32.accumulator import Accumulator
from dve_rtl.fp32.adder import Adder
from dve_rtl.fp32.reciprocal import Reciprocal
from dve_rtl.harness import Harness


def ports(unit, flow):
    """Operands or results of a unit, joined in the order of its signature."""
    return Cat(
        Value.cast(port)
        for _, member, port in unit.signature.flatten(unit)
        if member.flow.name == flow
    )


@pytest.mark.parametrize(
    ("make", "length"),
    [
        (lambda: Adder(latency=3), 65),
        (lambda: Widen(latency=2), 43),
        (Reciprocal, 34),
    ],
    ids=["adder", "widen", "reciprocal"],
)
def test_the_unit_in_the_harness_is_the_bare_unit(make, length):
    """A model of the chain beside it, with a bare unit of its own."""
    harness, bare = Harness(make()), make()
    assert harness.length == length
    rng = random.Random(length)
    m = Module()
    m.submodules.harness = harness
    m.submodules.bare = bare
    operands, results = Signal(length), Signal(length)
    given, taken = ports(bare, "In"), ports(bare, "Out")
    m.d.comb += [given.eq(operands), results.eq(taken)]
    kept = length - len(taken)

    async def bench(ctx):
        chain = first = captured = last = 0
        outcomes = set()
        for _ in range(1500):
            serial_in, capture = rng.getrandbits(1), rng.random() < 0.05
            ctx.set(harness.serial_in, serial_in)
            ctx.set(harness.capture, capture)
            ctx.set(operands, chain)
            assert ctx.get(harness.serial_out) == last
            outcome = ctx.get(results)
            await ctx.tick()
            last = chain >> (length - 1)
            chain = (chain << 1 | first) & ((1 << length) - 1)
            if captured:
                chain = chain >> (length - kept) << (length - kept) | outcome
                outcomes.add(outcome)
            first, captured = serial_in, capture
        assert len(outcomes) > 10

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_size():
    harness = Harness(Adder(latency=3))
    assert (harness.lut4, harness.ff) == (32, 68)
    Fragment.get(harness, None)


def test_outputs_that_are_left_out_are_not_captured():
    harness = Harness(Accumulator(adder_latency=3), unobserved=("o",))
    assert harness.lut4 == 32 + 1 + 1  # a sum, whether it is one, and of which half
    Fragment.get(harness, None)
