"""Codes and classes of the ALU operators (isa_common.md 6.1, 6.2)."""

from enum import Enum, IntEnum

from dve_golden.isa.enums import Opcode
from dve_golden.isa.generations import Generation


class AluOp(IntEnum):
    """The operators that some generation defines; the vector engine executes few of them."""

    BYPASS = 0x00
    BITWISE_NOT = 0x01
    ARITH_SHIFT_LEFT = 0x02
    ARITH_SHIFT_RIGHT = 0x03
    ADD = 0x04
    SUBTRACT = 0x05
    MULT = 0x06
    DIVIDE = 0x07
    MAX = 0x08
    MIN = 0x09
    BITWISE_AND = 0x0A
    BITWISE_OR = 0x0B
    BITWISE_XOR = 0x0C
    LOGICAL_AND = 0x0D
    LOGICAL_OR = 0x0E
    LOGICAL_XOR = 0x0F
    LOGICAL_SHIFT_LEFT = 0x10
    LOGICAL_SHIFT_RIGHT = 0x11
    IS_EQ = 0x12
    IS_GT = 0x13
    IS_GE = 0x14
    IS_LE = 0x15
    IS_LT = 0x16
    ABSOLUTE_DIFF = 0x17
    IS_NE = 0x18
    ABSOLUTE_VALUE = 0x19
    POW = 0x1A
    MOD = 0x1B
    CRC32 = 0x1C
    RSQRT = 0x1D
    ABS_MAX = 0x20
    ABS_MIN = 0x21
    RE_LU = 0x22
    SQUARE = 0x23
    SYMMETRIC_CLAMP = 0x24
    ADD_INT = 0xC4
    MULT_INT = 0xC5
    SUBTRACT_INT = 0xC6
    DIVIDE_INT = 0xC7
    MOD_INT = 0xC8
    IS_EQUAL_INT = 0xC9
    IS_NE_INT = 0xCA
    ABS_MAX_INT = 0xCB
    ABS_MIN_INT = 0xCC
    ABS_DIFF_INT = 0xCD
    ABS_VALUE_INT = 0xCE
    MAX_INT = 0xCF
    MIN_INT = 0xD0
    IS_GT_INT = 0xD1
    IS_GE_INT = 0xD2
    IS_LE_INT = 0xD3
    IS_LT_INT = 0xD4
    MAX_UINT = 0xD5
    MIN_UINT = 0xD6
    IS_GT_UINT = 0xD7
    IS_GE_UINT = 0xD8
    IS_LE_UINT = 0xD9
    IS_LT_UINT = 0xDA
    MULT_UINT = 0xDB
    DIVIDE_UINT = 0xDC
    MOD_UINT = 0xDD
    AMAX_INT = 0xDE
    AMIN_INT = 0xDF
    AMAX_UINT = 0xE0
    AMIN_UINT = 0xE1


class OperatorClass(Enum):
    """What kind of value an operator works on and gives."""

    ARITHMETIC = "arithmetic"
    COMPARE = "compare"
    LOGICAL = "logical"
    BITVECTOR = "bit-vector"
    INTEGER = "integer"


INTEGER_BAND = 0xC0
"""First code of the integer operators, which work on integers without a detour through fp32."""


_BITVECTOR = frozenset(
    {
        *(AluOp.BITWISE_NOT, AluOp.BITWISE_AND, AluOp.BITWISE_OR, AluOp.BITWISE_XOR),
        *(AluOp.ARITH_SHIFT_LEFT, AluOp.ARITH_SHIFT_RIGHT),
        *(AluOp.LOGICAL_SHIFT_LEFT, AluOp.LOGICAL_SHIFT_RIGHT, AluOp.CRC32),
    }
)
_COMPARE = frozenset({AluOp.IS_EQ, AluOp.IS_NE, AluOp.IS_GT, AluOp.IS_GE, AluOp.IS_LE, AluOp.IS_LT})
_LOGICAL = frozenset({AluOp.LOGICAL_AND, AluOp.LOGICAL_OR, AluOp.LOGICAL_XOR})


def _class_of(op: AluOp) -> OperatorClass:
    if op >= INTEGER_BAND:
        return OperatorClass.INTEGER
    if op in _BITVECTOR:
        return OperatorClass.BITVECTOR
    if op in _COMPARE:
        return OperatorClass.COMPARE
    if op in _LOGICAL:
        return OperatorClass.LOGICAL
    return OperatorClass.ARITHMETIC


CLASS: dict[AluOp, OperatorClass] = {op: _class_of(op) for op in AluOp}
"""The class of each operator. BYPASS, counted as arithmetic, is a bit-vector operator as well."""

_MARIANA_ADDS = frozenset({AluOp.ABS_MAX, AluOp.ABS_MIN, AluOp.RE_LU, AluOp.SQUARE})
_SUNDA = frozenset({op for op in AluOp if op <= AluOp.RSQRT or op in range(0xC4, 0xC7)})
_CAYMAN = _SUNDA | {op for op in AluOp if op >= INTEGER_BAND}

OPERATORS: dict[Generation, frozenset[AluOp]] = {
    Generation.SUNDA: _SUNDA,
    Generation.CAYMAN: _CAYMAN,
    Generation.MARIANA: _CAYMAN | _MARIANA_ADDS,
    Generation.MAVERICK: _CAYMAN | _MARIANA_ADDS | {AluOp.SYMMETRIC_CLAMP},
}
"""The operators that each generation defines, whichever engine executes them."""

GENERAL_BITVECTOR = _BITVECTOR - {AluOp.CRC32} | {AluOp.BYPASS}
"""`is_general_bitvec_op`: the nine operators of 0x51, in every generation."""

_NOT_GENERAL = frozenset({AluOp.DIVIDE, AluOp.POW, AluOp.MOD, AluOp.RSQRT, AluOp.SYMMETRIC_CLAMP})

GENERAL_ARITHMETIC: dict[Generation, frozenset[AluOp]] = {
    generation: frozenset(
        op
        for op in operators - _NOT_GENERAL
        if CLASS[op] not in (OperatorClass.BITVECTOR, OperatorClass.INTEGER)
    )
    for generation, operators in OPERATORS.items()
}
"""`is_general_arith_op`: the operators of 0x41 on the vector engine, by generation.

SYMMETRIC_CLAMP of MAVERICK is not among them: its formula is in doubt (isa_common.md 6.1).
"""

REQUIRED_OPERATOR: dict[Opcode, AluOp] = {
    Opcode.BATCH_NORM_BACK_PROP: AluOp.BYPASS,
    Opcode.COPY_PREDICATED: AluOp.BYPASS,
    Opcode.TENSOR_TENSOR_ADD_BF16: AluOp.ADD,
    Opcode.TENSOR_TENSOR_MULT_BF16: AluOp.MULT,
    Opcode.TENSOR_TENSOR_SUB_BF16: AluOp.SUBTRACT,
    Opcode.CAST_PREDICATED: AluOp.BYPASS,
}
"""Operator byte of the opcodes that leave no choice (isa_common.md 5.8): zero, or a copy of what
the opcode says. Of S3S3D3_TT only 0x41 and 0x51 select an operator."""
