"""Arithmetic operators: SoftFloat for what rounds, tables by hand for zeros, NaN and order."""

import math

import numpy as np
import pytest
import softfloatpy
from dve_golden.alu.arith import arithmetic
from dve_golden.fp32.arithmetic import canonicalize
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import GENERAL_ARITHMETIC, AluOp
from hypothesis import given
from hypothesis import strategies as st

OPERATORS = sorted(GENERAL_ARITHMETIC[Generation.MARIANA])
NAN = 0x7FC0_0000
SIGN = 0x8000_0000
ONE = 0x3F80_0000

SPECIAL = (
    *(0x0000_0001, 0x007F_FFFF, 0x0080_0000, 0x0080_0001, 0x00FF_FFFF),  # around the subnormals
    *(0x3EFF_FFFF, 0x3F7F_FFFF, ONE, 0x3F80_0001, 0x4000_0000, 0x5F3F_FFFF),
    *(0x4B7F_FFFF, 0x4B80_0000, 0x4B80_0001),  # 2^24: where 1 is an ulp, and where half a one
    *(0x1FFF_FFFF, 0x2000_0000, 0x5F80_0000),  # squares at the ends of the range
    *(0x7F00_0000, 0x7F7F_FFFF, 0x7F80_0000),
)
OPERANDS = (0, SIGN, *SPECIAL, *(bits | SIGN for bits in SPECIAL), NAN)

every_operator = pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)


# --- a reference of one element -------------------------------------------------------------


def softfloat(operation, a, b):
    x, y = (softfloatpy.Float32.from_bytes(bits.to_bytes(4, "big")) for bits in (a, b))
    return operation(x, y)


def rounded(operation, a, b):
    result = int.from_bytes(softfloat(operation, a, b).to_bytes(), "big")
    return NAN if is_nan(result) else result


def is_nan(bits):
    return bits & ~SIGN > 0x7F80_0000


def magnitude(bits):
    return bits if is_nan(bits) else bits & ~SIGN


def rank(bits):
    """A number's place in the order of all numbers, in which -0 comes before +0."""
    return -(bits & ~SIGN) - 1 if bits & SIGN else bits


def larger(a, b):
    if is_nan(a) or is_nan(b):
        return b if is_nan(a) else a
    return max(a, b, key=rank)


def smaller(a, b):
    if is_nan(a) or is_nan(b):
        return b if is_nan(a) else a
    return min(a, b, key=rank)


def truth(condition):
    return ONE if condition else 0


def equal(a, b):
    return bool(softfloat(softfloatpy.f32_eq, a, b))


def below(a, b):
    return bool(softfloat(softfloatpy.f32_lt_quiet, a, b))


def up_to(a, b):
    return bool(softfloat(softfloatpy.f32_le_quiet, a, b))


def nonzero(bits):
    return bits & ~SIGN != 0


REFERENCE = {
    AluOp.BYPASS: lambda a, b: a,
    AluOp.ADD: lambda a, b: rounded(softfloatpy.f32_add, a, b),
    AluOp.SUBTRACT: lambda a, b: rounded(softfloatpy.f32_sub, a, b),
    AluOp.MULT: lambda a, b: rounded(softfloatpy.f32_mul, a, b),
    AluOp.MAX: larger,
    AluOp.MIN: smaller,
    AluOp.LOGICAL_AND: lambda a, b: truth(nonzero(a) and nonzero(b)),
    AluOp.LOGICAL_OR: lambda a, b: truth(nonzero(a) or nonzero(b)),
    AluOp.LOGICAL_XOR: lambda a, b: truth(nonzero(a) != nonzero(b)),
    AluOp.IS_EQ: lambda a, b: truth(equal(a, b)),
    AluOp.IS_GT: lambda a, b: truth(below(b, a)),
    AluOp.IS_GE: lambda a, b: truth(up_to(b, a)),
    AluOp.IS_LE: lambda a, b: truth(up_to(a, b)),
    AluOp.IS_LT: lambda a, b: truth(below(a, b)),
    AluOp.ABSOLUTE_DIFF: lambda a, b: magnitude(rounded(softfloatpy.f32_sub, a, b)),
    AluOp.IS_NE: lambda a, b: truth(not equal(a, b)),
    AluOp.ABSOLUTE_VALUE: lambda a, b: magnitude(a),
    AluOp.ABS_MAX: lambda a, b: larger(magnitude(a), magnitude(b)),
    AluOp.ABS_MIN: lambda a, b: smaller(magnitude(a), magnitude(b)),
    AluOp.RE_LU: lambda a, b: larger(a, 0),
    AluOp.SQUARE: lambda a, b: rounded(softfloatpy.f32_mul, a, a),
}


def apply(op, a, b):
    """Patterns of the results; NaN as a converter would write it."""
    x, y = (np.array(bits, np.uint32).view(np.float32) for bits in (a, b))
    got = arithmetic(op, x, y)
    assert got.dtype == np.float32
    return canonicalize(got).view(np.uint32)


def check(op, a, b):
    np.testing.assert_array_equal(
        apply(op, a, b), [REFERENCE[op](x, y) for x, y in zip(a, b, strict=True)]
    )


def canonical(bits):
    """As `widen` delivers an operand."""
    return NAN if is_nan(bits) else bits


# --- against the reference ------------------------------------------------------------------


@every_operator
def test_special_operands_in_all_pairs(op):
    pairs = [(a, b) for a in OPERANDS for b in OPERANDS]
    check(op, [a for a, _ in pairs], [b for _, b in pairs])


@every_operator
def test_random_patterns(op):
    a, b = np.random.default_rng(11).integers(0, 1 << 32, (2, 3000), np.uint64).tolist()
    check(op, [canonical(bits) for bits in a], [canonical(bits) for bits in b])


