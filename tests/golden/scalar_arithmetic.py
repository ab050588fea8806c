"""Operations on one binary32 pattern, or the bits of one element: isa_common.md 6.1 and 6.3.

Patterns are Python integers. SoftFloat rounds; NaN comes out canonical.
"""

import softfloatpy

NAN = 0x7FC0_0000
ONE, ZERO = 0x3F80_0000, 0
SIGN = 0x8000_0000


def f32(bits):
    return softfloatpy.Float32.from_bytes(bits.to_bytes(4, "big"))


def bits_of(value):
    bits = int.from_bytes(value.to_bytes(), "big")
    return NAN if is_nan(bits) else bits


def is_nan(bits):
    return bits & 0x7FFF_FFFF > 0x7F80_0000


def add(a, b):
    return bits_of(softfloatpy.f32_add(f32(a), f32(b)))


def sub(a, b):
    return bits_of(softfloatpy.f32_sub(f32(a), f32(b)))


def mul(a, b):
    return bits_of(softfloatpy.f32_mul(f32(a), f32(b)))


def div(a, b):
    return bits_of(softfloatpy.f32_div(f32(a), f32(b)))


def magnitude(bits):
    return NAN if is_nan(bits) else bits & ~SIGN


def rank(bits):
    """Ascending in the number, with -0 just below +0."""
    return -1 - (bits & ~SIGN) if bits & SIGN else bits


def extreme(choose):
    """MAX or MIN: a NaN beside a number is ignored."""

    def chosen(a, b):
        numbers = [bits for bits in (a, b) if not is_nan(bits)]
        return choose(numbers, key=rank) if numbers else NAN

    return chosen


maximum, minimum = extreme(max), extreme(min)


def truth(condition):
    return lambda a, b: ONE if condition(a, b) else ZERO


def equal(a, b):
    return softfloatpy.f32_eq(f32(a), f32(b))


def less(a, b):
    return softfloatpy.f32_lt_quiet(f32(a), f32(b))


def less_or_equal(a, b):
    return softfloatpy.f32_le_quiet(f32(a), f32(b))


def is_true(bits):
    """Anything but a zero of either sign; NaN too."""
    return bits not in (0, SIGN)


OPERATORS = {
    0x00: lambda a, b: a,
    0x04: add,
    0x05: sub,
    0x06: mul,
    0x08: maximum,
    0x09: minimum,
    0x0D: truth(lambda a, b: is_true(a) and is_true(b)),
    0x0E: truth(lambda a, b: is_true(a) or is_true(b)),
    0x0F: truth(lambda a, b: is_true(a) != is_true(b)),
    0x12: truth(equal),
    0x13: truth(lambda a, b: less(b, a)),
    0x14: truth(lambda a, b: less_or_equal(b, a)),
    0x15: truth(less_or_equal),
    0x16: truth(less),
    0x17: lambda a, b: magnitude(sub(a, b)),
    0x18: truth(lambda a, b: not equal(a, b)),
    0x19: lambda a, b: magnitude(a),
    0x20: lambda a, b: maximum(magnitude(a), magnitude(b)),
    0x21: lambda a, b: minimum(magnitude(a), magnitude(b)),
    0x22: lambda a, b: maximum(a, ZERO),
    0x23: lambda a, b: mul(a, a),
}
"""Operators of 0x41 by code; the last four since MARIANA."""


def shift_left(a, b, width):
    return a << b & (1 << width) - 1 if b < width else 0


def shift_right(a, b, width):
    return a >> b if b < width else 0


def shift_right_with_sign(a, b, width):
    signed = a - (1 << width) if a >> width - 1 else a
    return signed >> min(b, width) & (1 << width) - 1


BIT_VECTOR = {
    0x00: lambda a, b, width: a,
    0x01: lambda a, b, width: ~a & (1 << width) - 1,
    0x02: shift_left,
    0x03: shift_right_with_sign,
    0x0A: lambda a, b, width: a & b,
    0x0B: lambda a, b, width: a | b,
    0x0C: lambda a, b, width: a ^ b,
    0x10: shift_left,
    0x11: shift_right,
}
"""Operators of 0x51 by code, on elements of ``width`` bits."""
