"""The kinds of ``key=value`` words in the text form (grammar in docs/assembly.md).

A key owns some fields of a struct: it writes them down and reads them back without loss.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import inf, isinf
from typing import Any, Protocol

from dve_golden.isa.codec import Fields, Value
from dve_golden.isa.enums import (
    REGISTERS,
    Dtype,
    ImmSrc,
)
from dve_golden.isa.generations import Generation
from dve_golden.isa.notation import (
    format_addr4,
    format_address,
    format_code,
    format_counts,
    format_dtype,
)
from dve_golden.isa.operators import AluOp
from dve_golden.isa.scanner import Scanner
from dve_golden.memory.address import (
    PARTITIONS,
    REGISTER_WORD,
    Location,
    Region,
    address_of,
    regions_of,
)
from dve_golden.memory.maps import MEMORY_MAPS

Widths = Mapping[str, int]

_U32 = (1 << 32) - 1
_MAX_STEP = (1 << 15) - 1
_COUNT_BITS = 16
_MAX_COUNT = (1 << _COUNT_BITS) - 1


class Key(Protocol):
    """One kind of ``key=value`` word."""

    @property
    def name(self) -> str: ...

    @property
    def optional(self) -> bool:
        """Whether the word is left out where its fields have their usual value."""
        ...

    def owned(self) -> tuple[str, ...]:
        """Names of the fields that the word stands for."""
        ...

    def format(self, fields: Fields, generation: Generation) -> str | None:
        """The value as text; None if the word is to be left out."""
        ...

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        """Read a value; ``bits`` holds the width of every field of the struct.

        Where an address lies depends on the generation, here and in `format`.

        Raises
        ------
        AssemblyError
            If something else stands there.
        """
        ...


@dataclass(frozen=True)
class Number:
    """An unsigned integer; left out at its default if it has one."""

    name: str
    field: str
    default: int | None = None

    @property
    def optional(self) -> bool:
        return self.default is not None

    def owned(self) -> tuple[str, ...]:
        return (self.field,)

    def format(self, fields: Fields, generation: Generation) -> str | None:
        value = fields[self.field]
        return None if value == self.default else str(value)

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        return {self.field: scanner.number(0, (1 << bits[self.field]) - 1, self.name)}


@dataclass(frozen=True)
class Binary32:
    """An fp32 number in decimal, or its bit pattern in hexadecimal; may be left out if +0."""

    name: str
    field: str
    optional: bool = False

    def owned(self) -> tuple[str, ...]:
        return (self.field,)

    def format(self, fields: Fields, generation: Generation) -> str | None:
        bits = _integer(fields[self.field])
        if self.optional and bits == 0:
            return None
        if bits & 0x7F80_0000 == 0x7F80_0000:  # infinities and NaNs, whose payload must survive
            return f"{bits:#010x}"
        return repr(struct.unpack("<f", struct.pack("<I", bits))[0])

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        if scanner.accept(r"(?=0x)") is not None:
            return {self.field: scanner.number(0, _U32, "a binary32 pattern")}
        start = scanner.position
        number = r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
        text = scanner.expect(number, "a number such as 2048.0 or a pattern such as 0x45000000")
        try:
            value = float(text)
            packed = struct.pack("<f", value)
        except OverflowError:
            value = inf
        if isinf(value):
            raise scanner.error("the number is beyond the range of fp32", start)
        return {self.field: int.from_bytes(packed, "little")}


@dataclass(frozen=True)
class ElementType:
    """An element type by name, or a code without a name in hexadecimal."""

    name: str
    field: str
    optional = False

    def owned(self) -> tuple[str, ...]:
        return (self.field,)

    def format(self, fields: Fields, generation: Generation) -> str:
        return format_dtype(_integer(fields[self.field]))

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        return {self.field: _parse_code(scanner, Dtype, bits[self.field], "an element type")}


@dataclass(frozen=True)
class Operator:
    """An ALU operator by name, or a code without a name in hexadecimal; left out at its default."""

    name: str
    field: str
    default: int | None = None

    @property
    def optional(self) -> bool:
        return self.default is not None

    def owned(self) -> tuple[str, ...]:
        return (self.field,)

    def format(self, fields: Fields, generation: Generation) -> str | None:
        code = _integer(fields[self.field])
        return None if code == self.default else format_code(code, AluOp)

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        return {self.field: _parse_code(scanner, AluOp, bits[self.field], "an operator")}


@dataclass(frozen=True)
class Hexadecimal:
    """A run of bytes; left out if all are zero."""

    name: str
    field: str
    optional = True

    def owned(self) -> tuple[str, ...]:
        return (self.field,)

    def format(self, fields: Fields, generation: Generation) -> str | None:
        value = fields[self.field]
        assert isinstance(value, bytes)
        return value.hex() if any(value) else None

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        digits = bits[self.field] // 4
        pattern = rf"[0-9a-fA-F]{{{digits}}}(?![0-9a-fA-F])"
        return {self.field: bytes.fromhex(scanner.expect(pattern, f"{digits} hexadecimal digits"))}


@dataclass(frozen=True)
class Event:
    """Mode and index of a wait or an update, ``MODE:INDEX``; left out if both are zero."""

    name: str
    codes: type[IntEnum]
    optional = True

    def owned(self) -> tuple[str, ...]:
        return (f"events.{self.name}_mode", f"events.{self.name}_idx")

    def format(self, fields: Fields, generation: Generation) -> str | None:
        mode, index = (_integer(fields[field]) for field in self.owned())
        return f"{format_code(mode, self.codes)}:{index}" if mode or index else None

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        mode_field, index_field = self.owned()
        mode = _parse_code(scanner, self.codes, bits[mode_field], f"a mode of {self.name}")
        scanner.expect(":", "':' and a semaphore or event number")
        return {mode_field: mode, index_field: scanner.number(0, 255, "a semaphore or event")}


@dataclass(frozen=True)
class Place:
    """An address and an element type, ``ADDRESS:DTYPE``."""

    name: str
    address_field: str
    dtype_field: str
    optional = False

    def owned(self) -> tuple[str, ...]:
        return (self.address_field, self.dtype_field)

    def format(self, fields: Fields, generation: Generation) -> str:
        address = format_addr4(_integer(fields[self.address_field]), generation)
        return f"{address}:{format_dtype(_integer(fields[self.dtype_field]))}"

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        register = _parse_register(scanner)
        word = _parse_address(scanner, generation) if register is None else REGISTER_WORD | register
        scanner.expect(":", "':' and an element type")
        dtype = _parse_code(scanner, Dtype, bits[self.dtype_field], "an element type")
        return {self.address_field: word, self.dtype_field: dtype}


@dataclass(frozen=True)
class Pattern:
    """An access pattern, ``ADDRESS:DTYPE:COUNTS@STEPS``.

    Dimensions at the end with count 1 and step 1 are left out, and so are the steps if the
    elements follow each other in memory.
    """

    name: str
    dtype_field: str
    optional = False

    def owned(self) -> tuple[str, ...]:
        return (*self._place().owned(), f"{self.name}.step_elem", f"{self.name}.num_elem")

    def format(self, fields: Fields, generation: Generation) -> str:
        steps, counts = (_integers(fields[field]) for field in self.owned()[2:])
        used = len(counts)
        while used > 1 and (counts[used - 1], steps[used - 1]) == (1, 1):
            used -= 1
        text = f"{self._place().format(fields, generation)}:{format_counts(counts[:used])}"
        if steps[:used] != _contiguous(counts[:used]):
            text += f"@{','.join(map(str, steps[:used]))}"
        return text

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        fields = self._place().parse(scanner, bits, generation)
        _, _, step_field, count_field = self.owned()
        rank = bits[count_field] // _COUNT_BITS
        scanner.expect(":", "':' and the counts")
        start = scanner.position
        counts = [scanner.number(0, _MAX_COUNT, "a count", decimal=True)]
        while scanner.accept("x"):
            counts.append(scanner.number(0, _MAX_COUNT, "a count", decimal=True))
        if len(counts) > rank:
            raise scanner.error(f"expected at most {rank} counts in {self.name}", start)
        steps = list(_contiguous(tuple(counts)))
        if scanner.accept("@"):
            for index in range(len(counts)):
                if index:
                    scanner.expect(",", f"',' and one step for each of {len(counts)} counts")
                steps[index] = scanner.number(-_MAX_STEP - 1, _MAX_STEP, "a step", decimal=True)
        elif max(steps) > _MAX_STEP:
            raise scanner.error(
                f"expected '@' and the steps: contiguous ones would exceed {_MAX_STEP}"
            )
        padding = (1,) * (rank - len(counts))
        fields[step_field] = (*steps, *padding)
        fields[count_field] = (*counts, *padding)
        return fields

    def _place(self) -> Place:
        return Place(self.name, f"{self.name}.start_addr", self.dtype_field)


@dataclass(frozen=True)
class Pointer:
    """A pointer immediate: ``ADDRESS``, a register that holds one, ``@SELECTOR`` if unusual.

    An address implies selector 1 and a register selector 2. Without a selector field only
    addresses can be written.
    """

    name: str
    selector: str | None = None
    optional = False

    def owned(self) -> tuple[str, ...]:
        return (self.name,) if self.selector is None else (self.name, self.selector)

    def format(self, fields: Fields, generation: Generation) -> str:
        word = _integer(fields[self.name])
        if self.selector is None:
            return format_address(word, generation)
        selector = _integer(fields[self.selector])
        if selector == ImmSrc.REGISTER:
            return f"r{word}" if word < REGISTERS else f"{word:#010x}@{selector}"
        text = format_address(word, generation)
        return text if selector == ImmSrc.POINTER else f"{text}@{selector}"

    def parse(self, scanner: Scanner, bits: Widths, generation: Generation) -> Fields:
        if self.selector is None:
            return {self.name: _parse_address(scanner, generation)}
        register = _parse_register(scanner)
        selector = int(ImmSrc.POINTER if register is None else ImmSrc.REGISTER)
        word = _parse_address(scanner, generation) if register is None else register
        if scanner.accept("@"):
            selector = scanner.number(0, (1 << bits[self.selector]) - 1, "a selector")
        return {self.name: word, self.selector: selector}


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _integers(value: Value) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return value


def _contiguous(counts: tuple[int, ...]) -> tuple[int, ...]:
    """Steps of a walk whose elements follow each other: 1, n0, n0*n1."""
    steps, step = [], 1
    for count in counts:
        steps.append(step)
        step *= count
    return tuple(steps)


def _parse_code(scanner: Scanner, codes: type[IntEnum], bits: int, expected: str) -> int:
    if scanner.accept(r"(?=[0-9])") is not None:
        return scanner.number(0, (1 << bits) - 1, f"{expected} by code")
    names: dict[str, Any] = {code.name.lower(): code for code in codes}
    return int(names[scanner.choice(names, expected)])


def _parse_register(scanner: Scanner) -> int | None:
    if scanner.accept("r(?=[0-9])") is None:
        return None
    return scanner.number(0, REGISTERS - 1, "a register number", decimal=True)


def _parse_address(scanner: Scanner, generation: Generation) -> int:
    if scanner.accept(r"(?=0x)") is not None:
        return scanner.number(0, _U32, "an address word")
    start = scanner.position
    expected = "an address such as sbuf[0:0x40] or 0x00000040"
    region = Region(scanner.expect(r"(sbuf|psum)\b", expected))
    if region not in regions_of(generation):
        raise scanner.error(f"{generation.value} has no {region.name}", start)
    scanner.expect(r"\[", "'[' and a partition")
    partition = scanner.number(0, PARTITIONS - 1, "a partition")
    scanner.expect(":", "':' and a byte of the partition")
    stride = MEMORY_MAPS[generation][region].stride
    offset = scanner.number(0, stride - 1, "a byte of the partition")
    scanner.expect(r"\]", "']'")
    return address_of(Location(region, partition, offset), generation)
