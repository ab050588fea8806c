"""Oracles and operands for the fp32 units.

Two oracles, independent of each other and of the units: exact integer arithmetic with one
rounding, and the SoftFloat binding. Operands follow the manner of TestFloat: boundary exponents
with all-zeros, all-ones, one-hot and one-cold fractions, then seeded random ones.
"""

import random
from itertools import product

import softfloatpy
from amaranth.sim import Simulator

NAN = 0x7FC00000
SIGN = 1 << 31


def is_nan(bits: int) -> bool:
    return bits & ~SIGN > 0x7F800000


def _is_infinite(bits: int) -> bool:
    return bits & ~SIGN == 0x7F800000


def _scaled(bits: int) -> int:
    """A finite number as a signed multiple of 2^-149, the smallest subnormal."""
    exponent, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
    magnitude = (fraction | 0x800000) << exponent - 1 if exponent else fraction
    return -magnitude if bits & SIGN else magnitude


def _rounded(magnitude: int, scale: int) -> int:
    """Pattern of the binary32 nearest to ``magnitude * 2**-scale``, ties to even."""
    # One ulp of the result is 2^low; the lowest is that of the subnormals, 2^-149.
    low = max(magnitude.bit_length() - scale - 24, -149)
    drop = low + scale
    if drop <= 0:
        units = magnitude << -drop
    else:
        units, rest = divmod(magnitude, 1 << drop)
        half = 1 << drop - 1
        units += rest > half or (rest == half and units & 1)
    # `units` has the hidden bit, worth one exponent step, if the result is normal.
    bits = (low + 149 << 23) + units
    return min(bits, 0x7F800000)


def reference_add(a: int, b: int, subtract: int = 0) -> int:
    """``a + b`` or ``a - b`` by exact integer arithmetic."""
    b ^= subtract << 31
    if is_nan(a) or is_nan(b) or (_is_infinite(a) and b == a ^ SIGN):
        return NAN
    if _is_infinite(a) or _is_infinite(b):
        return a if _is_infinite(a) else b
    total = _scaled(a) + _scaled(b)
    if total == 0:
        return a & b & SIGN
    return (SIGN if total < 0 else 0) | _rounded(abs(total), 149)


def reference_mul(a: int, b: int) -> int:
    """``a * b`` by exact integer arithmetic."""
    sign = (a ^ b) & SIGN
    if is_nan(a) or is_nan(b):
        return NAN
    if _is_infinite(a) or _is_infinite(b):
        return NAN if 0 in (a & ~SIGN, b & ~SIGN) else sign | 0x7F800000
    magnitude = abs(_scaled(a) * _scaled(b))
    return sign | (_rounded(magnitude, 298) if magnitude else 0)


def _softfloat(operation, a: int, b: int) -> int:
    operands = (softfloatpy.Float32.from_bytes(bits.to_bytes(4, "big")) for bits in (a, b))
    bits = int.from_bytes(operation(*operands).to_bytes(), "big")
    return NAN if is_nan(bits) else bits


def softfloat_add(a: int, b: int, subtract: int = 0) -> int:
    """``a + b`` or ``a - b`` by SoftFloat, NaN made canonical."""
    return _softfloat(softfloatpy.f32_sub if subtract else softfloatpy.f32_add, a, b)


def softfloat_mul(a: int, b: int) -> int:
    """``a * b`` by SoftFloat, NaN made canonical."""
    return _softfloat(softfloatpy.f32_mul, a, b)


CLASSES = [
    sign | magnitude
    for sign in (0, SIGN)
    for magnitude in (
        0x00000000,  # zero
        0x00000001,  # smallest subnormal
        0x007FFFFF,  # largest subnormal
        0x00800000,  # smallest normal
        0x3F800000,  # one
        0x3FFFFFFF,  # just below two
        0x7F7FFFFF,  # largest finite
        0x7F800000,  # infinity
        0x7F800001,  # signalling NaN
        0x7FC00000,  # the canonical NaN
        0x7FFFFFFF,  # quiet NaN with payload
    )
]
"""One or more numbers of every class, for all pairs."""


def class_pairs() -> list[tuple[int, int]]:
    return list(product(CLASSES, CLASSES))


def _grid() -> list[int]:
    exponents = (0, 1, 2, 23, 24, 25, 102, 103, 125, 126, 127, 128, 150, 151, 152, 253, 254, 255)
    ones = [1 << bit for bit in (0, 1, 11, 12, 21, 22)]
    fractions = [0, 0x7FFFFF, *ones, *(0x7FFFFF ^ one for one in ones)]
    return [e << 23 | f for e, f in product(exponents, fractions)]


GRID = _grid()


def _pattern(rng: random.Random) -> int:
    return rng.choice((0, SIGN)) | rng.choice(GRID)


def grid_pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Sample of all pairs of grid operands with random signs."""
    return [(_pattern(rng), _pattern(rng)) for _ in range(count)]


def random_pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Half uniform patterns; half with at least one operand of exponent field 0 to 3."""
    pairs = [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(count // 2)]
    for _ in range(count - count // 2):
        tiny = rng.getrandbits(rng.randint(1, 25)) | rng.choice((0, SIGN))
        pair = [tiny, rng.getrandbits(32) & 0x83FFFFFF if rng.random() < 0.3 else _pattern(rng)]
        rng.shuffle(pair)
        pairs.append((pair[0], pair[1]))
    return pairs


def stream(dut, cases: list[dict[str, int]]) -> list[int]:
    """Feed one case per clock to a unit of fixed ``latency``; its ``o`` for each."""
    results = []

    async def bench(ctx):
        idle = [{}] * (dut.latency - 1)
        for cycle, case in enumerate([*cases, *idle]):
            for name, value in case.items():
                ctx.set(getattr(dut, name), value)
            await ctx.tick()
            if cycle >= dut.latency - 1:
                results.append(ctx.get(dut.o))

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    return results
