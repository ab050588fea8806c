"""Operators that do not round: on binary32 by the order of patterns, on raw bits in integers."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
from dve_golden.alu.arith import arithmetic
from dve_golden.alu.bitvec import bitvector
from dve_golden.isa.operators import AluOp

from dve_cosim.arith import grids, softfloat
from dve_cosim.arith.ieee import BINARY32, Flags, Integers, Patterns
from dve_cosim.arith.operation import Block, Blocks, Operation
from dve_cosim.arith.operator_unit import select

ONE = 0x3F800000
SIGN = BINARY32.sign

# --- binary32 -----------------------------------------------------------------------------------


def _canonical(patterns: Patterns) -> Patterns:
    """What widening makes of NaN."""
    nan = patterns & (SIGN - 1) > BINARY32.infinity
    return np.where(nan, np.uint32(BINARY32.nan), patterns)


def _pairs(level: int, seed: int) -> Blocks:
    return _with_equals(grids.pairs(level, seed))


def _random_pairs(count: int, seed: int) -> Blocks:
    return _with_equals(grids.random_pairs(count, seed))


def _with_equals(blocks: Iterator[Block]) -> Blocks:
    """Operands as they come out of widening; of one pair in eight both have one magnitude."""
    for a, b in blocks:
        alike = np.arange(len(a)) % 8 == 0
        b = np.where(alike, a ^ (b & np.uint32(SIGN)), b)
        yield _canonical(a), _canonical(b)


def _nan(a: Patterns) -> Flags:
    return a == BINARY32.nan


def _rank(a: Patterns) -> Integers:
    """A number's place in the order of all, -0 below +0."""
    magnitude = (a & (SIGN - 1)).astype(np.int64)
    return np.where(a & SIGN, -1 - magnitude, magnitude)


def _largest(a: Patterns, b: Patterns) -> Patterns:
    """maxNum of IEEE 754-2008, with +0 above -0."""
    first = _nan(b) | (~_nan(a) & (_rank(a) >= _rank(b)))
    return np.where(first, a, b)


def _smallest(a: Patterns, b: Patterns) -> Patterns:
    first = _nan(b) | (~_nan(a) & (_rank(a) <= _rank(b)))
    return np.where(first, a, b)


def _magnitude(a: Patterns) -> Patterns:
    return a & np.uint32(SIGN - 1)


def _truth(holds: Callable[..., Flags]) -> Callable[[Patterns, Patterns], Patterns]:
    """A compare of numpy's floats as 1.0 or +0."""

    def result(a: Patterns, b: Patterns) -> Patterns:
        truths = holds(a.view(np.float32), b.view(np.float32))
        return np.where(truths, np.uint32(ONE), np.uint32(0))

    return result


ARITHMETIC: dict[AluOp, Callable[[Patterns, Patterns], Patterns]] = {
    AluOp.BYPASS: lambda a, b: a,
    AluOp.MAX: _largest,
    AluOp.MIN: _smallest,
    AluOp.ABSOLUTE_VALUE: lambda a, b: _magnitude(a),
    AluOp.ABS_MAX: lambda a, b: _largest(_magnitude(a), _magnitude(b)),
    AluOp.ABS_MIN: lambda a, b: _smallest(_magnitude(a), _magnitude(b)),
    AluOp.RE_LU: lambda a, b: np.where(_nan(a) | (a >= SIGN), np.uint32(0), a),
    AluOp.LOGICAL_AND: _truth(lambda a, b: (a != 0) & (b != 0)),
    AluOp.LOGICAL_OR: _truth(lambda a, b: (a != 0) | (b != 0)),
    AluOp.LOGICAL_XOR: _truth(lambda a, b: (a != 0) ^ (b != 0)),
    AluOp.IS_EQ: _truth(np.equal),
    AluOp.IS_NE: _truth(np.not_equal),
    AluOp.IS_GT: _truth(np.greater),
    AluOp.IS_GE: _truth(np.greater_equal),
    AluOp.IS_LE: _truth(np.less_equal),
    AluOp.IS_LT: _truth(np.less),
}

_SOFTFLOAT = {
    AluOp.IS_EQ: softfloat.equal,
    AluOp.IS_LE: softfloat.less_or_equal,
    AluOp.IS_LT: softfloat.less,
}


