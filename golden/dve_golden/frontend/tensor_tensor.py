"""Legality of the instructions of S3S3D3_TT: types, operator, walks (isa_common.md 5.2 to 5.8).

Each takes two sources and a result, element by element. They differ in which types belong together
and in what the operator byte may be.
"""

from collections.abc import Callable, Collection
from functools import partial

from dve_golden.frontend import nearest
from dve_golden.frontend.inspection import Inspection
from dve_golden.frontend.operands import (
    Operand,
    check_channels,
    check_pattern,
    check_same_count,
    check_source_placement,
)
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    INTEGER_DTYPES,
    PLAIN_DTYPES,
    RESULT_DTYPES,
    Dtype,
    Opcode,
    Reason,
)
from dve_golden.isa.notation import format_code, format_dtype
from dve_golden.isa.operators import (
    GENERAL_ARITHMETIC,
    GENERAL_BITVECTOR,
    REQUIRED_OPERATOR,
    AluOp,
)

LO, HI, OUT = "in0_in1_dtype.lo", "in0_in1_dtype.hi", "out_dtype"
"""Element types of src0, src1 and dst."""

MAX_STEP = (1 << 15) - 1
"""Largest step, a signed 16-bit number (4.2)."""

PAIR_BYTES = DTYPE_BYTES[Dtype.UINT32]
"""What the sources of the bf16 opcodes are aligned to: a read delivers a pair (5.7)."""


def check_arithmetic(inspection: Inspection) -> None:
    """0x41: any types, an operator that the vector engine of the generation has (5.4)."""
    sizes = _element_bytes(inspection, PLAIN_DTYPES, PLAIN_DTYPES, RESULT_DTYPES)
    _check_operator(inspection, GENERAL_ARITHMETIC[inspection.geometry.generation])
    _check_operands(inspection, sizes)


def check_bit_vector(inspection: Inspection) -> None:
    """0x51: one integer type for all operands, no conversion (5.4)."""
    sizes = _element_bytes(inspection, INTEGER_DTYPES, INTEGER_DTYPES, INTEGER_DTYPES)
    for field in (LO, HI):
        _check_type_of_dst(inspection, field, INTEGER_DTYPES)
    _check_operator(inspection, GENERAL_BITVECTOR)
    _check_operands(inspection, sizes)


def check_back_prop(inspection: Inspection) -> None:
    """0x65: any types (5.6)."""
    sizes = _element_bytes(inspection, PLAIN_DTYPES, PLAIN_DTYPES, RESULT_DTYPES)
    _check_required_operator(inspection)
    _check_operands(inspection, sizes)


def check_copy_predicated(inspection: Inspection) -> None:
    """0x72: an integer predicate, and data of the type of the result (5.5)."""
    sizes = _element_bytes(inspection, INTEGER_DTYPES, PLAIN_DTYPES, PLAIN_DTYPES)
    _check_type_of_dst(inspection, HI, PLAIN_DTYPES)
    _check_required_operator(inspection)
    _check_operands(inspection, sizes)


def check_cast_predicated(inspection: Inspection) -> None:
    """0x99: an integer predicate, and data of any type but FP32R (5.5)."""
    sizes = _element_bytes(inspection, INTEGER_DTYPES, PLAIN_DTYPES, PLAIN_DTYPES)
    _check_required_operator(inspection)
    _check_operands(inspection, sizes)


def check_bf16(inspection: Inspection) -> None:
    """0x8a, 0x8b and 0x8f: sources of bf16 that can be read in pairs (5.7)."""
    sizes = _element_bytes(inspection, {Dtype.BF16}, {Dtype.BF16}, RESULT_DTYPES)
    _check_required_operator(inspection)
    for source in _check_operands(inspection, sizes, source_alignment=PAIR_BYTES):
        if source is not None:
            _check_pairs(inspection, source)


_Sizes = tuple[int | None, int | None, int | None]


def _element_bytes(
    inspection: Inspection, lo: Collection[int], hi: Collection[int], out: Collection[int]
) -> _Sizes:
    """Sizes of src0, src1 and dst; None where the type is not among the legal ones."""
    return (
        inspection.element_bytes(LO, lo),
        inspection.element_bytes(HI, hi),
        inspection.element_bytes(OUT, out),
    )


