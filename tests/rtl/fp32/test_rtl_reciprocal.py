"""Reciprocal against one rounding of the exact quotient, in integers."""

import random
from fractions import Fraction

import numpy as np
import pytest
import softfloatpy
from amaranth.sim import Simulator
from dve_rtl.fp32.reciprocal import INDEX_BITS, SEED_BITS, SEEDS, Reciprocal

NAN = 0x7FC00000
INFINITY = 0x7F800000
ONE = 0x3F800000
SIGN = 1 << 31

WORST_LATENCY = 13
"""Clocks from acceptance to a valid result."""


def reference(bits: int) -> int:
    sign, exponent, fraction = bits & SIGN, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 255:
        return NAN if fraction else sign
    if exponent == 0 and fraction == 0:
        return sign | INFINITY
    # x = units * 2^-149, so 1/x = 2^298 / units in units of 2^-149.
    units = fraction if exponent == 0 else (1 << 23 | fraction) << (exponent - 1)
    drop = max((2**298 // units).bit_length() - 24, 0)
    count, rest = divmod(2**298, units << drop)
    count += 2 * rest + (count & 1) > units << drop  # above half, or half and odd
    # A count of 2^23 and more is normal, with a field of drop + 1; 2^24 carries by itself.
    return sign | min((drop << 23) + count, INFINITY)


def fp32(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def hardest_significands(count: int) -> list[int]:
    """Those whose reciprocal, of 24 bits or of 1 or 2 bits less, is closest to being misrounded.

    Closest to a midpoint from either side, and closest to a value from either side; found
    among all 2^23.
    """
    significands = np.arange((1 << 23) + 1, 1 << 24, dtype=np.int64)
    chosen = set()
    for power in (48, 47, 46):
        quotient, remainder = np.divmod(np.int64(1 << power), significands)
        for distance in (remainder, significands - remainder):
            for parity in (0, 1):
                of_parity = np.flatnonzero((quotient & 1) == parity)
                relative = distance[of_parity] / significands[of_parity]
                nearest = of_parity[np.argpartition(relative, count)[:count]]
                chosen |= set(significands[nearest].tolist())
    return sorted(chosen)


def run(operands: list[int], *, seed: int | None = None) -> tuple[list[int], list[int]]:
    """Results, and clocks from acceptance of an operand to its valid result.

    With a seed the source pauses and the sink stalls at random; a result must not move meanwhile.
    """
    dut = Reciprocal()
    results: list[int] = []
    latencies: list[int] = []
    rng = random.Random(seed)

    async def bench(ctx):
        for operand in operands:
            if seed is not None:
                await ctx.tick().repeat(rng.randint(1, 3))
            ctx.set(dut.i.payload, operand)
            ctx.set(dut.i.valid, 1)
            assert ctx.get(dut.i.ready), "not ready although idle"
            await ctx.tick()
            ctx.set(dut.i.valid, 0)
            ctx.set(dut.i.payload, ~operand & 0xFFFFFFFF)
            latency = 1
            while not ctx.get(dut.o.valid):
                assert not ctx.get(dut.i.ready), "ready while busy"
                assert latency < WORST_LATENCY, f"{operand:#010x} takes too long"
                await ctx.tick()
                latency += 1
            latencies.append(latency)
            result = ctx.get(dut.o.payload)
            for _ in range(0 if seed is None else rng.randint(0, 4)):
                ctx.set(dut.i.valid, 1)  # must not be accepted
                await ctx.tick()
                assert ctx.get(dut.o.valid), "result withdrawn before it was accepted"
                assert ctx.get(dut.o.payload) == result, "result changed before acceptance"
            ctx.set(dut.i.valid, 0)
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
            assert not ctx.get(dut.o.valid), "result offered twice"
            results.append(result)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    return results, latencies


def check(operands: list[int], results: list[int]) -> None:
    for operand, got in zip(operands, results, strict=True):
        want = reference(operand)
        assert got == want, f"1/{operand:#010x} gave {got:#010x}, expected {want:#010x}"


def powers_of_two() -> list[int]:
    return [1 << bit for bit in range(23)] + [field << 23 for field in range(1, 255)]


def boundaries() -> list[int]:
    """Operands at the edges of the classes, and of the classes of the results."""
    edges = [0, 0x007FFFFF, 0x00800000, 0x00FFFFFF, 0x3F7FFFFF, 0x7F7FFFFF, INFINITY, NAN]
    edges += [1 << 21, 1 << 22]  # 2^-128 overflows, the next larger operand does not
    edges += [252 << 23, 253 << 23, 254 << 23]  # 2^126 is the greatest with a normal result
    near = {edge + step for edge in edges for step in (-2, -1, 0, 1, 2)}
    return sorted(pattern for pattern in near if 0 <= pattern < SIGN)


def test_reference_agrees_with_softfloat():
    rng = random.Random(1)
    one = softfloatpy.Float32.from_bytes(ONE.to_bytes(4, "big"))
    operands = powers_of_two() + boundaries() + [rng.getrandbits(32) for _ in range(5000)]
    operands += [rng.randint(0x7E000000, 0x7F7FFFFF) for _ in range(1000)]  # subnormal results
    operands += [rng.randint(1, 0x007FFFFF) for _ in range(1000)]  # subnormal operands
    for operand in operands:
        divisor = softfloatpy.Float32.from_bytes(operand.to_bytes(4, "big"))
        soft = int.from_bytes(softfloatpy.f32_div(one, divisor).to_bytes(), "big")
        if soft & 0x7FFFFFFF > INFINITY:
            soft = NAN
        assert reference(operand) == soft, f"1/{operand:#010x}"


def test_seed_error_is_within_the_derived_bound():
    bound = Fraction(9, 8) / 2**7
    for index, fraction in enumerate(SEEDS):
        seed = 1 + Fraction(fraction, 1 << SEED_BITS)
        assert 1 < seed < 2
        for end in (index, index + 1):
            d = (1 + Fraction(end, 1 << INDEX_BITS)) / 2
            assert abs(1 - d * seed) < bound, f"seed {index}"


def test_integers():
    integers = [*range(1, 258)]
    integers += [2**k + step for k in range(9, 25) for step in (-1, 0, 1)]
    integers += [65535, 50176, 100352, 802816]  # elements per channel of common layers
    operands = [fp32(integer) for integer in integers]
    check(operands, run(operands)[0])


def test_powers_of_two():
    operands = powers_of_two()
    check(operands, run(operands)[0])


def test_boundaries():
    operands = [pattern | sign for pattern in boundaries() for sign in (0, SIGN)]
    check(operands, run(operands)[0])


@pytest.mark.parametrize(
    ("operand", "want"),
    [
        (0x00000000, 0x7F800000),
        (0x80000000, 0xFF800000),
        (0x7F800000, 0x00000000),
        (0xFF800000, 0x80000000),
        (0xFF800001, 0x7FC00000),
        (0x40400000, 0x3EAAAAAB),  # 1/3
        (0x80200000, 0xFF800000),  # 1/-2^-128 overflows
        (0x00200001, 0x7F7FFFF8),  # the next larger operand does not
        (0x7F000000, 0x00400000),  # 1/2^127 is subnormal
        (0x7F7FFFFF, 0x00200000),  # 2^-128 and a little: rounded once
    ],
)
def test_worked_examples(operand, want):
    assert run([operand])[0] == [want]
    assert reference(operand) == want


def test_hard_to_round():
    rng = random.Random(2)
    operands = []
    for significand in hardest_significands(12):
        fraction = significand - (1 << 23)
        operands += [field << 23 | fraction for field in (127, 253, 254)]
        operands.append(rng.randint(1, 252) << 23 | fraction | rng.getrandbits(1) << 31)
    check(operands, run(operands)[0])


def test_random():
    rng = random.Random(3)
    operands = [rng.getrandbits(32) for _ in range(800)]
    operands += [rng.randint(253 << 23, 0x7F7FFFFF) for _ in range(200)]  # subnormal results
    operands += [rng.randint(1 << 21, 0x007FFFFF) for _ in range(200)]  # subnormal operands
    results, latencies = run(operands)
    check(operands, results)
    assert max(latencies) == WORST_LATENCY


def test_back_pressure():
    rng = random.Random(4)
    operands = [0, INFINITY, NAN, *(rng.getrandbits(32) for _ in range(100))]
    check(operands, run(operands, seed=5)[0])
