# amaranth: UnusedElaboratable=no
"""Narrow against rounding by value in integers, and SoftFloat."""

import random

import ml_dtypes
import numpy as np
import pytest
import softfloatpy
from dve_golden.isa.enums import Dtype
from dve_rtl.convert.narrow import Narrow

LATENCIES = (1, 2, 3, 4, 5)

FORMATS = {Dtype.FP16: (5, 10), Dtype.BF16: (8, 7), Dtype.FP32R: (8, 13)}
"""Exponent and mantissa bits."""

CONTAINER_SHIFT = {Dtype.FP16: 0, Dtype.BF16: 0, Dtype.FP32R: 10}
"""Zero bits below the format in its container."""

SPECIALS = [
    0x00000000,  # zero
    0x00000001,  # least subnormal
    0x007FFFFF,  # greatest subnormal
    0x7F7FFFFF,  # largest finite
    0x7F800000,  # infinity
    0x7F800001,  # NaN whose payload lies below every kept bit
    0x7FBFFFFF,
    0x7FC00000,
    0x7FFFFFFF,  # NaN that a rounding carry would turn into zero
]


def reference(dtype: int, bits: int) -> int:
    sign, exponent, mantissa = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if dtype == Dtype.FP32:
        return 0x7FC00000 if exponent == 255 and mantissa else bits
    exponent_bits, mantissa_bits = FORMATS[Dtype(dtype)]
    bias = (1 << exponent_bits - 1) - 1
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    if exponent == 255:
        pattern = infinity | (1 << mantissa_bits - 1 if mantissa else 0)
        sign = 0 if mantissa else sign
    else:
        # The value is units * 2^-149; the result a multiple of 2^quantum, where the quantum
        # follows from the value's binade but is at least that of the subnormals.
        units = mantissa if exponent == 0 else (1 << 23 | mantissa) << (exponent - 1)
        binade = units.bit_length() - 1 - 149
        quantum = max(binade, 1 - bias) - mantissa_bits
        drop = quantum + 149
        if drop <= 0:
            count = units << -drop
        else:
            count, rest = divmod(units, 1 << drop)
            count += 2 * rest + (count & 1) > 1 << drop  # above half, or half and odd
        if count == 2 << mantissa_bits:
            count, quantum = count >> 1, quantum + 1
        if count < 1 << mantissa_bits:
            pattern = count  # subnormal or zero
        else:
            biased = quantum + mantissa_bits + bias
            pattern = (biased << mantissa_bits) + count - (1 << mantissa_bits)
        pattern = min(pattern, infinity)
    pattern |= sign << exponent_bits + mantissa_bits
    return pattern << CONTAINER_SHIFT[Dtype(dtype)]


