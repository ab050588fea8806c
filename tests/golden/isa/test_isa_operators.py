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


def test_codes_have_the_gaps_of_the_table():
    assert {int(op) for op in AluOp} == {*range(0x1E), *range(0x20, 0x25), *range(0xC4, 0xE2)}


@pytest.mark.parametrize(
    ("op", "code"),
    [
        *((AluOp.BYPASS, 0x00), (AluOp.ADD, 0x04), (AluOp.SUBTRACT, 0x05), (AluOp.MULT, 0x06)),
        *((AluOp.MAX, 0x08), (AluOp.MIN, 0x09), (AluOp.BITWISE_XOR, 0x0C), (AluOp.IS_EQ, 0x12)),
        *((AluOp.IS_LT, 0x16), (AluOp.ABSOLUTE_DIFF, 0x17), (AluOp.IS_NE, 0x18)),
        *((AluOp.RSQRT, 0x1D), (AluOp.SQUARE, 0x23), (AluOp.ABS_VALUE_INT, 0xCE)),
        *((AluOp.IS_LT_INT, 0xD4), (AluOp.MAX_UINT, 0xD5), (AluOp.AMIN_UINT, 0xE1)),
    ],
    ids=lambda value: value.name if isinstance(value, AluOp) else hex(value),
)
def test_code(op, code):
    """The ends of each run of codes, and what BackProp's relatives are made of."""
    assert op == code


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