def _check_type_of_dst(inspection: Inspection, field: str, legal: Collection[int]) -> None:
    """Check that a source has the type of the result; of an illegal type no more is said."""
    code, wanted = inspection.number(field), inspection.number(OUT)
    if code in legal and wanted in legal and code != wanted:
        near = partial(nearest.dtypes, field, code, (wanted,))
        rule = f"the type of dst, {format_dtype(wanted)}"
        inspection.report(Reason.DTYPE, field, format_dtype(code), rule, near=near)


def _check_operator(inspection: Inspection, legal: Collection[AluOp]) -> None:
    code = inspection.number("op")
    if code not in legal:
        names = ", ".join(format_code(op, AluOp) for op in sorted(legal))
        near = partial(nearest.operators, "op", code, legal)
        shown = format_code(code, AluOp)
        inspection.report(Reason.OPERATOR, "op", shown, f"one of {names}", near=near)


def _check_required_operator(inspection: Inspection) -> None:
    """Check the operator byte of an opcode that leaves no choice (5.8)."""
    code, required = inspection.number("op"), REQUIRED_OPERATOR[inspection.opcode]
    if code != required:
        # Zero is no operator here: the field is not used.
        candidates = nearest.operators if required else nearest.codes
        near = partial(candidates, "op", code, (required,))
        name = format_code(required, AluOp) if required else "0"
        rule = f"{name}: the opcode says it all"
        inspection.report(Reason.OPERATOR, "op", f"{code:#04x}", rule, near=near)


def _check_operands(
    inspection: Inspection, sizes: _Sizes, *, source_alignment: int | None = None
) -> tuple[Operand | None, Operand | None]:
    """Check walks, counts and placement (5.3); the sources, None if an address is malformed."""
    size0, size1, result = sizes
    channels = check_channels(inspection)
    src0 = check_pattern(inspection, "src0", size0, channels, alignment=source_alignment)
    src1 = check_pattern(inspection, "src1", size1, channels, alignment=source_alignment)
    dst = check_pattern(inspection, "dst", result, channels, write=True)
    check_same_count(inspection, src0, src1)
    check_same_count(inspection, src0, dst)
    check_source_placement(inspection, src0, src1)
    return src0, src1


def _check_pairs(inspection: Inspection, source: Operand) -> None:
    """Check that elements come in pairs: an even row of neighbours, and every row aligned."""
    steps, counts = f"{source.name}.step_elem", f"{source.name}.num_elem"
    if source.counts[0] % 2:
        near = partial(nearest.even_counts, counts, source.counts)
        rule = "an even count: a read delivers a pair of elements"
        found = source.counts[0]
        inspection.report(Reason.COUNT_MISMATCH, counts, found, rule, near=near, part=0)
    values = inspection.numbers(steps)
    for part, step in enumerate(values):
        if part == 0 and step != 1:
            near = partial(nearest.steps, steps, values, part, (1,))
            rule = "1: the elements of a pair are neighbours"
        elif part > 0 and step % 2:
            near = partial(nearest.steps, steps, values, part, _even_neighbours(step))
            rule = "an even step, also where the count is 1: every row begins with a pair"
        else:
            continue
        inspection.report(Reason.ALIGNMENT, steps, step, rule, near=near, part=part)


def _even_neighbours(odd_step: int) -> tuple[int, ...]:
    """The one nearer to zero first; both fit 16 bits unless it is the largest."""
    nearer = odd_step - 1 if odd_step > 0 else odd_step + 1
    farther = 2 * odd_step - nearer
    return (nearer, farther) if farther <= MAX_STEP else (nearer,)


RULES: dict[Opcode, Callable[[Inspection], None]] = {
    Opcode.TENSOR_TENSOR_ARITH_OP: check_arithmetic,
    Opcode.TENSOR_TENSOR_BITVEC_OP: check_bit_vector,
    Opcode.BATCH_NORM_BACK_PROP: check_back_prop,
    Opcode.COPY_PREDICATED: check_copy_predicated,
    Opcode.TENSOR_TENSOR_ADD_BF16: check_bf16,
    Opcode.TENSOR_TENSOR_MULT_BF16: check_bf16,
    Opcode.TENSOR_TENSOR_SUB_BF16: check_bf16,
    Opcode.CAST_PREDICATED: check_cast_predicated,
}
"""The check of each opcode of the struct."""
