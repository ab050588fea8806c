"""What S3S3D3_TT and S4D2_BN are counted by besides their bins: types, operators, control values.

All of these with all the rest of a bin would be more combinations than a campaign has instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from dve_golden.isa.codec import decode
from dve_golden.isa.control import CONTROL_WORDS, IEEE_EMAX_E4M3, OCP_EMAX_E4M3
from dve_golden.isa.enums import Dtype, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import GENERAL_ARITHMETIC, GENERAL_BITVECTOR, AluOp
from numpy.typing import NDArray

from dve_cosim.coverage import arrow
from dve_cosim.operand_types import (
    ELEMENTWISE,
    FORWARD,
    Types,
    by_operand,
    opcodes_of,
    type_tuples,
)

KINDS = TYPES, OPERATOR, CONTROL = "types", "operators", "control values"


class Cross(NamedTuple):
    """A combination that a legal instruction can be.

    Parameters
    ----------
    opcode : str
        Name of the opcode.
    kind : str
        ``types``: those of sources and destination. ``operators``: an operator and the
        type of one operand. ``control values``: one of them, and the type of an operand that is
        converted.
    value : str
        Which of that kind.
    """

    opcode: str
    kind: str
    value: str


def crosses(record: bytes, control: NDArray) -> Iterator[Cross]:
    """What a legal record counts for, under these control values; nothing if of another struct."""
    opcode, fields = decode(record)
    if opcode not in (*ELEMENTWISE, *FORWARD):
        return
    names = ("in_dtype", "in0_in1_dtype.lo", "in0_in1_dtype.hi", "out_dtype")
    types = tuple(Dtype(_number(fields[name])) for name in names if name in fields)
    values = dict(zip(CONTROL_WORDS, control, strict=True))
    operator = _number(fields.get("op", int(AluOp.BYPASS)))
    yield from _of(opcode, by_operand(opcode, types), operator, values)


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _of(opcode: Opcode, types: Types, operator: int, control: dict[str, int]) -> Iterator[Cross]:
    yield Cross(opcode.name, TYPES, arrow({name: dtype.name for name, dtype in types.items()}))
    if operators(opcode, Generation.MAVERICK):
        yield from _operations(opcode, types, operator)
    for name in _converted(opcode, types):
        for word, value in control.items():
            yield Cross(opcode.name, CONTROL, f"{word}={value}, {name} {types[name].name}")


def _operations(opcode: Opcode, types: Types, operator: int) -> Iterator[Cross]:
    for name, dtype in types.items():
        yield Cross(opcode.name, OPERATOR, f"{AluOp(operator).name}, {name} {dtype.name}")


def operators(opcode: Opcode, generation: Generation) -> frozenset[AluOp]:
    """What an opcode chooses its operator from; none if it has no choice."""
    if opcode is Opcode.TENSOR_TENSOR_ARITH_OP:
        return GENERAL_ARITHMETIC[generation]
    if opcode is Opcode.TENSOR_TENSOR_BITVEC_OP:
        return GENERAL_BITVECTOR
    return frozenset()


def _converted(opcode: Opcode, types: Types) -> tuple[str, ...]:
    """The operands that pass a converter."""
    if opcode in (Opcode.TENSOR_TENSOR_BITVEC_OP, Opcode.COPY_PREDICATED):
        return ()
    if opcode is Opcode.CAST_PREDICATED:  # equal types are moved bit for bit
        return () if types["src1"] is types["dst"] else ("src1", "dst")
    return tuple(types)


@cache
def reachable_crosses(generation: Generation) -> frozenset[Cross]:
    """Every combination that some program can hit."""
    found: set[Cross] = set()
    for opcode in opcodes_of(generation):
        if opcode not in (*ELEMENTWISE, *FORWARD):
            continue
        choices = operators(opcode, generation) or {AluOp.BYPASS}
        for types in (by_operand(opcode, types) for types in type_tuples(opcode)):
            for control in _CONTROLS:
                found.update(_of(opcode, types, AluOp.BYPASS, control))
            for operator in choices - {AluOp.BYPASS}:
                found.update(_operations(opcode, types, operator))
    return frozenset(found)


_CONTROLS = tuple(
    {
        word: (IEEE_EMAX_E4M3, OCP_EMAX_E4M3)[value] if word == "emax_e4m3" else value
        for word in CONTROL_WORDS
    }
    for value in (0, 1)
)
"""Every value of every word once."""
