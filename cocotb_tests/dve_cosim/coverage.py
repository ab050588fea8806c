"""What an instruction exercises, as names and as bins that can be counted."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import Fields, decode
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    Dtype,
    ImmSrc,
    Opcode,
    Reason,
    UpdateMode,
    WaitMode,
)
from dve_golden.memory.address import Geometry, Registers

from dve_cosim.aliasing import Alias, Footprint, alias_of
from dve_cosim.operand_types import ELEMENTWISE, Types
from dve_cosim.operands import REGISTER_WORD
from dve_cosim.places import place_of

SOURCES = ("src", "src0", "src1")
QUADRANT = 32
"""Partitions."""

_OPCODES = frozenset(map(int, Opcode))


class Bin(NamedTuple):
    """The cross of what is counted; ``-`` where an instruction has no such thing.

    Parameters
    ----------
    opcode : str
        Name of the opcode, or ``unknown``.
    reason : str
        Name of the reason; ``NONE`` if legal. The rest is ``-`` for an illegal record.
    types : str
        Types of the sources and, after an arrow, of the destination; of S3S3D3_TT the bits of their
        elements, because `crosses` count its types.
    memory : str
        Where they are, in the same form.
    aliasing : str
        What each source has to do with the destination; see `Alias`.
    """

    opcode: str
    reason: str
    types: str = "-"
    memory: str = "-"
    aliasing: str = "-"


def observe(record: bytes, registers: Registers, geometry: Geometry) -> tuple[Bin, tuple[str, ...]]:
    """The bin of a record, and names of all else that it exercises; none if it is illegal."""
    reason = validate(record, registers=registers, geometry=geometry).reason
    name = Opcode(record[0]).name if record[0] in _OPCODES else "unknown"
    if reason is not Reason.NONE:
        return Bin(name, reason.name), ()
    operands = _Operands(record, registers, geometry)
    return operands.bin(), tuple(operands.features())


def bin_of(record: bytes, registers: Registers, geometry: Geometry) -> Bin:
    """The bin that a record counts for."""
    return observe(record, registers, geometry)[0]


def features(record: bytes, registers: Registers, geometry: Geometry) -> tuple[str, ...]:
    """Names of what a record exercises; none if it is illegal."""
    return observe(record, registers, geometry)[1]


def arrow(values: dict[str, str]) -> str:
    """Values by operand as one text: those of the sources, and that of the destination."""
    sources = ",".join(value for name, value in values.items() if name != "dst")
    return f"{sources}->{values['dst']}" if "dst" in values else sources


def types_name(opcode: Opcode, types: Types) -> str:
    """How bins call the types of an instruction."""
    if opcode in ELEMENTWISE:
        return arrow({name: f"{8 * DTYPE_BYTES[dtype]}" for name, dtype in types.items()})
    return arrow({name: dtype.name for name, dtype in types.items()})


def memory_name(psum: bool) -> str:
    """How bins and features call a memory."""
    return "PSUM" if psum else "SBUF"


def _shape(walk: Footprint, geometry: Geometry) -> Iterator[str]:
    yield f"in {memory_name(walk.start.psum)}"
    yield f"in quadrant {walk.start.partition // QUADRANT}"
    pairs = list(zip(walk.steps, walk.counts, strict=True))
    moving = [step for step, count in pairs if count > 1]
    if any(step < 0 for step in moving):
        yield "with a negative step"
    if any(step == 0 for step in moving):
        yield "with a step of zero"
    if any(abs(step) >= 0x4000 for step, count in pairs if count == 1):
        yield "with an extreme step of one element"
    if prod(walk.counts) == 1:
        yield "of one element"
    if max(walk.counts) == 0xFFFF:
        yield "with a count of 65535"
    touched = walk.touched()
    if touched.min() == 0:
        yield "from the first byte"
    if touched.max() == (geometry.psum_active if walk.start.psum else geometry.sbuf_active) - 1:
        yield "to the last byte"


_SELECTORS = {"imm0": ("imm0_imm1_src.lo", "imm0_src"), "imm1": ("imm0_imm1_src.hi", "imm1_src")}


def _immediates(fields: Fields, registers: Registers, geometry: Geometry) -> Iterator[str]:
    dtypes = [name for name in ("immediate_dtype", "immediate_out_dtype.lo") if name in fields]
    dtype = Dtype(_number(fields, dtypes[0])) if dtypes else Dtype.FP32
    for name, selectors in _SELECTORS.items():
        selector = next((selector for selector in selectors if selector in fields), None)
        if name not in fields or (name == "imm1" and not dtypes):  # the N of PARAM_LOAD
            continue
        word = _number(fields, name)
        if selector is not None:
            source = ImmSrc(_number(fields, selector))
            yield f"selector {source.name}"
            if source is ImmSrc.REGISTER:
                yield "pointer in a register"
                word = int(registers[word])
        yield f"immediate {dtype.name}"
        yield f"immediate in {memory_name(place_of(word, geometry.generation).psum)}"


class _Operands:
    """A legal record and its access patterns."""

    def __init__(self, record: bytes, registers: Registers, geometry: Geometry) -> None:
        self._opcode, self._fields = decode(record)
        self._modes = WaitMode(record[4]), UpdateMode(record[6])
        self._registers, self._geometry = registers, geometry
        self._dtypes: Types = {}
        self._walks: dict[str, Footprint] = {}
        for name in (*SOURCES, "dst"):
            if self._address_field(name) in self._fields:
                self._add(name)
        self._aliasing = dict(self._classes())

    def bin(self) -> Bin:
        """What it counts for."""
        if not self._walks:
            return Bin(self._opcode.name, Reason.NONE.name)
        return Bin(
            self._opcode.name,
            Reason.NONE.name,
            types_name(self._opcode, self._dtypes),
            arrow({name: memory_name(walk.start.psum) for name, walk in self._walks.items()}),
            ",".join(self._aliasing.values()) or "-",
        )

    def features(self) -> Iterator[str]:
        """Names of what it exercises."""
        yield self._opcode.name
        wait, update = self._modes
        yield f"wait {wait.name}"
        yield f"update {update.name}"
        if "num_active_channels" in self._fields:  # 0x66 has no channels
            yield f"channels {_number(self._fields, 'num_active_channels')}"
        for name, walk in self._walks.items():
            role = "destination" if name == "dst" else "source"
            yield f"{role} {self._dtypes[name].name}"
            yield from (f"{role} {what}" for what in _shape(walk, self._geometry))
            if _number(self._fields, self._address_field(name)) & REGISTER_WORD:
                yield f"{role} address in a register"
        yield from _immediates(self._fields, self._registers, self._geometry)
        yield from (f"{name} {alias}" for name, alias in self._aliasing.items())
        if "src1" in self._walks:
            places = {name: walk.start.partition for name, walk in self._walks.items()}
            if places["src0"] != places["src1"]:
                yield "sources in two quadrants"
            if places["src0"] != places["dst"]:
                yield "result in another quadrant"

    def _add(self, name: str) -> None:
        word = _number(self._fields, self._address_field(name))
        if word & REGISTER_WORD:
            word = int(self._registers[word & 0xFF])
        dtype = self._dtypes[name] = self._dtype(name)
        place = place_of(word, self._geometry.generation)
        self._walks[name] = Footprint(place, DTYPE_BYTES[dtype], *self._pattern(name))

    def _address_field(self, name: str) -> str:
        if name == "src" and self._opcode is Opcode.LOAD_PARAMETER_RAM:
            return "addr"
        return f"{name}.start_addr"

    def _pattern(self, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        if self._opcode is Opcode.LOAD_PARAMETER_RAM:
            return (1,), (_number(self._fields, "entry_count"),)
        steps, counts = self._fields[f"{name}.step_elem"], self._fields[f"{name}.num_elem"]
        assert isinstance(steps, tuple)
        assert isinstance(counts, tuple)
        return steps, counts

    def _dtype(self, name: str) -> Dtype:
        sides = {"src0": "in0_in1_dtype.lo", "src1": "in0_in1_dtype.hi"}
        of_source = (sides.get(name), "dtype", "src_dtype", "in_dtype")
        of_result = ("immediate_out_dtype.hi", "out_dtype")
        for field in of_result if name == "dst" else of_source:
            if field in self._fields:
                return Dtype(_number(self._fields, field))
        raise KeyError(f"{self._opcode.name} has no type of {name}")

    def _classes(self) -> Iterator[tuple[str, Alias]]:
        """The class of each source, if there is a destination."""
        if "dst" in self._walks:
            elementwise = self._opcode in ELEMENTWISE
            result = self._walks["dst"]
            for name, source in self._walks.items():
                if name == "dst":
                    continue
                yield name, alias_of(source, result, elementwise=elementwise)


def _number(fields: Fields, name: str) -> int:
    value = fields[name]
    assert isinstance(value, int)
    return value
