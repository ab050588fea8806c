"""ALU operators: codes, classes and generations, against the lists of isa_common.md 6.1 and 6.2."""

import pytest
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import (
    CLASS,
    GENERAL_ARITHMETIC,
    GENERAL_BITVECTOR,
    OPERATORS,
    AluOp,
    OperatorClass,
)

GENERAL = {
    *(0x00, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0D, 0x0E, 0x0F),
    *(0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19),
}
SINCE_MARIANA = {0x20, 0x21, 0x22, 0x23}


RUNS = {
    0x00: """
        BYPASS BITWISE_NOT ARITH_SHIFT_LEFT ARITH_SHIFT_RIGHT ADD SUBTRACT MULT DIVIDE MAX MIN
        BITWISE_AND BITWISE_OR BITWISE_XOR LOGICAL_AND LOGICAL_OR LOGICAL_XOR LOGICAL_SHIFT_LEFT
        LOGICAL_SHIFT_RIGHT IS_EQ IS_GT IS_GE IS_LE IS_LT ABSOLUTE_DIFF IS_NE ABSOLUTE_VALUE POW
        MOD CRC32 RSQRT
    """,
    0x20: "ABS_MAX ABS_MIN RE_LU SQUARE SYMMETRIC_CLAMP",
    0xC4: """
        ADD_INT MULT_INT SUBTRACT_INT DIVIDE_INT MOD_INT IS_EQUAL_INT IS_NE_INT ABS_MAX_INT
        ABS_MIN_INT ABS_DIFF_INT ABS_VALUE_INT MAX_INT MIN_INT IS_GT_INT IS_GE_INT IS_LE_INT
        IS_LT_INT MAX_UINT MIN_UINT IS_GT_UINT IS_GE_UINT IS_LE_UINT IS_LT_UINT MULT_UINT
        DIVIDE_UINT MOD_UINT AMAX_INT AMIN_INT AMAX_UINT AMIN_UINT
    """,
}
"""Names by the first code of each run without gaps, in the order of the codes."""


def test_codes():
    listed = {
        name: first + i for first, names in RUNS.items() for i, name in enumerate(names.split())
    }
    assert {op.name: int(op) for op in AluOp} == listed


@pytest.mark.parametrize(
    ("generation", "count", "general"),
    [
        (Generation.SUNDA, 33, GENERAL),
        (Generation.CAYMAN, 60, GENERAL),
        (Generation.MARIANA, 64, GENERAL | SINCE_MARIANA),
        (Generation.MAVERICK, 65, GENERAL | SINCE_MARIANA),
    ],
)
def test_generations(generation, count, general):
    assert len(OPERATORS[generation]) == count
    assert GENERAL_ARITHMETIC[generation] == general
    assert OPERATORS[generation] >= GENERAL_BITVECTOR | GENERAL_ARITHMETIC[generation]


def test_general_bitvector_operators():
    assert {0x00, 0x01, 0x02, 0x03, 0x0A, 0x0B, 0x0C, 0x10, 0x11} == GENERAL_BITVECTOR


def test_classes():
    by_class = {kind: {op for op in AluOp if CLASS[op] is kind} for kind in OperatorClass}
    assert by_class[OperatorClass.BITVECTOR] == GENERAL_BITVECTOR - {0} | {AluOp.CRC32}
    assert by_class[OperatorClass.COMPARE] == {0x12, 0x13, 0x14, 0x15, 0x16, 0x18}
    assert by_class[OperatorClass.LOGICAL] == {0x0D, 0x0E, 0x0F}
    assert by_class[OperatorClass.INTEGER] == set(range(0xC4, 0xE2))
    assert by_class[OperatorClass.ARITHMETIC] == {
        *(0x00, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x17, 0x19, 0x1A, 0x1B, 0x1D),
        *(SINCE_MARIANA | {0x24}),
    }
