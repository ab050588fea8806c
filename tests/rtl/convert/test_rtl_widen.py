# amaranth: UnusedElaboratable=no
"""Widen against numpy, ml_dtypes, SoftFloat and integer arithmetic."""

import math
import random

import ml_dtypes
import numpy as np
import pytest
import softfloatpy
from dve_golden.isa.control import Control, IntegerRounding
from dve_golden.isa.enums import Dtype
from dve_rtl.convert.widen import Widen

NAN = 0x7FC00000
RESET = Control()
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


def integer_to_fp32(value: int) -> int:
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


def fp8_to_fp32(code: int, exponent_bits: int, *, extended: bool) -> int:
    """By value; an extended format has numbers where others have infinity and NaN, but for one."""
    fraction_bits = 7 - exponent_bits
    sign, magnitude = code >> 7 << 31, code & 0x7F
    exponent, fraction = divmod(magnitude, 1 << fraction_bits)
    if magnitude == 0x7F and extended:
        return NAN
    if exponent + 1 == 1 << exponent_bits and not extended:
        return NAN if fraction else sign | 0x7F800000
    units = fraction + (1 << fraction_bits if exponent else 0)
    bias = (1 << exponent_bits - 1) - 1
    value = math.ldexp(units, max(exponent, 1) - bias - fraction_bits)
    return sign | int(np.float32(value).view(np.uint32))


SIGNED = {Dtype.INT8: 8, Dtype.INT16: 16, Dtype.INT32: 32}
UNSIGNED = {Dtype.UINT8: 8, Dtype.UINT16: 16, Dtype.UINT32: 32}
FLOATS = {
    Dtype.FP32: (8, 23),
    Dtype.BF16: (8, 7),
    Dtype.FP16: (5, 10),
    Dtype.FP8_EXP3: (3, 4),
    Dtype.FP8_EXP4: (4, 3),
    Dtype.FP8_EXP5: (5, 2),
}
"""Bits of exponent and fraction."""

WIDTHS = SIGNED | UNSIGNED | {dtype: 1 + sum(bits) for dtype, bits in FLOATS.items()}


def reference(dtype: int, element: int, control: Control = RESET) -> int:
    if dtype in SIGNED:
        bits = SIGNED[Dtype(dtype)]
        return integer_to_fp32(element - (element >> bits - 1 << bits))
    if dtype in UNSIGNED:
        return integer_to_fp32(element)
    exponent_bits, fraction_bits = FLOATS[Dtype(dtype)]
    bits = exponent_bits + fraction_bits
    if control.flush_to_zero and element & (1 << bits) - 1 < 1 << fraction_bits:
        return element >> bits << 31
    match dtype:
        case Dtype.FP32:
            return canonical(element)
        case Dtype.BF16:
            return canonical(element << 16)
        case Dtype.FP16:
            return half_to_fp32(element)
        case Dtype.FP8_EXP3:
            return fp8_to_fp32(element, 3, extended=control.range_extension)
        case Dtype.FP8_EXP4:
            return fp8_to_fp32(element, 4, extended=control.emax_e4m3 == 8)
        case _:
            return fp8_to_fp32(element, 5, extended=False)


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


def check(cases, results, control=RESET):
    assert len(results) == len(cases)
    for index, ((dtype, element), got) in enumerate(zip(cases, results, strict=True)):
        want = reference(dtype, element, control)
        assert got == want, (
            f"element {index}: {Dtype(dtype).name} {element:#x} gave {got:#010x}, "
            f"expected {want:#010x}"
        )


