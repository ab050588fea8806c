# amaranth: UnusedElaboratable=no
"""Multiplier against exact integers and SoftFloat."""

import random

import pytest
from amaranth.sim import Simulator
from binary32_reference import (
    SIGN,
    class_pairs,
    grid_pairs,
    random_pairs,
    reference_mul,
    softfloat_mul,
    stream,
)
from dve_rtl.fp32.multiplier import Multiplier
from dve_rtl.fp32.product import REGISTERS, Product
from dve_rtl.target import Target


def tie_pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Products half an ulp from a binary32 number: short significands, normal and subnormal."""
    pairs = []
    for _ in range(count):
        # 25 significant bits with a final one: an odd number of half ulps.
        width = rng.randint(2, 23)
        short = rng.getrandbits(width) | 1 << width - 1 | 1
        other = rng.getrandbits(25 - width) | 1 << 24 - width | 1
        bits = [
            rng.choice((0, SIGN)) | exponent << 23 | (value << 24 - value.bit_length()) & 0x7FFFFF
            for value, exponent in zip(
                (short, other), rng.choice(((127, 127), (1, 126), (40, 80), (64, 63))), strict=True
            )
        ]
        pairs.append((bits[0], bits[1]))
    return pairs


def underflow_pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Products around the smallest normal and down to below half the smallest subnormal."""
    pairs = []
    for _ in range(count):
        exponent = rng.randint(1, 126)
        other = min(max(127 - exponent + rng.randint(-26, 2), 0), 254)
        pairs.append(
            (
                rng.choice((0, SIGN)) | exponent << 23 | rng.getrandbits(23),
                rng.choice((0, SIGN)) | other << 23 | rng.choice((0, 1, rng.getrandbits(23))),
            )
        )
    return pairs


@pytest.mark.parametrize(("latency", "count"), [(1, 800), (3, 1200), (8, 3000)])
def test_products(latency, count):
    rng = random.Random(100 + latency)
    pairs = [
        *class_pairs(),
        *grid_pairs(rng, count),
        *random_pairs(rng, count),
        *tie_pairs(rng, count // 3),
        *underflow_pairs(rng, count // 2),
    ]
    results = stream(Multiplier(latency=latency), [{"a": a, "b": b} for a, b in pairs])
    for (a, b), got in zip(pairs, results, strict=True):
        want = reference_mul(a, b)
        assert softfloat_mul(a, b) == want, f"oracles differ on {a:#010x} * {b:#010x}"
        assert got == want, f"{a:#010x} * {b:#010x}: got {got:#010x}, expected {want:#010x}"


def test_beside_half_the_smallest_subnormal():
    """2^-150 * (1 + 2^-k) rounds to 2^-149 however small the rest is; the tie 2^-150 to zero."""
    pairs = []
    for k in range(2, 27):
        whole = (1 << k) + 1
        factors = [(u, whole // u) for u in range(1, 1 << 13) if whole % u == 0]
        pairs += [(u, v, -150 - k) for u, v in factors if v < 1 << 24]
    ties = [(1 << k, 1, -150 - k) for k in range(24)]

    def pattern(value: int, exponent: int) -> int:
        """``value * 2**exponent``, normal."""
        top = value.bit_length() - 1
        return (exponent + top + 127 << 23) + (value - (1 << top) << 23 - top)

    cases = [
        {"a": pattern(u, -100), "b": pattern(v, exponent + 100)}
        for u, v, exponent in (*pairs, *ties)
    ]
    results = stream(Multiplier(latency=3), cases)
    assert results == [1] * len(pairs) + [0] * len(ties)
    assert {(1 << k) + 1 for k in (24, 25)} <= {u * v for u, v, _ in pairs}


@pytest.mark.parametrize("latency", range(1, 9))
def test_every_latency_gives_the_same_products(latency):
    rng = random.Random(7)
    pairs = [*grid_pairs(rng, 150), *random_pairs(rng, 150)]
    results = stream(Multiplier(latency=latency), [{"a": a, "b": b} for a, b in pairs])
    assert results == [reference_mul(a, b) for a, b in pairs]


@pytest.mark.parametrize("registers", range(1 << REGISTERS))
def test_product_has_the_latency_of_its_registers(registers):
    dut = Product(
        registers=tuple(bool(registers >> place & 1) for place in range(REGISTERS)),
        target=Target.PORTABLE,
    )
    assert dut.latency == registers.bit_count()
    rng = random.Random(registers)
    factors = [
        (0xFFFFFF, 0xFFFFFF),
        *((rng.getrandbits(24), rng.getrandbits(24)) for _ in "." * 50),
    ]
    results = []

    async def bench(ctx):
        for cycle, (a, b) in enumerate([*factors, *[(0, 0)] * dut.latency]):
            ctx.set(dut.a, a)
            ctx.set(dut.b, b)
            await ctx.delay(1e-9)
            if cycle >= dut.latency:
                results.append(ctx.get(dut.o))
            if dut.latency:
                await ctx.tick()

    sim = Simulator(dut)
    if dut.latency:
        sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    assert results == [a * b for a, b in factors]


@pytest.mark.parametrize("latency", [0, 9])
def test_rejects_latency(latency):
    with pytest.raises(ValueError, match=f"latency must be 1 to 8, got {latency}"):
        Multiplier(latency=latency)
