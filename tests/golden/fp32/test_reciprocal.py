"""1/N against exact integer division, and the Parameter RAM."""

from fractions import Fraction

import numpy as np
import pytest
from dve_golden.fp32.reciprocal import engine_reciprocal, reciprocal, reset_parameter_ram


def exact_reciprocal(bits):
    """Round 1/x to nearest even in integers; x finite and not zero."""
    sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7F_FFFF
    significand = fraction | (0x80_0000 if exponent else 0)
    # x = significand * 2^(max(exponent, 1) - 150), so 1/x = 2^shift / significand
    shift = 150 - max(exponent, 1)
    value = Fraction(2) ** shift / significand
    lead = shift - (significand.bit_length() - 1)  # floor(log2(1/x)), or one more
    if Fraction(2) ** lead > value:
        lead -= 1
    ulp = max(lead - 23, -149)
    quotient = round(value / Fraction(2) ** ulp)  # round() of a Fraction goes to even
    if quotient >= 1 << 24:
        quotient, ulp = quotient >> 1, ulp + 1
    if quotient < 1 << 23:  # subnormal: ulp is -149
        return sign << 31 | quotient
    biased = ulp + 150
    return sign << 31 | (0x7F80_0000 if biased >= 255 else biased << 23 | quotient & 0x7F_FFFF)


def bits_of(values):
    assert values.dtype == np.float32
    return values.view(np.uint32)


def reciprocal_bits(bits):
    with np.errstate(all="ignore"):
        return bits_of(reciprocal(np.array(bits, np.uint32).view(np.float32))).tolist()


def test_every_integer_of_sixteen_bits():
    n = np.arange(1, 1 << 16)
    got = bits_of(reciprocal(n.astype(np.float32)))
    for i, want in zip(n.tolist(), got.tolist(), strict=True):
        # 1/i = q * 2^-e with 2^23 <= q < 2^24; 2q + remainder decide the rounding
        e = 23 + (i - 1).bit_length()
        q, rest = divmod(1 << e, i)
        q += 2 * rest > i or (2 * rest == i and q & 1)
        assert want == (150 - e << 23) + (q - (1 << 23)), i


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0x0000_0001, 0x0080_0000),  # subnormal operands, most results overflow
        (0x0080_0000, 0x7E80_0000),  # normal operands and results
        (0x7E80_0000, 0x7F80_0000),  # subnormal results
    ],
)
def test_random_operands(low, high):
    bits = np.random.default_rng(low).integers(low, high, 3000).tolist()
    bits += [b | 0x8000_0000 for b in bits[:300]]
    assert reciprocal_bits(bits) == [exact_reciprocal(b) for b in bits]


def test_binade_ends():
    starts = [e << 23 for e in range(1, 255)]
    bits = [s + d for s in starts for d in (-2, -1, 0, 1, 2)]
    bits += list(range(1, 40)) + list(range(0x0020_0000 - 4, 0x0020_0000 + 5))
    assert reciprocal_bits(bits) == [exact_reciprocal(b) for b in bits]


def test_known_results():
    table = {
        0x0000_0000: 0x7F80_0000,
        0x8000_0000: 0xFF80_0000,
        0x7F80_0000: 0x0000_0000,
        0xFF80_0000: 0x8000_0000,
        0xFF80_0001: 0x7FC0_0000,  # signalling NaN
        0x7FC1_2345: 0x7FC0_0000,
        0x4040_0000: 0x3EAA_AAAB,  # 3
        0x7F7F_FFFF: 0x0020_0000,  # largest finite: 2^-128, subnormal
        0x0020_0000: 0x7F80_0000,  # 2^-128: above the largest finite
        0x0020_0001: 0x7F7F_FFF8,
    }
    assert reciprocal_bits(list(table)) == list(table.values())


def test_parameter_ram_after_reset():
    ram = bits_of(reset_parameter_ram())
    assert ram.shape == (256,)
    assert ram[0] == 0x3F80_0000
    n = np.arange(1, 256, dtype=np.float32).view(np.uint32)
    assert ram[1:].tolist() == [exact_reciprocal(b) for b in n.tolist()]


def test_small_integers_come_from_the_parameter_ram():
    ram = np.arange(1000, 1256, dtype=np.float32)
    n = np.array([1, 2, 254, 255], np.float32)
    assert engine_reciprocal(n, ram).tolist() == [1001, 1002, 1254, 1255]


def test_everything_else_takes_the_general_path():
    ram = np.full(256, 7, np.float32)
    n = np.array([256, -1, -3, 0.5, 2.5, 254.99998, 0, -0.0, np.inf, np.nan], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(bits_of(engine_reciprocal(n, ram)), bits_of(reciprocal(n)))
