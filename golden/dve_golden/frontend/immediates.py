"""Legality of numbers that stand in the instruction (isa_common.md 5.8; batchnorm.md 4, 5, 10)."""

from functools import partial

from dve_golden.frontend import nearest
from dve_golden.frontend.inspection import Inspection
from dve_golden.isa.enums import Reason


def check_finite(inspection: Inspection, field: str) -> None:
    """Check that an fp32 field holds neither an infinity nor a NaN."""
    bits = inspection.number(field)
    if bits & 0x7F80_0000 == 0x7F80_0000:  # exponent all ones
        near = partial(nearest.finite, field, bits)
        inspection.report(
            Reason.IMMEDIATE, field, f"{bits:#010x}", "a finite fp32 number", near=near
        )


def check_zero(inspection: Inspection, field: str) -> None:
    """Check that an fp32 field holds zero, of either sign."""
    bits = inspection.number(field)
    if bits & 0x7FFF_FFFF:
        near = partial(nearest.codes, field, bits, (0,))
        rule = "0: the counts are in the source"
        inspection.report(Reason.IMMEDIATE, field, f"{bits:#010x}", rule, near=near)
