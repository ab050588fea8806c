"""Scalar binary32 arithmetic on bit patterns by SoftFloat, with the canonical NaN."""

import softfloatpy

CANONICAL_NAN = 0x7FC0_0000

SPECIAL = (
    0x0000_0000,  # +0
    0x8000_0000,
    0x0000_0001,  # smallest subnormal
    0x807F_FFFF,  # largest subnormal
    0x0080_0000,  # smallest normal
    0x3F80_0000,  # 1
    0xBF80_0000,
    0x3F80_0001,  # 1 + ulp
    0x4B80_0000,  # 2^24, where 1 is half an ulp
    0x7F7F_FFFF,  # largest finite
    0xFF7F_FFFF,
    0x7F80_0000,  # infinity
    0xFF80_0000,
    0x7F80_0001,  # signalling NaN
    0xFFC1_2345,  # quiet NaN with sign and payload
)
"""Operands at which binary32 arithmetic changes its behaviour."""


def is_nan(bits):
    return bits & 0x7FFF_FFFF > 0x7F80_0000


def _apply(operation, a, b):
    x, y = (softfloatpy.Float32.from_bytes(bits.to_bytes(4, "big")) for bits in (a, b))
    result = int.from_bytes(operation(x, y).to_bytes(), "big")
    return CANONICAL_NAN if is_nan(result) else result


def add(a, b):
    return _apply(softfloatpy.f32_add, a, b)


def sub(a, b):
    return _apply(softfloatpy.f32_sub, a, b)


def mul(a, b):
    return _apply(softfloatpy.f32_mul, a, b)
