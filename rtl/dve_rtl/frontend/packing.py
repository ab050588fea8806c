"""Walks by words of two bf16 elements: sunda's 0x8a, 0x8b and 0x8f (isa_common.md 5.7)."""

from amaranth import *
from dve_golden.isa.generations import Generation

from dve_rtl.frontend.rules import rules_of
from dve_rtl.memory.element import log2_bytes

LOG2_WORD_BYTES = 2
"""Sources are validated as UINT32."""


def is_packed(opcode: Value, generation: Generation) -> Value:
    """Whether the sources of ``opcode`` are walked by words; never on most generations."""
    packed = [op for op, rules in rules_of(generation).items() if rules.packed]
    return opcode.matches(*packed)


def steps_split_words(operand) -> Value:
    """Whether the steps of a source break its words up (reason 7), by whatever its counts are."""
    step = operand.step
    return (step[0] != 1) | step[1][0] | step[2][0]


def row_splits_a_word(operand) -> Value:
    """Whether the innermost count of a source is odd (reason 11)."""
    return operand.count[0][0]


def pairs_fit(dst, start) -> Value:
    """Whether two results that follow each other always share one aligned double element.

    The sources of a legal instruction are walked like that in any case. Outer steps of ``dst``
    count only where they are taken.
    """
    misalignment = [start.offset[: log2 + 1].any() for log2 in range(4)]
    outer = [(dst.count[d] != 1) & dst.step[d][0] for d in (1, 2)]
    return ~(
        (dst.step[0] != 1)
        | dst.count[0][0]
        | Cat(*outer).any()
        | Array(misalignment)[log2_bytes(dst.dtype)]
    )