@every_operator
def test_operands_close_to_each_other(op):
    """Cancellation, ties and neighbours in order, which random patterns hardly ever meet."""
    rng = np.random.default_rng(12)
    a = rng.integers(1, 0x7F00_0000, 2000)
    b = a + rng.integers(-3, 4, a.size)
    signs = rng.integers(0, 2, (2, a.size)) << 31
    check(op, (a | signs[0]).tolist(), (b | signs[1]).tolist())


PATTERN = st.integers(0, 0xFFFF_FFFF).map(canonical)


@every_operator
@given(pairs=st.lists(st.tuples(PATTERN, PATTERN), min_size=1))
def test_any_patterns(op, pairs):
    check(op, [a for a, _ in pairs], [b for _, b in pairs])


# --- tables by hand -------------------------------------------------------------------------

INF = math.inf
nan = math.nan


def values(op, *pairs):
    """Results as Python floats."""
    a, b = (np.array(column, np.float32) for column in zip(*pairs, strict=True))
    return arithmetic(op, a, b).tolist()


ORDER = ((1.0, 2.0), (2.0, 1.0), (2.0, 2.0), (0.0, -0.0), (-INF, INF), (nan, 1.0), (1.0, nan))


@pytest.mark.parametrize(
    ("op", "results"),
    [
        (AluOp.IS_EQ, (0, 0, 1, 1, 0, 0, 0)),
        (AluOp.IS_NE, (1, 1, 0, 0, 1, 1, 1)),
        (AluOp.IS_LT, (1, 0, 0, 0, 1, 0, 0)),
        (AluOp.IS_LE, (1, 0, 1, 1, 1, 0, 0)),
        (AluOp.IS_GT, (0, 1, 0, 0, 0, 0, 0)),
        (AluOp.IS_GE, (0, 1, 1, 1, 0, 0, 0)),
    ],
    ids=lambda value: value.name if isinstance(value, AluOp) else "",
)
def test_compare(op, results):
    assert values(op, *ORDER) == list(results)
    unordered = values(op, (nan, nan))
    assert unordered == [1.0 if op is AluOp.IS_NE else 0.0]


@pytest.mark.parametrize(
    ("op", "results"),
    [
        (AluOp.LOGICAL_AND, (1, 0, 0, 0, 1, 0)),
        (AluOp.LOGICAL_OR, (1, 1, 1, 0, 1, 1)),
        (AluOp.LOGICAL_XOR, (0, 1, 1, 0, 0, 1)),
    ],
    ids=lambda value: value.name if isinstance(value, AluOp) else "",
)
def test_logic(op, results):
    """A NaN and the smallest subnormal are true, both zeros are false."""
    tiny = float(np.float32(2.0**-149))
    pairs = ((tiny, -3.0), (1.0, -0.0), (0.0, nan), (0.0, -0.0), (nan, nan), (nan, 0.0))
    assert values(op, *pairs) == list(results)


def patterns(op, *pairs):
    return apply(op, *zip(*pairs, strict=True)).tolist()


def test_maximum_and_minimum_of_zeros_and_nan():
    pairs = ((0, SIGN), (SIGN, 0), (SIGN, SIGN), (0, 0), (NAN, SIGN), (SIGN, NAN), (NAN, NAN))
    assert patterns(AluOp.MAX, *pairs) == [0, 0, SIGN, 0, SIGN, SIGN, NAN]
    assert patterns(AluOp.MIN, *pairs) == [SIGN, SIGN, SIGN, 0, SIGN, SIGN, NAN]
    assert patterns(AluOp.ABS_MAX, *pairs) == [0, 0, 0, 0, 0, 0, NAN]
    assert patterns(AluOp.ABS_MIN, *pairs) == [0, 0, 0, 0, 0, 0, NAN]


def test_magnitudes():
    pairs = ((-3.0, 2.0), (1.0, -4.0), (nan, -5.0), (-INF, 1.0))
    assert values(AluOp.ABS_MAX, *pairs) == [3, 4, 5, INF]
    assert values(AluOp.ABS_MIN, *pairs) == [2, 1, 5, 1]
    assert values(AluOp.ABSOLUTE_DIFF, *pairs[:2], pairs[3]) == [5, 5, INF]
    assert patterns(AluOp.ABSOLUTE_VALUE, (SIGN, ONE), (ONE | SIGN, 0)) == [0, ONE]


def test_rectifier():
    pairs = ((SIGN, 7), (0, 7), (NAN, 7), (ONE | SIGN, 7), (ONE, 7), (1, 7), (1 | SIGN, 7))
    assert patterns(AluOp.RE_LU, *pairs) == [0, 0, 0, 0, ONE, 1, 0]


def test_operand_order():
    assert values(AluOp.SUBTRACT, (5.0, 3.0)) == [2]
    assert values(AluOp.ABSOLUTE_DIFF, (3.0, 5.0)) == [2]
    assert values(AluOp.BYPASS, (5.0, 3.0)) == [5]


@every_operator
def test_the_result_is_an_array_of_its_own(op):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    b = np.ones_like(a)
    got = arithmetic(op, a[:, 1:3], b[:, 1:3])
    assert got.shape == (3, 2)
    assert not np.shares_memory(got, a)
    assert not np.shares_memory(got, b)
    assert a.ravel().tolist() == list(range(12))


@pytest.mark.parametrize(
    "op", [AluOp.DIVIDE, AluOp.POW, AluOp.SYMMETRIC_CLAMP, AluOp.BITWISE_AND, AluOp.ADD_INT]
)
def test_strangers_are_named(op):
    with pytest.raises(ValueError, match=f"{op.name} is no arithmetic operator"):
        arithmetic(op, np.zeros(1, np.float32), np.zeros(1, np.float32))
