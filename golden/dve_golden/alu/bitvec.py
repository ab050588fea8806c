"""Bit-vector operators on raw elements (isa_common.md 6.1, 6.3)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dve_golden.isa.operators import AluOp

Patterns = NDArray[np.unsignedinteger]


def _width(elements: Patterns) -> int:
    return 8 * elements.itemsize


def _shift(elements: Patterns, counts: Patterns, shift: np.ufunc) -> Patterns:
    """Shift and fill with zeros; nothing is left once the count reaches the width."""
    last = elements.dtype.type(_width(elements) - 1)
    # numpy does not document larger counts.
    return np.where(
        counts > last, elements.dtype.type(0), shift(elements, np.minimum(counts, last))
    )


def _left(a: Patterns, b: Patterns) -> Patterns:
    return _shift(a, b, np.left_shift)


def _right(a: Patterns, b: Patterns) -> Patterns:
    return _shift(a, b, np.right_shift)


def _right_with_sign(a: Patterns, b: Patterns) -> Patterns:
    """Copies of the element's top bit come in, also where its type has no sign."""
    signed = np.dtype(f"<i{a.itemsize}")
    counts = np.minimum(b, _width(a) - 1).view(signed)
    return np.right_shift(a.view(signed), counts).view(a.dtype)


_OPERATIONS: dict[AluOp, Callable[[Patterns, Patterns], Patterns]] = {
    AluOp.BYPASS: lambda a, b: a.copy(),
    AluOp.BITWISE_NOT: lambda a, b: np.invert(a),
    AluOp.BITWISE_AND: np.bitwise_and,
    AluOp.BITWISE_OR: np.bitwise_or,
    AluOp.BITWISE_XOR: np.bitwise_xor,
    AluOp.ARITH_SHIFT_LEFT: _left,
    AluOp.LOGICAL_SHIFT_LEFT: _left,
    AluOp.ARITH_SHIFT_RIGHT: _right_with_sign,
    AluOp.LOGICAL_SHIFT_RIGHT: _right,
}


def bitvector(op: AluOp, a: Patterns, b: Patterns) -> Patterns:
    """``a op b``, element by element, without any conversion.

    Parameters
    ----------
    op
        One of `isa.operators.GENERAL_BITVECTOR`.
    a, b
        Raw elements of src0 and src1: unsigned integers of one size and shape. A shift takes all
        of ``b`` as its count; an operator of one operand ignores ``b``.

    Returns
    -------
    A new array of the same size and shape.

    Raises
    ------
    ValueError
        If the vector engine has no such operator.
    """
    if op not in _OPERATIONS:
        raise ValueError(f"{op.name} is no bit-vector operator of the vector engine")
    return _OPERATIONS[op](a, b)