def _by_golden(a: Patterns, b: Patterns, operator: AluOp) -> Patterns:
    with np.errstate(invalid="ignore"):
        return arithmetic(operator, a.view(np.float32), b.view(np.float32)).view(np.uint32)


# --- raw bits -----------------------------------------------------------------------------------


def _shift_left(a: Integers, b: Integers, bits: int) -> Integers:
    return np.left_shift(a, np.minimum(b, bits))


def _shift_right(a: Integers, b: Integers, bits: int) -> Integers:
    return np.right_shift(a, np.minimum(b, bits))


def _shift_signed(a: Integers, b: Integers, bits: int) -> Integers:
    signed = np.where(a >> (bits - 1), a - (1 << bits), a)
    return np.right_shift(signed, np.minimum(b, bits))


BITVECTOR: dict[AluOp, Callable[[Integers, Integers, int], Integers]] = {
    AluOp.BYPASS: lambda a, b, bits: a,
    AluOp.BITWISE_NOT: lambda a, b, bits: ~a,
    AluOp.BITWISE_AND: lambda a, b, bits: a & b,
    AluOp.BITWISE_OR: lambda a, b, bits: a | b,
    AluOp.BITWISE_XOR: lambda a, b, bits: a ^ b,
    AluOp.ARITH_SHIFT_LEFT: _shift_left,
    AluOp.ARITH_SHIFT_RIGHT: _shift_signed,
    AluOp.LOGICAL_SHIFT_LEFT: _shift_left,
    AluOp.LOGICAL_SHIFT_RIGHT: _shift_right,
}


def _raw(a: Patterns, b: Patterns, operator: AluOp, bits: int) -> Patterns:
    result = BITVECTOR[operator](a.astype(np.int64), b.astype(np.int64), bits)
    return (result & (1 << bits) - 1).astype(np.uint32)


def _raw_by_golden(a: Patterns, b: Patterns, operator: AluOp, bits: int) -> Patterns:
    unsigned = f"u{bits // 8}"
    return bitvector(operator, a.astype(unsigned), b.astype(unsigned)).astype(np.uint32)


def _raw_grid(level: int, seed: int, bits: int) -> Blocks:
    """All pairs of bytes; of longer elements those with few changes between zeros and ones."""
    if bits == 8:
        a, b = np.divmod(np.arange(1 << 16, dtype=np.uint32), np.uint32(1 << 8))
        yield a, b
        return
    ones = (1 << bits) - 1
    runs = [(1 << high) - (1 << low) for high, low in product(range(bits + 1), repeat=2)]
    patterns = np.array(sorted({run & ones for run in runs} | {~run & ones for run in runs}))
    counts = np.array([*range(2 * bits), *(1 << bit for bit in range(bits)), ones])
    a, b = np.meshgrid(patterns.astype(np.uint32), counts.astype(np.uint32))
    for start in range(0, a.size, grids.BLOCK):
        yield a.ravel()[start : start + grids.BLOCK], b.ravel()[start : start + grids.BLOCK]


def _raw_random(count: int, seed: int, bits: int) -> Blocks:
    """Any bits, and counts that mostly shift by less than the width; all bytes were there."""
    if bits == 8:
        return
    mask = np.uint32((1 << bits) - 1)
    for block, start in enumerate(range(0, count, grids.BLOCK)):
        rng = np.random.default_rng((seed, 7, block))
        size = min(grids.BLOCK, count - start)
        a, b = grids.uniform(rng, size) & mask, grids.uniform(rng, size) & mask
        yield a, np.where(rng.random(size) < 0.5, b % np.uint32(bits + 2), b)


OPERATORS = (
    *(
        Operation(
            name=operator.name.lower(),
            unit="arith",
            select=select(operator),
            exact=exact,
            second=_SOFTFLOAT.get(operator),
            golden=partial(_by_golden, operator=operator),
            grid=_pairs,
            random=_random_pairs,
        )
        for operator, exact in ARITHMETIC.items()
    ),
    *(
        Operation(
            name=f"{operator.name.lower()} of {bits} bits",
            unit="bitvec",
            select=select(operator, bits // 8),
            bits=bits,
            exact=partial(_raw, operator=operator, bits=bits),
            golden=partial(_raw_by_golden, operator=operator, bits=bits),
            grid=partial(_raw_grid, bits=bits),
            random=partial(_raw_random, bits=bits),
        )
        for operator in BITVECTOR
        for bits in (8, 16, 32)
    ),
)
