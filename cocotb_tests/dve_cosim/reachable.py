"""Which bins of the coverage can be hit at all, and why the others cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

from dve_golden.isa.enums import DTYPE_BYTES, FLOAT_DTYPES, Dtype, Opcode, Reason
from dve_golden.isa.generations import Generation

from dve_cosim.aliasing import Alias
from dve_cosim.coverage import Bin, memory_name
from dve_cosim.crossing import Crossing
from dve_cosim.operand_types import (
    ELEMENTWISE,
    FORWARD,
    REDUCTIONS,
    by_operand,
    opcodes_of,
    operands_of,
    type_tuples,
    types_by_size,
)
from dve_cosim.places import has_psum

_HEADER = {Reason.LENGTH, Reason.WAIT, Reason.UPDATE}
_WALK = {
    Reason.DTYPE, Reason.ALIGNMENT, Reason.REGION, Reason.PARTITION, Reason.COUNT_ZERO,
    Reason.ADDRESSING_MODE, Reason.WALK,
}  # fmt: skip
_PAIR = {Reason.COUNT_MISMATCH, Reason.SOURCE_PLACEMENT}
_LOAD = {Reason.COUNT_MISMATCH, Reason.RESERVED, Reason.IMMEDIATE}

BREAKABLE: dict[str, frozenset[Reason]] = {
    "unknown": frozenset({Reason.OPCODE}),
    **{
        opcode.name: frozenset(_HEADER | _WALK | _PAIR | {Reason.IMMEDIATE})
        for opcode in REDUCTIONS
    },
    **{
        opcode.name: frozenset(_HEADER | _WALK | _PAIR | {Reason.OPERATOR})
        for opcode in ELEMENTWISE
    },
    **{opcode.name: frozenset(_HEADER | _WALK | _LOAD) for opcode in FORWARD},
    Opcode.BATCH_NORM_PARAM_LOAD.name: frozenset(_HEADER | _WALK | _LOAD),
    Opcode.BATCH_NORM_PARAM_LOAD2.name: frozenset(_HEADER | _WALK | _LOAD),
    Opcode.LOAD_PARAMETER_RAM.name: frozenset(
        _HEADER | _WALK | {Reason.RESERVED, Reason.IMMEDIATE}
    ),
    Opcode.EVENT_SEMAPHORE.name: frozenset(_HEADER | {Reason.RESERVED}),
    Opcode.NOP.name: frozenset(_HEADER | {Reason.RESERVED}),
}
"""By opcode, the reasons for which its struct has a field; every other one is out of reach. In a
generation without the opcode there is one reason."""


UNREACHABLE: dict[str, Callable[[Crossing], object]] = {
    "both sources in PSUM: source placement": lambda c: c.psum.get("src0") and c.psum["src1"],
    "a result in PSUM whose elements have not 4 bytes: region": lambda c: (
        c.psum["dst"] and DTYPE_BYTES[c.types["dst"]] != 4
    ),
    "operands in two memories have no byte in common": lambda c: any(
        c.psum[name] != c.psum["dst"] and alias is not Alias.APART
        for name, alias in c.aliasing.items()
    ),
    "in place are only elements of one size": lambda c: any(
        alias is Alias.IN_PLACE and not c.same_size(name) for name, alias in c.aliasing.items()
    ),
    "sums are written when all has been read": lambda c: (
        c.sums and not {Alias.IN_PLACE, Alias.FEEDS}.isdisjoint(c.aliasing.values())
    ),
}
"""Why a combination is out of reach, and of which ones that is true."""


def crossings(generation: Generation) -> Iterator[Crossing]:
    """Every combination of opcode, types, memories and aliasing, in reach or not.

    Of the types of S3S3D3_TT there is one combination for each of their sizes.
    """
    for opcode in opcodes_of(generation):
        if opcode in (*REDUCTIONS, *FORWARD):
            choices = type_tuples(opcode)
        elif opcode in ELEMENTWISE:
            choices = tuple(equal[0] for equal in types_by_size(opcode).values())
        else:
            continue
        names = operands_of(opcode)
        for types, psum, aliasing in product(
            choices,
            product((False, True), repeat=len(names)),
            product(Alias, repeat=len(names) - 1),
        ):
            yield Crossing(
                opcode,
                by_operand(opcode, types),
                dict(zip(names, psum, strict=True)),
                dict(zip(names, aliasing, strict=False)),
            )


def why_unreachable(crossing: Crossing, generation: Generation) -> str:
    """The rule that keeps a combination out of reach; empty if it is within."""
    if not has_psum(generation) and any(crossing.psum.values()):
        return f"{generation.value} has no PSUM"
    return next((rule for rule, holds in UNREACHABLE.items() if holds(crossing)), "")


def unreachable_counts(generation: Generation) -> dict[str, int]:
    """How many combinations are out of reach, by the first rule that says so."""
    rules = (why_unreachable(crossing, generation) for crossing in crossings(generation))
    return dict(Counter(rule for rule in rules if rule))


@cache
def reachable_crossings(generation: Generation) -> tuple[Crossing, ...]:
    """Every combination that some instruction can be."""
    return tuple(
        crossing for crossing in crossings(generation) if not why_unreachable(crossing, generation)
    )


@cache
def reachable_bins(generation: Generation) -> frozenset[Bin]:
    """Every bin that some program can hit."""
    legal = Reason.NONE.name
    memories = [memory_name(psum) for psum in (False, True) if has_psum(generation) or not psum]
    loads = {
        Opcode.BATCH_NORM_PARAM_LOAD: FLOAT_DTYPES,
        Opcode.BATCH_NORM_PARAM_LOAD2: FLOAT_DTYPES,
        Opcode.LOAD_PARAMETER_RAM: {Dtype.FP32},
    }
    bins = {crossing.bin for crossing in reachable_crossings(generation)}
    bins |= {
        Bin(opcode.name, legal, dtype.name, memory)
        for opcode, dtypes in loads.items()
        for dtype in dtypes
        for memory in memories
    }
    bins |= {Bin(opcode.name, legal) for opcode in (Opcode.EVENT_SEMAPHORE, Opcode.NOP)}
    absent = {opcode.name for opcode in set(Opcode) - set(opcodes_of(generation))}
    bins |= {
        Bin(name, reason.name)
        for name, reasons in BREAKABLE.items()
        for reason in (reasons if name not in absent else (Reason.OPCODE,))
    }
    return frozenset(bins)
