"""What distinguishes the legality of one opcode from another's, as data.

Sources: batchnorm.md sections 2 to 5 and 7; isa_common.md 5.6. Rules shared by all opcodes are
not repeated here.
"""

from dataclasses import dataclass

from dve_golden.isa.enums import (
    FLOAT_DTYPES,
    GRAD_ACCUMULATE_DTYPES,
    PLAIN_DTYPES,
    RESULT_DTYPES,
    Dtype,
    ImmSrc,
    Opcode,
)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Limits on the fields of one opcode.

    Parameters
    ----------
    sources, results, immediates : frozenset of Dtype
        Legal element types (reason 5); empty where the opcode has no such operand.
    selectors : frozenset of ImmSrc
        Legal ways to give a pointer (reason 16).
    source_count, result_count : int, optional
        Required number of elements of src0 and dst (reason 11).
    paired : bool
        src0 and src1 have equal counts (reason 11) and legal relative placement (reason 12).
    elementwise : bool
        dst has the count of src0 (reason 11).
    """

    sources: frozenset[Dtype] = frozenset()
    results: frozenset[Dtype] = frozenset()
    immediates: frozenset[Dtype] = frozenset()
    selectors: frozenset[ImmSrc] = frozenset()
    source_count: int | None = None
    result_count: int | None = None
    paired: bool = False
    elementwise: bool = False


_OLD_POINTER = frozenset({ImmSrc.INSTRUCTION, ImmSrc.POINTER, ImmSrc.REGISTER})
"""0 means pointer too: old binaries left the selector empty (batchnorm.md section 4)."""

RULES: dict[Opcode, Rules] = {
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: Rules(
        sources=GRAD_ACCUMULATE_DTYPES,
        results=FLOAT_DTYPES,
        immediates=GRAD_ACCUMULATE_DTYPES,
        selectors=frozenset({ImmSrc.POINTER}),
        result_count=3,
        paired=True,
    ),
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: Rules(
        sources=GRAD_ACCUMULATE_DTYPES,
        results=FLOAT_DTYPES,
        immediates=GRAD_ACCUMULATE_DTYPES,
        selectors=frozenset({ImmSrc.POINTER, ImmSrc.REGISTER}),
        result_count=3,
        paired=True,
    ),
    Opcode.BATCH_NORM_PARAM_LOAD: Rules(
        sources=FLOAT_DTYPES,
        immediates=frozenset({Dtype.FP32}),
        selectors=_OLD_POINTER,
        source_count=3,
    ),
    Opcode.BATCH_NORM_PARAM_LOAD2: Rules(
        sources=FLOAT_DTYPES,
        immediates=FLOAT_DTYPES,
        selectors=_OLD_POINTER,
        source_count=2,
    ),
    Opcode.LOAD_PARAMETER_RAM: Rules(sources=frozenset({Dtype.FP32})),
    Opcode.BATCH_NORM_BACK_PROP: Rules(
        sources=PLAIN_DTYPES,
        results=RESULT_DTYPES,
        paired=True,
        elementwise=True,
    ),
    Opcode.EVENT_SEMAPHORE: Rules(),
    Opcode.NOP: Rules(),
}
