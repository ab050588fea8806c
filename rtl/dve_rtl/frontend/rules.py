"""What distinguishes the legality of one opcode from another's, as data.

Sources: batchnorm.md sections 2 to 5, 7 and 10; isa_common.md 5.3 to 5.7. Rules shared by all
opcodes are not repeated here.
"""

from dataclasses import dataclass, replace

from dve_golden.isa.enums import (
    FLOAT_DTYPES,
    GRAD_ACCUMULATE_DTYPES,
    INTEGER_DTYPES,
    PLAIN_DTYPES,
    RESULT_DTYPES,
    Dtype,
    ImmSrc,
    Opcode,
)
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import GENERAL_ARITHMETIC, GENERAL_BITVECTOR, AluOp

from dve_rtl.frontend.decode import Slot
from dve_rtl.generations import knows

ZERO_OP = frozenset({AluOp.BYPASS})
"""`s3s3d3_tt_is_zero_op`; a struct without operator reads as zero, too (isa_common.md 5.3)."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Limits on the fields of one opcode.

    Parameters
    ----------
    src0, src1, dst, immediates : frozenset of Dtype
        Legal element types (reason 5); empty where the opcode has no such operand.
    typed_like_dst : frozenset of Slot
        Sources whose element type is that of dst (reason 5).
    operators : frozenset of AluOp
        Legal operator bytes (reason 6).
    selectors : frozenset of ImmSrc
        Legal ways to give a pointer (reason 16).
    source_count, result_count : int, optional
        Required number of elements of src0 and dst (reason 11).
    source_limit : int or None
        Largest count of src0 (reason 11).
    source_multiple : int
        The count of src0 is a multiple of it (reason 11).
    channel_multiple : int
        The channels are a multiple of it, a power of two (reason 9).
    no_counts : bool
        Both count immediates are zero, of either sign (reason 16).
    paired : bool
        src0 and src1 have equal counts (reason 11) and legal relative placement (reason 12).
    elementwise : bool
        dst has the count of src0 (reason 11).
    packed : bool
        Both sources are walked by words of two elements (reasons 7 and 11).
    """

    src0: frozenset[Dtype] = frozenset()
    src1: frozenset[Dtype] = frozenset()
    dst: frozenset[Dtype] = frozenset()
    immediates: frozenset[Dtype] = frozenset()
    typed_like_dst: frozenset[Slot] = frozenset()
    operators: frozenset[AluOp] = ZERO_OP
    selectors: frozenset[ImmSrc] = frozenset()
    source_count: int | None = None
    result_count: int | None = None
    source_limit: int | None = None
    source_multiple: int = 1
    channel_multiple: int = 1
    no_counts: bool = False
    paired: bool = False
    elementwise: bool = False
    packed: bool = False


_OLD_POINTER = frozenset({ImmSrc.INSTRUCTION, ImmSrc.POINTER, ImmSrc.REGISTER})
"""0 means pointer too: old binaries left the selector empty (batchnorm.md section 4)."""


def _bf16_operator(op: AluOp) -> Rules:
    return Rules(
        src0=frozenset({Dtype.BF16}),
        src1=frozenset({Dtype.BF16}),
        dst=RESULT_DTYPES,
        operators=frozenset({op}),
        paired=True,
        elementwise=True,
        packed=True,
    )


_STATS2 = Rules(src0=PLAIN_DTYPES, dst=FLOAT_DTYPES, source_limit=512, result_count=6)

_RULES: dict[Opcode, Rules] = {
    Opcode.BATCH_NORM_STATS: replace(_STATS2, source_limit=256, result_count=3),
    Opcode.BATCH_NORM_STATS2: _STATS2,
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: replace(_STATS2, source_multiple=32, channel_multiple=32),
    Opcode.BATCH_NORM_AGGREGATE: replace(
        _STATS2, source_limit=None, source_multiple=3, result_count=2, no_counts=True
    ),
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: Rules(
        src0=GRAD_ACCUMULATE_DTYPES,
        src1=GRAD_ACCUMULATE_DTYPES,
        dst=FLOAT_DTYPES,
        immediates=GRAD_ACCUMULATE_DTYPES,
        selectors=frozenset({ImmSrc.POINTER}),
        result_count=3,
        paired=True,
    ),
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: Rules(
        src0=GRAD_ACCUMULATE_DTYPES,
        src1=GRAD_ACCUMULATE_DTYPES,
        dst=FLOAT_DTYPES,
        immediates=GRAD_ACCUMULATE_DTYPES,
        selectors=frozenset({ImmSrc.POINTER, ImmSrc.REGISTER}),
        result_count=3,
        paired=True,
    ),
    Opcode.BATCH_NORM_PARAM_LOAD: Rules(
        src0=FLOAT_DTYPES,
        immediates=frozenset({Dtype.FP32}),
        selectors=_OLD_POINTER,
        source_count=3,
    ),
    Opcode.BATCH_NORM_PARAM_LOAD2: Rules(
        src0=FLOAT_DTYPES,
        immediates=FLOAT_DTYPES,
        selectors=_OLD_POINTER,
        source_count=2,
    ),
    Opcode.LOAD_PARAMETER_RAM: Rules(src0=frozenset({Dtype.FP32})),
    Opcode.BATCH_NORM_BACK_PROP: Rules(
        src0=PLAIN_DTYPES,
        src1=PLAIN_DTYPES,
        dst=RESULT_DTYPES,
        paired=True,
        elementwise=True,
    ),
    Opcode.TENSOR_TENSOR_BITVEC_OP: Rules(
        src0=INTEGER_DTYPES,
        src1=INTEGER_DTYPES,
        dst=INTEGER_DTYPES,
        typed_like_dst=frozenset({Slot.SRC0, Slot.SRC1}),
        operators=GENERAL_BITVECTOR,
        paired=True,
        elementwise=True,
    ),
    Opcode.COPY_PREDICATED: Rules(
        src0=INTEGER_DTYPES,
        src1=PLAIN_DTYPES,
        dst=PLAIN_DTYPES,
        typed_like_dst=frozenset({Slot.SRC1}),
        paired=True,
        elementwise=True,
    ),
    Opcode.CAST_PREDICATED: Rules(
        src0=INTEGER_DTYPES,
        src1=PLAIN_DTYPES,
        dst=PLAIN_DTYPES,
        paired=True,
        elementwise=True,
    ),
    Opcode.TENSOR_TENSOR_ADD_BF16: _bf16_operator(AluOp.ADD),
    Opcode.TENSOR_TENSOR_MULT_BF16: _bf16_operator(AluOp.MULT),
    Opcode.TENSOR_TENSOR_SUB_BF16: _bf16_operator(AluOp.SUBTRACT),
    Opcode.EVENT_SEMAPHORE: Rules(),
    Opcode.NOP: Rules(),
}
"""Every opcode but 0x41, whose operators depend on the generation."""


def rules_of(generation: Generation) -> dict[Opcode, Rules]:
    """The rules of the opcodes that ``generation`` has."""
    arithmetic = Rules(
        src0=PLAIN_DTYPES,
        src1=PLAIN_DTYPES,
        dst=RESULT_DTYPES,
        operators=GENERAL_ARITHMETIC[generation],
        paired=True,
        elementwise=True,
    )
    every = _RULES | {Opcode.TENSOR_TENSOR_ARITH_OP: arithmetic}
    return {opcode: rules for opcode, rules in every.items() if knows(generation, opcode)}
