"""Element types that belong together, by opcode (isa_common.md 5.3 to 5.7, batchnorm.md 2)."""

from __future__ import annotations

from functools import cache
from itertools import product

from dve_golden.isa.enums import (
    DTYPE_BYTES,
    FLOAT_DTYPES,
    INTEGER_DTYPES,
    PLAIN_DTYPES,
    RESULT_DTYPES,
    Dtype,
    Opcode,
)
from dve_golden.isa.generations import Generation, in_generation

SUMMANDS = (Dtype.FP32, Dtype.FP16, Dtype.BF16, Dtype.INT32)
"""Of the sources and immediates of GradAccum."""

FLOATS = (Dtype.FP32, Dtype.FP16, Dtype.BF16)
"""Of parameters, and of the sums of GradAccum."""

PAIRED = (
    Opcode.TENSOR_TENSOR_ADD_BF16,
    Opcode.TENSOR_TENSOR_MULT_BF16,
    Opcode.TENSOR_TENSOR_SUB_BF16,
)
"""Sunda's; their sources are walked in pairs of elements."""

REDUCTIONS = (Opcode.BATCH_NORM_GRAD_ACCUMULATE, Opcode.BATCH_NORM_GRAD_ACCUMULATE2)
"""Opcodes whose destination has sums, not one element for each of the sources."""

FORWARD = (
    Opcode.BATCH_NORM_STATS,
    Opcode.BATCH_NORM_STATS2,
    Opcode.BATCH_NORM_AGGREGATE,
    Opcode.TRANSPOSE_BATCH_NORM_STATS2,
)
"""Statistics: one source, and a few results: the struct S4D2_BN."""

ELEMENTWISE = (
    Opcode.TENSOR_TENSOR_ARITH_OP,
    Opcode.TENSOR_TENSOR_BITVEC_OP,
    Opcode.BATCH_NORM_BACK_PROP,
    Opcode.COPY_PREDICATED,
    Opcode.CAST_PREDICATED,
    *PAIRED,
)
"""Opcodes with a result for each element of two sources: the struct S3S3D3_TT."""

OPERANDS = ("src0", "src1", "dst")
"""Of all but `FORWARD`."""

Types = dict[str, Dtype]

_PLAIN, _INTEGER, _RESULT = map(sorted, (PLAIN_DTYPES, INTEGER_DTYPES, RESULT_DTYPES))


def operands_of(opcode: Opcode) -> tuple[str, ...]:
    """Sources and destination."""
    return ("src", "dst") if opcode in FORWARD else OPERANDS


@cache
def type_tuples(opcode: Opcode) -> tuple[tuple[Dtype, ...], ...]:
    """Every legal combination of the types of `operands_of`."""
    if opcode in FORWARD:
        return tuple(product(_PLAIN, sorted(FLOAT_DTYPES)))
    if opcode is Opcode.TENSOR_TENSOR_BITVEC_OP:
        return tuple((dtype, dtype, dtype) for dtype in _INTEGER)
    if opcode is Opcode.COPY_PREDICATED:
        return tuple((flag, data, data) for flag, data in product(_INTEGER, _PLAIN))
    if opcode is Opcode.CAST_PREDICATED:
        return tuple(product(_INTEGER, _PLAIN, _PLAIN))
    if opcode in PAIRED:
        return tuple((Dtype.BF16, Dtype.BF16, result) for result in _RESULT)
    if opcode in REDUCTIONS:
        return tuple(product(sorted(SUMMANDS), sorted(SUMMANDS), sorted(FLOAT_DTYPES)))
    assert opcode in ELEMENTWISE, opcode
    return tuple(product(_PLAIN, _PLAIN, _RESULT))


@cache
def types_by_size(opcode: Opcode) -> dict[tuple[int, ...], tuple[tuple[Dtype, ...], ...]]:
    """The same, by the bytes of the elements."""
    found: dict[tuple[int, ...], tuple[tuple[Dtype, ...], ...]] = {}
    for types in type_tuples(opcode):
        sizes = tuple(DTYPE_BYTES[dtype] for dtype in types)
        found[sizes] = (*found.get(sizes, ()), types)
    return found


def by_operand(opcode: Opcode, types: tuple[Dtype, ...]) -> Types:
    """Types as those of `operands_of`."""
    return dict(zip(operands_of(opcode), types, strict=True))


def opcodes_of(generation: Generation) -> tuple[Opcode, ...]:
    """What the engine executes in a generation."""
    return tuple(opcode for opcode in sorted(Opcode) if in_generation(opcode, generation))
