"""Legality of the instructions of S4D2_BN, the forward statistics (batchnorm.md 10).

Each takes one source, of any type but FP32R, and writes a few results per channel. They differ in
how many elements go in and come out, and in what the two counts of the instruction may be.
"""

from collections.abc import Callable
from functools import partial

from dve_golden.frontend import nearest
from dve_golden.frontend.immediates import check_finite, check_zero
from dve_golden.frontend.inspection import Inspection
from dve_golden.frontend.operands import (
    MAX_ELEMENTS,
    check_channels,
    check_fixed_count,
    check_pattern,
)
from dve_golden.isa.enums import (
    FLOAT_DTYPES,
    MAX_CHANNELS,
    PLAIN_DTYPES,
    STATISTICS,
    Opcode,
    Reason,
)
from dve_golden.memory.address import QUADRANT

AGGREGATES = 2
"""Elements that Aggregate writes: mean and variance."""

STATS_ELEMENTS, STATS2_ELEMENTS = 256, 512
"""The most that Stats and Stats2 take at a time."""

TRANSPOSED_UNIT = QUADRANT
"""What channels and elements of TransposeStats2 are multiples of."""

_COUNTS = ("even_count", "odd_count")


def check_stats(inspection: Inspection) -> None:
    """0x60: one tuple; the odd count is not used, and still a number."""
    _check_counts(inspection)
    _check_operands(inspection, check_channels(inspection), STATISTICS, most=STATS_ELEMENTS)


def check_stats2(inspection: Inspection) -> None:
    """0x61: a tuple of the even ordinals and one of the odd ones."""
    _check_counts(inspection)
    _check_operands(inspection, check_channels(inspection), 2 * STATISTICS, most=STATS2_ELEMENTS)


def check_transpose_stats2(inspection: Inspection) -> None:
    """0x82: Stats2 on whole quadrants, and on elements in squares of as many."""
    _check_counts(inspection)
    channels = check_channels(inspection)
    field = "num_active_channels"
    if inspection.number(field) == channels and channels % TRANSPOSED_UNIT:
        legal = range(TRANSPOSED_UNIT, MAX_CHANNELS + 1, TRANSPOSED_UNIT)
        near = partial(nearest.codes, field, channels, legal)
        rule = f"a multiple of {TRANSPOSED_UNIT}"
        inspection.report(Reason.PARTITION, field, channels, rule, near=near)
    _check_operands(
        inspection, channels, 2 * STATISTICS, most=STATS2_ELEMENTS, unit=TRANSPOSED_UNIT
    )


def check_aggregate(inspection: Inspection) -> None:
    """0x62: tuples in, mean and variance out; the counts are in the tuples."""
    for field in _COUNTS:
        check_zero(inspection, field)
    _check_operands(inspection, check_channels(inspection), AGGREGATES, unit=STATISTICS)


def _check_counts(inspection: Inspection) -> None:
    for field in _COUNTS:
        check_finite(inspection, field)


def _check_operands(
    inspection: Inspection, channels: int, results: int, *, most: int = MAX_ELEMENTS, unit: int = 1
) -> None:
    size = inspection.element_bytes("in_dtype", PLAIN_DTYPES)
    result = inspection.element_bytes("out_dtype", FLOAT_DTYPES)
    check_pattern(inspection, "src", size, channels, most=most, unit=unit)
    dst = check_pattern(inspection, "dst", result, channels, write=True)
    check_fixed_count(inspection, dst, results)


RULES: dict[Opcode, Callable[[Inspection], None]] = {
    Opcode.BATCH_NORM_STATS: check_stats,
    Opcode.BATCH_NORM_STATS2: check_stats2,
    Opcode.BATCH_NORM_AGGREGATE: check_aggregate,
    Opcode.TRANSPOSE_BATCH_NORM_STATS2: check_transpose_stats2,
}
"""The check of each opcode of the struct."""
