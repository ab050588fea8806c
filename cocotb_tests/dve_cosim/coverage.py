"""What an instruction exercises, as names that can be counted."""

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import NamedTuple

from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import Fields, decode
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    FLOAT_DTYPES,
    RESULT_DTYPES,
    SOURCE_DTYPES,
    Dtype,
    ImmSrc,
    Opcode,
    Reason,
)
from dve_golden.memory.address import (
    QUADRANT,
    Geometry,
    Region,
    Registers,
    is_register_form,
    locate,
    resolve,
)
from dve_golden.memory.walk import Walk

SOURCES = ("src", "src0", "src1")


def features(record: bytes, registers: Registers, geometry: Geometry) -> Iterator[str]:
    """Names of what a record exercises; each once, none if it is illegal."""
    if validate(record, registers=registers, geometry=geometry).reason is not Reason.NONE:
        return
    opcode, fields = decode(record)
    yield opcode.name
    if "num_active_channels" in fields:  # 0x66 has no channels
        yield f"channels {_number(fields, 'num_active_channels')}"
    walks = {}
    for name in (*SOURCES, "dst"):
        if f"{name}.start_addr" in fields:
            walk = walks[name] = _walk(name, opcode, fields, registers)
            yield from _operand(name, opcode, fields, walk)
    if any(_number(fields, name) == ImmSrc.REGISTER for name in _SELECTORS if name in fields):
        yield "pointer in a register"
    if opcode is Opcode.BATCH_NORM_BACK_PROP:
        yield from _aliasing(walks)


_SELECTORS = ("imm0_imm1_src.lo", "imm0_imm1_src.hi", "imm0_src", "imm1_src")


def _number(fields: Fields, name: str) -> int:
    value = fields[name]
    assert isinstance(value, int)
    return value


def _dtype(name: str, opcode: Opcode, fields: Fields) -> Dtype:
    sides = {"src0": "in0_in1_dtype.lo", "src1": "in0_in1_dtype.hi"}
    candidates = (sides.get(name), "dtype", "src_dtype") if name != "dst" else ()
    results = ("immediate_out_dtype.hi", "out_dtype") if name == "dst" else ()
    for field in (*candidates, *results):
        if field in fields:
            return Dtype(_number(fields, field))
    raise KeyError(f"{opcode.name} has no type of {name}")


def _walk(name: str, opcode: Opcode, fields: Fields, registers: Registers) -> Walk:
    address = resolve(_number(fields, f"{name}.start_addr"), registers)
    assert address is not None
    start = locate(address)
    steps, counts = fields[f"{name}.step_elem"], fields[f"{name}.num_elem"]
    assert start is not None
    assert isinstance(steps, tuple)
    assert isinstance(counts, tuple)
    return Walk(start, DTYPE_BYTES[_dtype(name, opcode, fields)], steps, counts)


def _operand(name: str, opcode: Opcode, fields: Fields, walk: Walk) -> Iterator[str]:
    role = "destination" if name == "dst" else "source"
    yield f"{role} {_dtype(name, opcode, fields).name}"
    yield f"{role} in {walk.start.region.name}"
    yield f"{role} in quadrant {walk.start.partition // QUADRANT}"
    moving = [step for step, count in zip(walk.steps, walk.counts, strict=True) if count > 1]
    if any(step < 0 for step in moving):
        yield f"{role} with a negative step"
    if any(step == 0 for step in moving):
        yield f"{role} with a step of zero"
    if prod(walk.counts) == 1:
        yield f"{role} of one element"
    if is_register_form(_number(fields, f"{name}.start_addr")):
        yield f"{role} address in a register"


def _aliasing(walks: dict[str, Walk]) -> Iterator[str]:
    result = walks["dst"]
    for name in ("src0", "src1"):
        source = walks[name]
        if (source.start.region, source.start.partition) != _place(result):
            continue
        if (source.start, source.size, source.steps, source.counts) == (
            result.start,
            result.size,
            result.steps,
            result.counts,
        ):
            yield "in place"
        elif _bytes(source) & _bytes(result):
            yield "destination overlaps a source"


def _place(walk: Walk) -> tuple[Region, int]:
    return walk.start.region, walk.start.partition


def _bytes(walk: Walk) -> set[int]:
    return {int(first) + byte for first in walk.offsets(0, walk.count) for byte in range(walk.size)}


class Bin(NamedTuple):
    """The cross of what `features` names one by one; ``-`` where an instruction has no such thing.

    Parameters
    ----------
    opcode : str
        Name of the opcode, or ``unknown``.
    reason : str
        Name of the reason; ``NONE`` if legal. The rest is ``-`` for an illegal record.
    types : str
        Types of the sources and, after an arrow, of the destination.
    memory : str
        Where they are, in the same form.
    aliasing : str
        ``in place``, ``overlaps src0``, ``overlaps src1``, ``overlaps both`` or ``disjoint``.
    """

    opcode: str
    reason: str
    types: str = "-"
    memory: str = "-"
    aliasing: str = "-"


_TENSOR_TYPES = {
    Opcode.BATCH_NORM_GRAD_ACCUMULATE: FLOAT_DTYPES,
    Opcode.BATCH_NORM_GRAD_ACCUMULATE2: FLOAT_DTYPES,
    Opcode.BATCH_NORM_BACK_PROP: RESULT_DTYPES,
}

ALL_TYPES: dict[str, frozenset[str]] = {
    opcode.name: frozenset(
        f"{one.name},{other.name}->{result.name}"
        for one, other, result in product(SOURCE_DTYPES, SOURCE_DTYPES, results)
    )
    for opcode, results in _TENSOR_TYPES.items()
} | {
    opcode.name: frozenset(dtype.name for dtype in FLOAT_DTYPES)
    for opcode in (Opcode.BATCH_NORM_PARAM_LOAD, Opcode.BATCH_NORM_PARAM_LOAD2)
}
"""Every value of `Bin.types` that is legal, by name of the opcode."""


def bin_of(record: bytes, registers: Registers, geometry: Geometry) -> Bin:
    """The bin that a record counts for."""
    reason = validate(record, registers=registers, geometry=geometry).reason
    known = record[0] in list(Opcode)
    name = Opcode(record[0]).name if known else "unknown"
    if reason is not Reason.NONE:
        return Bin(name, reason.name)
    opcode, fields = decode(record)
    names = [name for name in (*SOURCES, "dst") if f"{name}.start_addr" in fields]
    if not names:
        return Bin(name, reason.name)
    walks = {name: _walk(name, opcode, fields, registers) for name in names}
    return Bin(
        opcode.name,
        reason.name,
        _arrow({name: _dtype(name, opcode, fields).name for name in names}),
        _arrow({name: walk.start.region.name for name, walk in walks.items()}),
        _alias_class(walks) if "dst" in walks else "-",
    )


def _arrow(values: dict[str, str]) -> str:
    sources = ",".join(value for name, value in values.items() if name != "dst")
    return f"{sources}->{values['dst']}" if "dst" in values else sources


def _alias_class(walks: dict[str, Walk]) -> str:
    if "in place" in _aliasing(walks):
        return "in place"
    result = walks["dst"]
    met = [
        name
        for name in ("src0", "src1")
        if _place(walks[name]) == _place(result) and _bytes(walks[name]) & _bytes(result)
    ]
    return {0: "disjoint", 1: f"overlaps {''.join(met)}", 2: "overlaps both"}[len(met)]
