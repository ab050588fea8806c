"""Values near an illegal one, the nearest first: candidates for `dve_golden.frontend.suggest`.

What is near depends on the kind of value. A number or a code: its distance. An element type: that
of its size, then that of its code. An operator: its namesake on floats, then that of its code. An
address: the same memory if possible, then the nearest
partition, then the nearest byte. Counts: as few of them changed as possible, by as little.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product
from math import gcd, prod

from dve_golden.frontend.verdict import Suggestion
from dve_golden.isa.enums import DTYPE_BYTES, REGISTERS, Dtype
from dve_golden.isa.notation import format_code, format_counts, format_dtype, format_location
from dve_golden.isa.operators import AluOp
from dve_golden.memory.address import (
    ADDRESS_BITS,
    PARTITIONS,
    QUADRANT,
    REGISTER_WORD,
    Geometry,
    Location,
    address_of,
    locate,
    regions_of,
)
from dve_golden.memory.maps import MEMORY_MAPS

MAX_COUNT = (1 << 16) - 1
"""Largest count of one dimension (isa_common.md 4.2)."""


def codes(
    field: str, value: int, legal: Collection[int], show: Callable[[int], str] = str
) -> Iterator[Suggestion]:
    """Numbers or codes by distance; of two at the same distance the lower first."""
    for code in sorted(legal, key=lambda code: (abs(code - value), code)):
        yield Suggestion(field, int(code), show(code))


_SIZE_OF_CODE = {int(dtype): size for dtype, size in DTYPE_BYTES.items()}


def dtypes(field: str, value: int, legal: Collection[int]) -> Iterator[Suggestion]:
    """Element types, those of the same size first; codes without a size count as fp32."""
    usual = DTYPE_BYTES[Dtype.FP32]
    size = _SIZE_OF_CODE.get(value, usual)

    def distance(code: int) -> tuple[int, int, int]:
        return abs(_SIZE_OF_CODE.get(code, usual) - size), abs(code - value), code

    for code in sorted(legal, key=distance):
        yield Suggestion(field, int(code), format_dtype(code))


def operators(field: str, value: int, legal: Collection[AluOp]) -> Iterator[Suggestion]:
    """Operators by distance, but first what an operator on integers does, done on floats."""
    name = format_code(value, AluOp).removesuffix("_int").removesuffix("_uint")

    def distance(op: AluOp) -> tuple[bool, int, int]:
        return format_code(op, AluOp) != name, abs(op - value), op

    for op in sorted(legal, key=distance):
        yield Suggestion(field, int(op), format_code(op, AluOp))


def zeros(field: str, length: int) -> Iterator[Suggestion]:
    """Zero bytes."""
    yield Suggestion(field, bytes(length), "0")


def finite(field: str, bits: int) -> Iterator[Suggestion]:
    """The largest finite number of the sign of an infinity; there is nothing near a NaN."""
    if bits & 0x7F_FFFF == 0:
        bits -= 1
        yield Suggestion(field, bits, f"{bits:#010x}")


def addresses(
    field: str,
    address: int,
    *,
    unit: int,
    reach: tuple[int, int],
    geometry: Geometry,
    register: int | None = None,
) -> Iterator[Suggestion]:
    """Start addresses by memory, partition and byte.

    Parameters
    ----------
    field
        Where the address, or the number of the register that holds it, stands.
    address
        The illegal one; bits above the 29 of an address are dropped.
    unit
        What an address is a multiple of, in bytes.
    reach
        First and last byte of the operand, relative to its start.
    geometry
        Generation and configured memory sizes.
    register
        The register that holds the address, if one does.
    """
    generation = geometry.generation
    start = _locate_beyond(address & (1 << ADDRESS_BITS) - 1, geometry)
    places = []
    for region in regions_of(generation):
        partitions = {start.partition, *range(0, PARTITIONS, QUADRANT)} & set(range(PARTITIONS))
        offsets = _offsets(start.offset, unit, reach, geometry.active(region))
        places += [Location(region, *place) for place in product(partitions, offsets)]

    def distance(place: Location) -> tuple[bool, int, int, int, int]:
        partitions, bytes_ = place.partition - start.partition, place.offset - start.offset
        other = place.region is not start.region
        return other, abs(partitions), partitions, abs(bytes_), bytes_

    for place in sorted(places, key=distance):
        text = format_location(place)
        if register is not None:
            text = f"r{register} = {text}"
        yield Suggestion(field, address_of(place, generation), text, register)


def register_words(field: str, word: int) -> Iterator[Suggestion]:
    """ADDR4 words that name a register, by its distance from the number in byte 0."""
    number = word & 0xFF
    for register in sorted(range(REGISTERS), key=lambda register: abs(register - number)):
        yield Suggestion(field, REGISTER_WORD | register, f"r{register}")


def registers(field: str, number: int) -> Iterator[Suggestion]:
    """Numbers of registers, by distance."""
    for register in sorted(range(REGISTERS), key=lambda register: abs(register - number)):
        yield Suggestion(field, register, f"r{register}")


def shapes(field: str, counts: tuple[int, ...], like: tuple[int, ...]) -> Iterator[Suggestion]:
    """Counts with as many elements as ``like``: those that change one of them, then ``like``."""
    elements = prod(like)
    found = []
    for index in range(len(counts)):
        rest = prod(counts[:index] + counts[index + 1 :])
        if rest and elements % rest == 0 and 1 <= elements // rest <= MAX_COUNT:
            found.append((index, elements // rest))
    for index, count in sorted(found, key=lambda change: abs(change[1] - counts[change[0]])):
        yield _shape(field, (*counts[:index], count, *counts[index + 1 :]))
    if elements:
        yield _shape(field, like)


def limited_shapes(
    field: str, counts: tuple[int, ...], most: int, unit: int
) -> Iterator[Suggestion]:
    """Counts with at most ``most`` elements, a multiple of ``unit``: one of them changed, or a row.

    No count is zero.
    """
    found = []
    for index, count in enumerate(counts):
        rest = prod(counts[:index] + counts[index + 1 :])
        factor = unit // gcd(unit, rest)  # what the changed count is a multiple of
        last = min(most // rest, MAX_COUNT) // factor * factor
        below = min(count // factor * factor, last)
        for changed in {below, min(below + factor, last)}:
            if changed:
                found.append((abs(count - changed), index, changed))
    for _, index, count in sorted(found):
        yield _shape(field, (*counts[:index], count, *counts[index + 1 :]))
    row = max(min(counts[0], most) // unit * unit, unit)
    yield _shape(field, (row, *(1,) * (len(counts) - 1)))


def nonzero_counts(field: str, counts: tuple[int, ...], index: int) -> Iterator[Suggestion]:
    """Counts in which the zero at ``index`` is 1."""
    yield Suggestion(field, (*counts[:index], 1, *counts[index + 1 :]), "1")


def even_counts(field: str, counts: tuple[int, ...]) -> Iterator[Suggestion]:
    """Counts of which the innermost, odd so far, is even."""
    for count in (counts[0] - 1, counts[0] + 1):
        if 1 <= count <= MAX_COUNT:
            yield _shape(field, (count, *counts[1:]))


def steps(
    field: str, values: tuple[int, ...], index: int, legal: Iterable[int]
) -> Iterator[Suggestion]:
    """Steps in which the one at ``index`` is one of the legal ones, in their order."""
    for step in legal:
        yield Suggestion(field, (*values[:index], step, *values[index + 1 :]), str(step))


def _shape(field: str, counts: tuple[int, ...]) -> Suggestion:
    return Suggestion(field, counts, format_counts(counts))


def _locate_beyond(address: int, geometry: Geometry) -> Location:
    """Where an address lies, or would if the last memory went on beyond its last partition."""
    location = locate(address, geometry.generation)
    if location is not None:
        return location
    region = regions_of(geometry.generation)[-1]
    span = MEMORY_MAPS[geometry.generation][region]
    return Location(region, *divmod(address - span.base, span.stride))


def _offsets(offset: int, unit: int, reach: tuple[int, int], active: int) -> set[int]:
    """The byte itself, the aligned ones nearest to it, and of these the nearest that fit."""
    down = offset - offset % unit
    last = (active - 1) // unit * unit
    found = {offset, *(min(byte, last) for byte in (down, down + unit))}
    low, high = -(reach[0] // unit) * unit, (active - 1 - reach[1]) // unit * unit
    if low <= high:
        found |= {min(max(byte, low), high) for byte in (down, down + unit)}
    return {byte for byte in found if 0 <= byte < active}