LIBRARY = (
    (Dtype.FP8_EXP3, RESET, ml_dtypes.float8_e3m4),
    (Dtype.FP8_EXP4, RESET, ml_dtypes.float8_e4m3),
    (Dtype.FP8_EXP4, Control(emax_e4m3=8), ml_dtypes.float8_e4m3fn),
    (Dtype.FP8_EXP5, RESET, ml_dtypes.float8_e5m2),
)
"""FP8 types that others define alike; an extended FP8_EXP3 is not among them."""


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
        for dtype, value in (
            (Dtype.INT32, np.uint32(code).view(np.int32)),
            (Dtype.UINT32, np.uint32(code)),
        ):
            want = int(value.astype(np.float32).view(np.uint32))
            assert reference(dtype, code) == want, f"{dtype.name} {code:#010x}"
    for dtype, control, kind in LIBRARY:
        with np.errstate(invalid="ignore"):
            bits = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32).view(np.uint32)
        wanted = [canonical(int(pattern)) for pattern in bits]
        assert [reference(dtype, code, control) for code in range(256)] == wanted, dtype.name


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


CONTROLS = [
    RESET,
    Control(emax_e4m3=8, range_extension=True),
    Control(flush_to_zero=True),
    Control(emax_e4m3=8, flush_to_zero=True),
    # What is for results only must not matter.
    Control(ocp_sat=True, sis=True, sns=True, integer_rounding=IntegerRounding.NEAREST_EVEN),
]


@pytest.mark.parametrize("control", CONTROLS)
def test_every_8_bit_code(convert, control):
    types = [dtype for dtype, bits in WIDTHS.items() if bits == 8]
    cases = [(dtype, code) for dtype in types for code in range(256)]
    check(cases, convert(Widen(latency=1), cases, control), control)


@pytest.mark.parametrize("dtype", [Dtype.INT16, Dtype.UINT16])
def test_integers_of_16_bits(convert, dtype):
    """Powers of two with their neighbours, of both signs, and a seeded eighth."""
    codes = {near & 0xFFFF for bit in range(17) for n in (-1, 0, 1) for near in (n + (1 << bit),)}
    codes |= {-code & 0xFFFF for code in codes}
    codes |= set(random.Random(5).sample(range(1 << 16), 1 << 13))
    cases = [(dtype, code) for code in sorted(codes)]
    check(cases, convert(Widen(latency=1), cases))


@pytest.mark.parametrize("latency", [1, 5])
@pytest.mark.parametrize("dtype", [Dtype.INT32, Dtype.UINT32])
def test_integers_of_32_bits(convert, latency, dtype):
    cases = [(dtype, element) for element in int32_cases(random.Random(2))]
    check(cases, convert(Widen(latency=latency), cases))


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormal_elements_are_flushed(convert, dtype):
    exponent_bits, fraction_bits = FLOATS[dtype]
    sign, normal = 1 << exponent_bits + fraction_bits, 1 << fraction_bits
    codes = {0, 1, normal >> 1, normal - 1, normal, normal + 1}
    cases = [(dtype, code | s) for code in sorted(codes) for s in (0, sign)]
    control = Control(flush_to_zero=True)
    results = convert(Widen(latency=5), cases, control)
    check(cases, results, control)
    assert [result & 0x7FFFFFFF != 0 for result in results] == [False] * 8 + [True] * 4


@pytest.mark.parametrize("control", [RESET, Control(emax_e4m3=8, flush_to_zero=True)])
@pytest.mark.parametrize("latency", LATENCIES)
def test_type_changes_every_clock(convert, latency, control):
    rng = random.Random(3)
    cases = [(Dtype.FP32, bits | sign << 31) for bits in FP32_CLASSES for sign in (0, 1)]
    for dtype, bits in WIDTHS.items():
        cases += [(dtype, rng.getrandbits(bits)) for _ in range(100)]
        # Few leading bits: subnormals and small integers.
        cases += [(dtype, rng.getrandbits(bits) >> rng.randint(1, bits - 1)) for _ in range(30)]
    rng.shuffle(cases)
    check(cases, convert(Widen(latency=latency), cases, control), control)


@pytest.mark.parametrize("latency", [0, 6])
def test_latency_out_of_range(latency):
    with pytest.raises(ValueError, match=f"latency must be 1 to 5, got {latency}"):
        Widen(latency=latency)
