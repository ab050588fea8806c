"""Tables of the ALU operators that the vector engine's tensor-tensor instructions have."""

from collections.abc import Callable

from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import CLASS, GENERAL_ARITHMETIC, GENERAL_BITVECTOR, AluOp

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
"""Headings and rows."""

RESULTS = {
    AluOp.BYPASS: "a",
    AluOp.BITWISE_NOT: "not a",
    AluOp.ARITH_SHIFT_LEFT: "a shifted left by b, zeros in",
    AluOp.ARITH_SHIFT_RIGHT: "a shifted right by b, copies of its top bit in, whatever the type",
    AluOp.ADD: "a + b",
    AluOp.SUBTRACT: "a - b",
    AluOp.MULT: "a * b",
    AluOp.MAX: "the larger; of a number and NaN the number; +0 is above -0",
    AluOp.MIN: "the smaller; of a number and NaN the number; -0 is below +0",
    AluOp.BITWISE_AND: "a and b",
    AluOp.BITWISE_OR: "a or b",
    AluOp.BITWISE_XOR: "a xor b",
    AluOp.LOGICAL_AND: "a != 0 and b != 0; NaN is not 0",
    AluOp.LOGICAL_OR: "a != 0 or b != 0",
    AluOp.LOGICAL_XOR: "one of the two, not both",
    AluOp.LOGICAL_SHIFT_LEFT: "a shifted left by b, zeros in",
    AluOp.LOGICAL_SHIFT_RIGHT: "a shifted right by b, zeros in",
    AluOp.IS_EQ: "a = b; 0 if one is NaN",
    AluOp.IS_GT: "a > b; 0 if one is NaN",
    AluOp.IS_GE: "a >= b; 0 if one is NaN",
    AluOp.IS_LE: "a <= b; 0 if one is NaN",
    AluOp.IS_LT: "a < b; 0 if one is NaN",
    AluOp.ABSOLUTE_DIFF: "the magnitude of a - b",
    AluOp.IS_NE: "a != b; 1 if one is NaN",
    AluOp.ABSOLUTE_VALUE: "the magnitude of a",
    AluOp.ABS_MAX: "MAX of the magnitudes",
    AluOp.ABS_MIN: "MIN of the magnitudes",
    AluOp.RE_LU: "a if a > 0, otherwise +0, also of NaN",
    AluOp.SQUARE: "a * a",
}
"""a is the element of src0, b that of src1."""


def arithmetic() -> Table:
    """Operators on fp32."""
    everywhere = frozenset.intersection(*GENERAL_ARITHMETIC.values())
    rows: list[tuple[object, ...]] = []
    for op in sorted(frozenset.union(*GENERAL_ARITHMETIC.values())):
        having = [g.value for g in Generation if op in GENERAL_ARITHMETIC[g]]
        where = "all" if op in everywhere else ", ".join(having)
        rows.append((f"0x{int(op):02x}", op.name, CLASS[op].value, where, RESULTS[op]))
    return ("code", "operator", "class", "generations", "result"), rows


def bitvector() -> Table:
    """Operators on raw elements."""
    rows: list[tuple[object, ...]] = [
        (f"0x{int(op):02x}", op.name, RESULTS[op]) for op in sorted(GENERAL_BITVECTOR)
    ]
    return ("code", "operator", "result"), rows


TABLES: dict[str, Callable[[], Table]] = {
    function.__name__: function for function in (arithmetic, bitvector)
}
