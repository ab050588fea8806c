"""Legality of start addresses: ADDR4 words, pointers, and the walks that begin there.

Sources: isa_common.md 3.1, 3.3, 4.3, 5.8 and section 10; batchnorm.md sections 2 to 7.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from dve_golden.frontend import nearest
from dve_golden.frontend.inspection import Inspection
from dve_golden.frontend.verdict import Suggestion
from dve_golden.isa.enums import REGISTERS, ImmSrc, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import format_address
from dve_golden.memory.address import (
    ADDRESS_BITS,
    PARTITIONS,
    QUADRANT,
    REGISTER_WORD,
    Location,
    Region,
    is_register_form,
    regions_of,
)

PSUM_WRITE_BYTES = 4
"""The only element size that may be written to PSUM (isa_common.md 3.3)."""


@dataclass(slots=True)
class Extent:
    """What an operand touches, relative to its start.

    Parameters
    ----------
    element_bytes
        Element size; None if the type is illegal.
    low, high
        First and last byte of the walk, were the elements of one byte if there is no size.
    alignment
        What the start address is a multiple of; None if the type is illegal.
    """

    element_bytes: int | None
    low: int
    high: int
    alignment: int | None

    @classmethod
    def of(
        cls,
        element_bytes: int | None,
        steps: tuple[int, ...] = (),
        counts: tuple[int, ...] = (),
        *,
        alignment: int | None = None,
    ) -> "Extent":
        """The extent of a walk (isa_common.md 4.3).

        The offset is linear in each index, so its extremes lie at corners of the index box. An
        illegal count of 0 counts as 1. The alignment is the element's size unless given.
        """
        size = element_bytes or 1
        low = high = 0
        for step, count in zip(steps, counts, strict=True):
            reach = (count - 1) * step if count else 0
            if reach < 0:
                low += reach
            else:
                high += reach
        alignment = element_bytes if alignment is None else alignment
        return cls(element_bytes, size * low, size * high + size - 1, alignment)


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


def start_fits(partition: int, channels: int) -> bool:
    """Whether ``channels`` partitions may start there (isa_common.md 3.3)."""
    if partition == 0:
        return channels <= PARTITIONS
    if partition == 2 * QUADRANT:
        return channels <= 2 * QUADRANT
    return partition % QUADRANT == 0 and channels <= QUADRANT


def check_start(
    inspection: Inspection, field: str, extent: Extent, channels: int, *, write: bool = False
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
            near=partial(_well_formed, inspection, field, held, register, extent),
        )
        return None
    start = Start(field, address, register, generation)
    location = inspection.locate(address)
    near = partial(near_start, inspection, start, extent)
    _check_alignment(inspection, Reason.ALIGNMENT, start, extent)
    if location is None:
        rule = f"an address in {_memories(inspection)}"
        inspection.report(Reason.REGION, field, start, rule, near=near)
        return start, None
    element_bytes = extent.element_bytes
    if write and location.region is Region.PSUM and element_bytes not in (None, PSUM_WRITE_BYTES):
        inspection.report(
            Reason.REGION,
            field,
            f"{start}, with {element_bytes}-byte elements",
            f"a destination in PSUM has {PSUM_WRITE_BYTES}-byte elements",
            near=near,
        )
    _check_placement(inspection, Reason.PARTITION, start, location, extent, channels)
    return start, location


def check_walk(inspection: Inspection, start: Start, location: Location, extent: Extent) -> None:
    """Check that a walk stays in its partition: reason 14 (isa_common.md 4.3)."""
    first, last = location.offset + extent.low, location.offset + extent.high
    active = inspection.geometry.active(location.region)
    if first < 0 or last >= active:
        inspection.report(
            Reason.WALK,
            start.field,
            f"{start}, reaches bytes {first:#x} to {last:#x}",
            f"the walk stays in bytes 0x0 to {active - 1:#x} of the partition",
            near=partial(near_start, inspection, start, extent),
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
    source = ImmSrc.POINTER
    if selector is not None and legal is not None:
        code = inspection.number(selector)
        if code not in legal:
            meanings = ", ".join(f"{key} {value.name.lower()}" for key, value in legal.items())
            near = partial(nearest.codes, selector, code, legal)
            inspection.report(Reason.IMMEDIATE, selector, code, f"one of {meanings}", near=near)
            return
        source = legal[code]
    start = _pointer(inspection, field, source)
    if start is None:
        return
    extent = Extent.of(element_bytes)
    near = partial(near_start, inspection, start, extent)
    if start.address >> ADDRESS_BITS:
        rule = "bits 31:29 of a pointer are 0"
        inspection.report(Reason.IMMEDIATE, field, start, rule, near=near)
        return
    location = inspection.locate(start.address)
    _check_alignment(inspection, Reason.IMMEDIATE, start, extent)
    if location is None:
        rule = f"a pointer into {_memories(inspection)}"
        inspection.report(Reason.IMMEDIATE, field, start, rule, near=near)
    else:
        _check_placement(inspection, Reason.IMMEDIATE, start, location, extent, channels)


def _pointer(inspection: Inspection, field: str, source: ImmSrc) -> Start | None:
    """The pointer in the field or its register; None if there is no such register."""
    word = inspection.number(field)
    generation = inspection.geometry.generation
    if source is ImmSrc.POINTER:
        return Start(field, word, None, generation)
    if word < REGISTERS:
        return Start(field, int(inspection.registers[word]), word, generation)
    inspection.report(
        Reason.IMMEDIATE,
        field,
        f"{word:#010x}",
        f"a register, 0 to {REGISTERS - 1}",
        near=partial(nearest.registers, field, word),
    )
    return None


def _check_alignment(inspection: Inspection, reason: Reason, start: Start, extent: Extent) -> None:
    alignment = extent.alignment
    if alignment is not None and start.address % alignment:
        unit = "an element" if alignment == extent.element_bytes else "a pair of elements"
        inspection.report(
            reason,
            start.field,
            start,
            f"a multiple of {alignment}, the size of {unit}",
            near=partial(near_start, inspection, start, extent),
        )


def _check_placement(
    inspection: Inspection,
    reason: Reason,
    start: Start,
    location: Location,
    extent: Extent,
    channels: int,
) -> None:
    """Check ``tpb_addr_active_channels``: start partition and byte in the partition."""
    near = partial(near_start, inspection, start, extent)
    if not start_fits(location.partition, channels):
        starts = [p for p in range(0, PARTITIONS, QUADRANT) if start_fits(p, channels)]
        rule = f"{channels} channels start at partition {' or '.join(map(str, starts))}"
        inspection.report(reason, start.field, start, rule, near=near)
    active = inspection.geometry.active(location.region)
    if location.offset >= active:
        rule = f"a byte of the partition below {active:#x}"
        inspection.report(reason, start.field, start, rule, near=near)


def _memories(inspection: Inspection) -> str:
    """The memories of the generation, as a rule names them."""
    return " or ".join(region.name for region in regions_of(inspection.geometry.generation))


def near_start(inspection: Inspection, start: Start, extent: Extent) -> Iterable[Suggestion]:
    """Start addresses near one that breaks a rule, the nearest first."""
    return nearest.addresses(
        start.field,
        start.address,
        unit=extent.alignment or 1,
        reach=(extent.low, extent.high),
        geometry=inspection.geometry,
        register=start.register,
    )


def _well_formed(
    inspection: Inspection, field: str, held: int, register: int | None, extent: Extent
) -> Iterable[Suggestion]:
    """Words near a malformed one; where the register's content is at fault, contents near it."""
    if register is None and held & REGISTER_WORD:
        return nearest.register_words(field, held)
    start = Start(field, held, register, inspection.geometry.generation)
    return near_start(inspection, start, extent)
