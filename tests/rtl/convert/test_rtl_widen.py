# amaranth: UnusedElaboratable=no
"""Widen against numpy, ml_dtypes, SoftFloat and integer arithmetic."""

import random

import ml_dtypes
import numpy as np
import pytest
import softfloatpy
from dve_golden.isa.enums import Dtype
from dve_rtl.convert.widen import Widen

NAN = 0x7FC00000
LATENCIES = (1, 2, 3, 4, 5)

FP32_CLASSES = [
    0x00000000,  # zero
    0x00000001,  # least subnormal
    0x007FFFFF,  # greatest subnormal
    0x00800000,  # least normal
    0x3F800000,  # one
    0x7F7FFFFF,  # largest finite
    0x7F800000,  # infinity
    0x7F800001,  # signalling NaN, least payload
    0x7FBFFFFF,  # signalling NaN, greatest payload
    0x7FC00000,  # canonical NaN
    0x7FFFFFFF,  # quiet NaN, greatest payload
]


def canonical(bits: int) -> int:
    return NAN if bits & 0x7FFFFFFF > 0x7F800000 else bits


def half_to_fp32(code: int) -> int:
    """By value: an FP16 number is an integer multiple of 2^-24."""
    sign, exponent, mantissa = code >> 15 << 31, code >> 10 & 31, code & 0x3FF
    if exponent == 31:
        return NAN if mantissa else sign | 0x7F800000
    units = mantissa if exponent == 0 else (1024 + mantissa) << (exponent - 1)
    if units == 0:
        return sign
    top = units.bit_length() - 1
    return sign | (top - 24 + 127) << 23 | (units << 23 >> top) - (1 << 23)


def int32_to_fp32(code: int) -> int:
    value = code - (code >> 31 << 32)
    magnitude = abs(value)
    if magnitude == 0:
        return 0
    drop = max(magnitude.bit_length() - 24, 0)
    kept, rest = divmod(magnitude, 1 << drop)
    kept += 2 * rest + (kept & 1) > 1 << drop  # above half, or half and odd
    # `kept` may have become 2^24, so normalise after rounding.
    drop += kept.bit_length() - 24
    kept = kept >> 1 if kept == 1 << 24 else kept << 24 - kept.bit_length()
    return (value < 0) << 31 | (127 + 23 + drop) << 23 | kept - (1 << 23)


def reference(dtype: int, element: int) -> int:
    match dtype:
        case Dtype.FP32:
            return canonical(element)
        case Dtype.BF16:
            return canonical(element << 16)
        case Dtype.FP16:
            return half_to_fp32(element)
        case Dtype.INT32:
            return int32_to_fp32(element)
    raise ValueError(f"no reference for dtype {dtype}")


def int32_cases(rng: random.Random) -> list[int]:
    cases = [0, 1, 2, 3, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF]
    for bits in range(1, 32):  # the powers of two and their neighbours
        cases += [1 << bits, (1 << bits) - 1, (1 << bits) + 1]
    for drop in range(1, 8):  # below, at and above a tie, last kept bit even and odd
        for kept in (1 << 23, (1 << 23) + 1, (1 << 24) - 1, rng.getrandbits(23) | 1 << 23):
            tie = (kept << drop) + (1 << drop - 1)
            cases += [tie - 1, tie, tie + 1]
    cases += [rng.getrandbits(rng.randint(1, 31)) for _ in range(500)]
    return cases + [-case & 0xFFFFFFFF for case in cases]


def check(cases, results):
    assert len(results) == len(cases)
    for index, ((dtype, element), got) in enumerate(zip(cases, results, strict=True)):
        want = reference(dtype, element)
        assert got == want, (
            f"element {index}: {Dtype(dtype).name} {element:#x} gave {got:#010x}, "
            f"expected {want:#010x}"
        )


def test_references_agree():
    codes = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):  # numpy reports signalling NaNs
        halves = codes.view(np.float16).astype(np.float32).view(np.uint32)
        brains = codes.view(ml_dtypes.bfloat16).astype(np.float32).view(np.uint32)
    for code in range(1 << 16):
        source = softfloatpy.Float16.from_bytes(code.to_bytes(2, "big"))
        soft = int.from_bytes(softfloatpy.f16_to_f32(source).to_bytes(), "big")
        want = reference(Dtype.FP16, code)
        assert want == canonical(soft) == canonical(int(halves[code])), f"FP16 {code:#06x}"
        assert reference(Dtype.BF16, code) == canonical(int(brains[code])), f"BF16 {code:#06x}"
    for code in int32_cases(random.Random(1)):
        value = np.uint32(code).view(np.int32)
        want = int(value.astype(np.float32).view(np.uint32))
        assert reference(Dtype.INT32, code) == want, f"INT32 {code:#010x}"


@pytest.mark.parametrize("sign", [0, 1])
def test_every_fp16_code(convert, sign):
    cases = [(Dtype.FP16, sign << 15 | code) for code in range(1 << 15)]
    check(cases, convert(Widen(latency=1), cases))


def test_bf16_codes(convert):
    """A shift but for NaN: every sign, exponent and mantissa bit, and a seeded eighth."""
    rng = random.Random(4)
    mantissas = [0, *(1 << bit for bit in range(7)), 0x7F]
    codes = {high << 7 | low for high in range(1 << 9) for low in mantissas}
    codes |= {0x7F80 | sign << 15 | low for low in range(1 << 7) for sign in (0, 1)}
    codes |= set(rng.sample(range(1 << 16), 1 << 13))
    cases = [(Dtype.BF16, code) for code in sorted(codes)]
    check(cases, convert(Widen(latency=1), cases))


@pytest.mark.parametrize("latency", LATENCIES)
def test_int32(convert, latency):
    cases = [(Dtype.INT32, element) for element in int32_cases(random.Random(2))]
    check(cases, convert(Widen(latency=latency), cases))


@pytest.mark.parametrize("latency", LATENCIES)
def test_type_changes_every_clock(convert, latency):
    rng = random.Random(3)
    cases = [(Dtype.FP32, bits | sign << 31) for bits in FP32_CLASSES for sign in (0, 1)]
    for _ in range(300):
        cases += [
            (Dtype.FP32, rng.getrandbits(32)),
            (Dtype.FP16, rng.getrandbits(16)),
            (Dtype.FP16, rng.getrandbits(10) | rng.getrandbits(1) << 15),  # subnormal
            (Dtype.BF16, rng.getrandbits(16)),
            (Dtype.INT32, rng.getrandbits(32)),
        ]
    rng.shuffle(cases)
    check(cases, convert(Widen(latency=latency), cases))


@pytest.mark.parametrize("latency", [0, 6])
def test_latency_out_of_range(latency):
    with pytest.raises(ValueError, match=f"latency must be 1 to 5, got {latency}"):
        Widen(latency=latency)
