"""Legality of memory operands: access patterns, pointers, and how operands relate.

Sources: isa_common.md 3.3, 4.2 to 4.4, 5.8 and section 10; batchnorm.md sections 2 to 7.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from dve_golden.frontend.inspection import Inspection
from dve_golden.isa.enums import MAX_CHANNELS, REGISTERS, ImmSrc, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import format_address, format_location
from dve_golden.memory.address import (
    ADDRESS_BITS,
    PARTITIONS,
    QUADRANT,
    Location,
    Region,
    is_register_form,
    regions_of,
)

MAX_ELEMENTS = (1 << 32) - 1
"""Largest legal product of counts (isa_common.md 4.4)."""

PSUM_WRITE_BYTES = 4
"""The only element size that may be written to PSUM (isa_common.md 3.3)."""


@dataclass(slots=True)
class Start:
    """A 29-bit start address, the field it comes from, and the register if one holds it."""

    field: str
    address: int
    register: int | None
    generation: Generation

    def __str__(self) -> str:
        shown = format_address(self.address, self.generation)
        return shown if self.register is None else f"r{self.register} = {shown}"


@dataclass(slots=True)
class Operand:
    """A memory operand whose address word is well formed.

    ``location`` is None outside SBUF and PSUM.
    """

    name: str
    location: Location | None
    elements: int


def check_channels(inspection: Inspection) -> int:
    """Active channels, or 1 where the field is illegal, so that starts can still be judged."""
    channels = inspection.number("num_active_channels")
    if 1 <= channels <= MAX_CHANNELS:
        return channels
    mend = MAX_CHANNELS if channels else 1
    inspection.report(
        Reason.PARTITION, "num_active_channels", channels, f"1 to {MAX_CHANNELS}", mend=mend
    )
    return 1


def start_fits(partition: int, channels: int) -> bool:
    """Whether ``channels`` partitions may start there (isa_common.md 3.3)."""
    if partition == 0:
        return channels <= PARTITIONS
    if partition == 2 * QUADRANT:
        return channels <= 2 * QUADRANT
    return partition % QUADRANT == 0 and channels <= QUADRANT


def check_pattern(
    inspection: Inspection,
    name: str,
    element_bytes: int | None,
    channels: int,
    *,
    write: bool = False,
) -> Operand | None:
    """Check a TENSORnD; None if its address word is malformed, and nothing else is said of it."""
    checked = _check_start(inspection, f"{name}.start_addr", element_bytes, channels, write=write)
    if checked is None:
        return None
    start, location = checked
    field = f"{name}.num_elem"
    counts = inspection.numbers(field)
    if 0 in counts:
        for part, count in enumerate(counts):
            if count == 0:
                rule = "every count is 1 to 65535"
                inspection.report(Reason.COUNT_ZERO, field, count, rule, mend=1, part=part)
    elements = prod(counts)
    if elements > MAX_ELEMENTS:
        rule = f"the product of the counts is at most {MAX_ELEMENTS}"
        inspection.report(Reason.COUNT_MISMATCH, field, elements, rule)
    if location is not None and element_bytes is not None and elements:
        steps = inspection.numbers(f"{name}.step_elem")
        _check_walk(inspection, start, location, element_bytes, steps, counts)
    return Operand(name, location, elements)


def check_run(
    inspection: Inspection, address_field: str, count_field: str, element_bytes: int | None
) -> None:
    """Check a contiguous run in a single partition, the operand of 0x66 (batchnorm.md 7).

    The count is the extent of the operand, so it is not looked at if the address is malformed.
    """
    checked = _check_start(inspection, address_field, element_bytes, channels=1)
    if checked is None:
        return
    start, location = checked
    count = inspection.number(count_field)
    if count == 0:
        inspection.report(Reason.COUNT_ZERO, count_field, count, "at least one entry", mend=1)
    elif location is not None and element_bytes is not None:
        _check_walk(inspection, start, location, element_bytes, (1,), (count,))


def check_same_count(inspection: Inspection, one: Operand | None, other: Operand | None) -> None:
    """Check that two operands have as many elements as each other."""
    if one is not None and other is not None and one.elements != other.elements:
        inspection.report(
            Reason.COUNT_MISMATCH,
            f"{other.name}.num_elem",
            f"{other.elements} elements",
            f"as many as {one.name}, which has {one.elements}",
        )


def check_fixed_count(inspection: Inspection, operand: Operand | None, elements: int) -> None:
    """Check that an operand has exactly so many elements."""
    if operand is not None and operand.elements != elements:
        inspection.report(
            Reason.COUNT_MISMATCH,
            f"{operand.name}.num_elem",
            f"{operand.elements} elements",
            f"exactly {elements} elements",
            mend=elements,
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
    field = f"{src1.name}.start_addr"
    if regions[0] is Region.PSUM:
        inspection.report(
            Reason.SOURCE_PLACEMENT,
            field,
            format_location(src1.location),
            f"not both sources in PSUM; {src0.name} is at {format_location(src0.location)}",
        )
    elif src0.location.partition != src1.location.partition:
        inspection.report(
            Reason.SOURCE_PLACEMENT,
            field,
            format_location(src1.location),
            f"the quadrant of {src0.name}, which is at {format_location(src0.location)}",
            mend=format_location(replace(src1.location, partition=src0.location.partition)),
        )


def check_pointer(
    inspection: Inspection,
    field: str,
    element_bytes: int | None,
    channels: int,
    *,
    selector: str | None = None,
    legal: Mapping[int, ImmSrc] | None = None,
) -> None:
    """Check a pointer immediate, held in the field or in the register that the field names.

    Every fault is reason 16.

    Parameters
    ----------
    selector
        Field that says where the pointer is; without one it is in ``field``.
    legal
        What each legal code of the selector stands for.
    """
    word = inspection.number(field)
    generation = inspection.geometry.generation
    source = ImmSrc.POINTER
    if selector is not None and legal is not None:
        code = inspection.number(selector)
        if code not in legal:
            meanings = ", ".join(f"{key} {value.name.lower()}" for key, value in legal.items())
            inspection.report(Reason.IMMEDIATE, selector, code, f"one of {meanings}")
            return
        source = legal[code]
    if source is ImmSrc.POINTER:
        start = Start(field, word, None, generation)
    elif word < REGISTERS:
        start = Start(field, int(inspection.registers[word]), word, generation)
    else:
        rule = f"a register, 0 to {REGISTERS - 1}"
        inspection.report(Reason.IMMEDIATE, field, f"{word:#010x}", rule)
        return
    if start.address >> ADDRESS_BITS:
        inspection.report(Reason.IMMEDIATE, field, start, "bits 31:29 of a pointer are 0")
        return
    location = inspection.locate(start.address)
    _check_alignment(inspection, Reason.IMMEDIATE, start, element_bytes)
    if location is None:
        inspection.report(Reason.IMMEDIATE, field, start, f"a pointer into {_memories(inspection)}")
    else:
        _check_placement(inspection, Reason.IMMEDIATE, start, location, channels)


def _memories(inspection: Inspection) -> str:
    """The memories of the generation, as a rule names them."""
    return " or ".join(region.name for region in regions_of(inspection.geometry.generation))


def _check_start(
    inspection: Inspection,
    field: str,
    element_bytes: int | None,
    channels: int,
    *,
    write: bool = False,
) -> tuple[Start, Location | None] | None:
    """Check an ADDR4 word and ``tensor_start_addr_valid``: reasons 13, then 7, 8 and 9.

    None if the word is malformed. The location is None outside SBUF and PSUM.
    """
    word = inspection.number(field)
    generation = inspection.geometry.generation
    register = word & 0xFF if is_register_form(word, generation) else None
    address = inspection.resolve(word)
    if address is None:
        held = word if register is None else int(inspection.registers[register])
        inspection.report(
            Reason.ADDRESSING_MODE,
            field,
            f"{held:#010x}" if register is None else f"r{register} = {held:#010x}",
            f"an address with bits 31:29 zero, or a register 0 to {REGISTERS - 1} that holds one",
        )
        return None
    start = Start(field, address, register, generation)
    location = inspection.locate(address)
    _check_alignment(inspection, Reason.ALIGNMENT, start, element_bytes)
    if location is None:
        inspection.report(Reason.REGION, field, start, f"an address in {_memories(inspection)}")
        return start, None
    if write and location.region is Region.PSUM and element_bytes not in (None, PSUM_WRITE_BYTES):
        inspection.report(
            Reason.REGION,
            field,
            f"{start}, with {element_bytes}-byte elements",
            f"a destination in PSUM has {PSUM_WRITE_BYTES}-byte elements",
        )
    _check_placement(inspection, Reason.PARTITION, start, location, channels)
    return start, location


def _check_alignment(
    inspection: Inspection, reason: Reason, start: Start, element_bytes: int | None
) -> None:
    if element_bytes is not None and start.address % element_bytes:
        inspection.report(
            reason,
            start.field,
            start,
            f"a multiple of {element_bytes}, the size of an element",
            mend=format_address(start.address - start.address % element_bytes, start.generation),
        )


def _check_placement(
    inspection: Inspection, reason: Reason, start: Start, location: Location, channels: int
) -> None:
    """Check ``tpb_addr_active_channels``: start partition and byte in the partition."""
    if not start_fits(location.partition, channels):
        starts = [p for p in range(0, PARTITIONS, QUADRANT) if start_fits(p, channels)]
        nearest = min(starts, key=lambda partition: abs(partition - location.partition))
        inspection.report(
            reason,
            start.field,
            start,
            f"{channels} channels start at partition {' or '.join(map(str, starts))}",
            mend=format_location(replace(location, partition=nearest)),
        )
    active = inspection.geometry.active(location.region)
    if location.offset >= active:
        inspection.report(reason, start.field, start, f"a byte of the partition below {active:#x}")


def _check_walk(
    inspection: Inspection,
    start: Start,
    location: Location,
    element_bytes: int,
    steps: tuple[int, ...],
    counts: tuple[int, ...],
) -> None:
    """Check that a walk stays in the partition (isa_common.md 4.3).

    The offset is linear in each index, so its extremes lie at corners of the index box.
    """
    low = high = 0
    for step, count in zip(steps, counts, strict=True):
        reach = (count - 1) * step
        if reach < 0:
            low += reach
        else:
            high += reach
    first = location.offset + element_bytes * low
    last = location.offset + element_bytes * high + element_bytes - 1
    active = inspection.geometry.active(location.region)
    if first >= 0 and last < active:
        return
    mend = ""
    if last - first < active:
        shift = max(0, -first) - max(0, last - active + 1)
        mend = format_location(replace(location, offset=location.offset + shift))
    inspection.report(
        Reason.WALK,
        start.field,
        f"{start}, reaches bytes {first:#x} to {last:#x}",
        f"the walk stays in bytes 0x0 to {active - 1:#x} of the partition",
        mend=mend,
    )