def to_fp32(dtype: Dtype, pattern: int) -> int:
    """binary32 pattern of a non-negative value of the format; exact."""
    exponent_bits, mantissa_bits = FORMATS[dtype]
    exponent, mantissa = pattern >> mantissa_bits, pattern & (1 << mantissa_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    significand = mantissa + (bool(exponent) << mantissa_bits)
    value = np.ldexp(np.float64(significand), max(exponent, 1) - bias - mantissa_bits)
    return int(np.float32(value).view(np.uint32))


def grid(dtype: Dtype, mantissas_per_binade: int) -> list[int]:
    """binary32 patterns at and around values of the format and the midpoints between them.

    Every binade, subnormals first; in each the least and greatest mantissas and some random
    ones. The midpoint above the largest finite value is the overflow threshold.
    """
    rng = random.Random(int(dtype))
    exponent_bits, mantissa_bits = FORMATS[dtype]
    top = (1 << mantissa_bits) - 1
    patterns = set()
    for exponent in range((1 << exponent_bits) - 1):
        mantissas = {0, 1, 2, top - 1, top}
        mantissas |= {rng.randint(3, top - 2) for _ in range(mantissas_per_binade)}
        for mantissa in sorted(mantissas):
            value = exponent << mantissa_bits | mantissa
            low = to_fp32(dtype, value)
            if value == (top | ((1 << exponent_bits) - 2) << mantissa_bits):
                # No finite neighbour: half a unit further up, where Inf begins.
                middle = low + (1 << 22 - mantissa_bits)
            else:
                ends = np.array([low, to_fp32(dtype, value + 1)], dtype=np.uint32)
                mean = ends.view(np.float32).astype(np.float64).mean()  # exact
                middle = int(np.float32(mean).view(np.uint32))
            patterns |= {low, low + 1, middle - 1, middle, middle + 1}
            if low:
                patterns.add(low - 1)
    signed = {pattern | rng.getrandbits(1) << 31 for pattern in sorted(patterns)}
    return [*sorted(signed), *SPECIALS, *(special | 1 << 31 for special in SPECIALS)]


def random_cases(seed: int, count: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    cases: list[tuple[int, int]] = [
        (Dtype.FP32, bits | sign << 31) for bits in SPECIALS for sign in (0, 1)
    ]
    for dtype in (Dtype.FP32, *FORMATS):
        for _ in range(count):
            cases.append((dtype, rng.getrandbits(32)))
            # Exponents around FP16's range, low mantissa bits often zero.
            mantissa = rng.getrandbits(23) & -(1 << rng.randint(0, 22))
            exponent = rng.randint(96, 146)
            cases.append((dtype, rng.getrandbits(1) << 31 | exponent << 23 | mantissa))
    rng.shuffle(cases)
    return cases


def check(cases, results):
    assert len(results) == len(cases)
    for index, ((dtype, bits), got) in enumerate(zip(cases, results, strict=True)):
        want = reference(dtype, bits)
        assert got == want, (
            f"element {index}: {bits:#010x} to {Dtype(dtype).name} gave {got:#x}, "
            f"expected {want:#x}"
        )


def test_references_agree():
    for dtype, bits in random_cases(1, 3000) + [(d, b) for d in FORMATS for b in grid(d, 2)]:
        source = softfloatpy.Float32.from_bytes(bits.to_bytes(4, "big"))
        value = np.uint32(bits).view(np.float32)
        is_nan = bits & 0x7FFFFFFF > 0x7F800000
        if dtype == Dtype.FP16:
            soft = softfloatpy.f32_to_f16(source)
            with np.errstate(all="ignore"):
                other = int(value.astype(np.float16).view(np.uint16))
            canonical = 0x7E00
        elif dtype == Dtype.BF16:
            soft = softfloatpy.f32_to_bf16(source)
            with np.errstate(all="ignore"):
                other = int(value.astype(ml_dtypes.bfloat16).view(np.uint16))
            canonical = 0x7FC0
        else:
            continue
        want = reference(dtype, bits)
        got = canonical if is_nan else int.from_bytes(soft.to_bytes(), "big")
        assert want == got == (canonical if is_nan else other), f"{bits:#010x} to {dtype}"


@pytest.mark.parametrize(
    ("dtype", "mantissas_per_binade"), [(Dtype.FP16, 30), (Dtype.BF16, 1), (Dtype.FP32R, 0)]
)
def test_values_and_midpoints(convert, dtype, mantissas_per_binade):
    cases = [(dtype, bits) for bits in grid(dtype, mantissas_per_binade)]
    check(cases, convert(Narrow(latency=1), cases))


@pytest.mark.parametrize("latency", LATENCIES)
def test_type_changes_every_clock(convert, latency):
    cases = random_cases(2, 250)
    check(cases, convert(Narrow(latency=latency), cases))


@pytest.mark.parametrize(
    ("bits", "dtype", "want"),
    [
        (0x477FEFFF, Dtype.FP16, 0x7BFF),  # below 65520 rounds down to the largest finite
        (0x477FF000, Dtype.FP16, 0x7C00),  # 65520 ties to Inf
        (0xC7800000, Dtype.FP16, 0xFC00),  # -65536 is beyond
        (0x33000000, Dtype.FP16, 0x0000),  # 2^-25 ties to zero
        (0xB3000001, Dtype.FP16, 0x8001),  # just below -2^-25 rounds away
        (0x33C00000, Dtype.FP16, 0x0002),  # 1.5 * 2^-24 ties up to even
        (0x387FF000, Dtype.FP16, 0x0400),  # greatest subnormal plus a half: least normal
        (0x7F7F7FFF, Dtype.BF16, 0x7F7F),
        (0x7F7F8000, Dtype.BF16, 0x7F80),  # overflow threshold
        (0x00008000, Dtype.BF16, 0x0000),  # half the least subnormal ties to zero
        (0x80018000, Dtype.BF16, 0x8002),
        (0x7F7FFDFF, Dtype.FP32R, 0x7F7FFC00),
        (0x7F7FFE00, Dtype.FP32R, 0x7F800000),  # overflow threshold
        (0x00000200, Dtype.FP32R, 0x00000000),
        (0x00000600, Dtype.FP32R, 0x00000800),
        (0x007FFE00, Dtype.FP32R, 0x00800000),  # subnormal rounds to the least normal
        (0xFF800001, Dtype.FP32R, 0x7FC00000),
        (0xFFFFFFFF, Dtype.FP16, 0x7E00),
        (0xFFFFFFFF, Dtype.BF16, 0x7FC0),
        (0xFFFFFFFF, Dtype.FP32, 0x7FC00000),
    ],
)
def test_worked_examples(convert, bits, dtype, want):
    assert convert(Narrow(latency=1), [(dtype, bits)]) == [want]
    assert reference(dtype, bits) == want


@pytest.mark.parametrize("latency", [0, 6])
def test_latency_out_of_range(latency):
    with pytest.raises(ValueError, match=f"latency must be 1 to 5, got {latency}"):
        Narrow(latency=latency)
