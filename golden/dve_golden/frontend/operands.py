"""Legality of memory operands: access patterns, and how operands relate.

Sources: isa_common.md 3.3, 4.2 to 4.4, 5.3 and 5.8; batchnorm.md sections 2 to 7.
"""

from dataclasses import dataclass
from functools import partial
from math import prod

from dve_golden.frontend import nearest
from dve_golden.frontend.inspection import Inspection
from dve_golden.frontend.starts import Extent, Start, check_start, check_walk, near_start
from dve_golden.isa.enums import MAX_CHANNELS, Reason
from dve_golden.isa.notation import format_location
from dve_golden.memory.address import QUADRANT, Location, Region

MAX_ELEMENTS = (1 << 32) - 1
"""Largest legal product of counts (isa_common.md 4.4)."""

_FULL_QUADRANTS = (1, QUADRANT, 2 * QUADRANT, MAX_CHANNELS)
"""The fewest channels, and the most that may start in some quadrant."""


@dataclass(slots=True)
class Operand:
    """A memory operand whose address word is well formed.

    Parameters
    ----------
    name
        Of the pattern, as in ``src0.num_elem``.
    start
        Its start address.
    location
        Where that is; None outside SBUF and PSUM.
    extent
        What the operand touches.
    counts
        Per dimension, innermost first.
    """

    name: str
    start: Start
    location: Location | None
    extent: Extent
    counts: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.counts)


def check_channels(inspection: Inspection) -> int:
    """Active channels, or 1 where the field is illegal, so that starts can still be judged."""
    field = "num_active_channels"
    channels = inspection.number(field)
    if 1 <= channels <= MAX_CHANNELS:
        return channels
    near = partial(nearest.codes, field, channels, _FULL_QUADRANTS)
    inspection.report(Reason.PARTITION, field, channels, f"1 to {MAX_CHANNELS}", near=near)
    return 1


def check_pattern(
    inspection: Inspection,
    name: str,
    element_bytes: int | None,
    channels: int,
    *,
    write: bool = False,
    alignment: int | None = None,
    most: int = MAX_ELEMENTS,
    unit: int = 1,
) -> Operand | None:
    """Check a TENSORnD; None if its address word is malformed, and nothing else is said of it.

    The start is a multiple of the element's size, or of ``alignment``. There are ``most`` elements
    at most, and a multiple of ``unit``.
    """
    field = f"{name}.num_elem"
    counts = inspection.numbers(field)
    steps = inspection.numbers(f"{name}.step_elem")
    extent = Extent.of(element_bytes, steps, counts, alignment=alignment)
    checked = check_start(inspection, f"{name}.start_addr", extent, channels, write=write)
    if checked is None:
        return None
    start, location = checked
    if 0 in counts:
        for part, count in enumerate(counts):
            if count == 0:
                rule = "every count is 1 to 65535"
                near = partial(nearest.nonzero_counts, field, counts, part)
                inspection.report(Reason.COUNT_ZERO, field, count, rule, near=near, part=part)
    elements = prod(counts)
    if elements > most or elements % unit:
        rule = f"the product of the counts is at most {most}"
        if elements <= most:
            rule = f"the product of the counts is a multiple of {unit}"
        near = partial(nearest.limited_shapes, field, counts, most, unit)
        inspection.report(Reason.COUNT_MISMATCH, field, elements, rule, near=near)
    if location is not None and element_bytes is not None and elements:
        check_walk(inspection, start, location, extent)
    return Operand(name, start, location, extent, counts)


def check_run(
    inspection: Inspection, address_field: str, count_field: str, element_bytes: int | None
) -> None:
    """Check a contiguous run in a single partition, the operand of 0x66 (batchnorm.md 7).

    The count is the extent of the operand, so it is not looked at if the address is malformed.
    """
    count = inspection.number(count_field)
    extent = Extent.of(element_bytes, (1,), (count,))
    checked = check_start(inspection, address_field, extent, channels=1)
    if checked is None:
        return
    start, location = checked
    if count == 0:
        near = partial(nearest.codes, count_field, count, (1,))
        inspection.report(Reason.COUNT_ZERO, count_field, count, "at least one entry", near=near)
    elif location is not None and element_bytes is not None:
        check_walk(inspection, start, location, extent)


def check_same_count(inspection: Inspection, one: Operand | None, other: Operand | None) -> None:
    """Check that two operands have as many elements as each other."""
    if one is not None and other is not None and one.elements != other.elements:
        field = f"{other.name}.num_elem"
        inspection.report(
            Reason.COUNT_MISMATCH,
            field,
            f"{other.elements} elements",
            f"as many as {one.name}, which has {one.elements}",
            near=partial(nearest.shapes, field, other.counts, one.counts),
        )


def check_fixed_count(inspection: Inspection, operand: Operand | None, elements: int) -> None:
    """Check that an operand has exactly so many elements."""
    if operand is not None and operand.elements != elements:
        field = f"{operand.name}.num_elem"
        shape = (elements, *(1,) * (len(operand.counts) - 1))
        inspection.report(
            Reason.COUNT_MISMATCH,
            field,
            f"{operand.elements} elements",
            f"exactly {elements} elements",
            near=partial(nearest.shapes, field, operand.counts, shape),
        )


def check_source_placement(
    inspection: Inspection, src0: Operand | None, src1: Operand | None
) -> None:
    """Check ``tt_valid_partitions``: one source each, or both in one SBUF quadrant (3.3)."""
    if src0 is None or src1 is None or src0.location is None or src1.location is None:
        return
    regions = (src0.location.region, src1.location.region)
    if regions[0] is not regions[1]:
        return
    if regions[0] is Region.PSUM:
        rule = f"not both sources in PSUM; {src0.name} is at {format_location(src0.location)}"
    elif src0.location.partition != src1.location.partition:
        rule = f"the quadrant of {src0.name}, which is at {format_location(src0.location)}"
    else:
        return
    inspection.report(
        Reason.SOURCE_PLACEMENT,
        src1.start.field,
        format_location(src1.location),
        rule,
        near=partial(near_start, inspection, src1.start, src1.extent),
    )
