"""Arithmetic, compare and logical operators on binary32 (isa_common.md 6.1, 6.3).

Each rounds at most once. As in `fp32.arithmetic`, the sign and payload of a NaN are left to the
converter that the result leaves through.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dve_golden.fp32.arithmetic import Floats
from dve_golden.isa.operators import AluOp

Truth = NDArray[np.bool_]


def _bypass(a: Floats, b: Floats) -> Floats:
    return a.copy()


def _maximum(a: Floats, b: Floats) -> Floats:
    """maxNum of IEEE 754-2008, by which a NaN loses against any number, with +0 above -0."""
    # Equal operands differ in nothing but the sign of a zero: it is negative if both are.
    both = (a.view(np.uint32) & b.view(np.uint32)).view(np.float32)
    return np.where(a == b, both, np.fmax(a, b))


def _minimum(a: Floats, b: Floats) -> Floats:
    """minNum, likewise."""
    either = (a.view(np.uint32) | b.view(np.uint32)).view(np.float32)
    return np.where(a == b, either, np.fmin(a, b))


def _absolute_difference(a: Floats, b: Floats) -> Floats:
    """The difference is rounded before its sign is cleared; to nearest, the order is the same."""
    return np.abs(np.subtract(a, b))


def _rectify(a: Floats, b: Floats) -> Floats:
    """max(a, +0): NaN and -0 become +0."""
    return np.where(a > 0, a, np.float32(0))


_NUMERIC: dict[AluOp, Callable[[Floats, Floats], Floats]] = {
    AluOp.BYPASS: _bypass,
    AluOp.ADD: np.add,
    AluOp.SUBTRACT: np.subtract,
    AluOp.MULT: np.multiply,
    AluOp.MAX: _maximum,
    AluOp.MIN: _minimum,
    AluOp.ABSOLUTE_DIFF: _absolute_difference,
    AluOp.ABSOLUTE_VALUE: lambda a, b: np.abs(a),
    AluOp.ABS_MAX: lambda a, b: np.fmax(np.abs(a), np.abs(b)),
    AluOp.ABS_MIN: lambda a, b: np.fmin(np.abs(a), np.abs(b)),
    AluOp.RE_LU: _rectify,
    AluOp.SQUARE: lambda a, b: np.square(a),
}

_PREDICATES: dict[AluOp, Callable[[Floats, Floats], Truth]] = {
    # NaN is unequal to everything and in no order to anything; as a truth value it is not zero.
    AluOp.IS_EQ: np.equal,
    AluOp.IS_NE: np.not_equal,
    AluOp.IS_GT: np.greater,
    AluOp.IS_GE: np.greater_equal,
    AluOp.IS_LE: np.less_equal,
    AluOp.IS_LT: np.less,
    AluOp.LOGICAL_AND: np.logical_and,
    AluOp.LOGICAL_OR: np.logical_or,
    AluOp.LOGICAL_XOR: np.logical_xor,
}


def arithmetic(op: AluOp, a: Floats, b: Floats) -> Floats:
    """``a op b``, element by element.

    Parameters
    ----------
    op
        One of `isa.operators.GENERAL_ARITHMETIC`; which ones a generation has is for legality to
        decide.
    a, b
        Sources src0 and src1 as `convert.widen` gives them, of the same shape. An operator of one
        operand ignores ``b``.

    Returns
    -------
    A new array of that shape. Compare and logical operators give 1 or 0.

    Raises
    ------
    ValueError
        If the vector engine has no such operator.
    """
    with np.errstate(all="ignore"):  # infinities, subnormals and NaN are results like any other
        if op in _NUMERIC:
            return _NUMERIC[op](a, b)
        if op in _PREDICATES:
            return _PREDICATES[op](a, b).astype(np.float32)
    raise ValueError(f"{op.name} is no arithmetic operator of the vector engine")
