"""Mutants in the text: many behind one select, or one alone.

The select is a package variable, which every module reads without a port. A plus argument sets it
before the first evaluation, so that one build serves all mutants of a campaign. With select 0, and
for all but the selected mutant, every statement does what it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dve_cosim.engine import TOP
from dve_cosim.mutation.sites import Mutant

PLUSARG = "mutant"
MOST = (1 << 16) - 1
"""Mutants of one build."""

_PACKAGE = "dve_mutation"
_SELECT = f"{_PACKAGE}::selected"
_HEADER = f"package {_PACKAGE};\n  bit [15:0] selected = 16'd0;\nendpackage\n"
_SETTING = f"""\
  initial if (!$value$plusargs("{PLUSARG}=%d", {_SELECT})) {_SELECT} = 16'd0;
"""


def instrumented(text: str, mutants: Sequence[Mutant], *, top: str = TOP) -> str:
    """The text with all mutants in it; number ``k``, from 1, is ``mutants[k - 1]``.

    Parameters
    ----------
    text : str
        The export that the mutants are of.
    mutants : sequence of Mutant
        No two of one site.
    top : str
        The module that no other instantiates.
    """
    assert len(mutants) <= MOST
    edits = [_behind_select(text, mutant, at) for at, mutant in enumerate(mutants, 1)]
    changed = _edited(text, edits)
    heading = re.search(rf"^module {top}\b[^;]*;\n", changed, re.MULTILINE)
    assert heading is not None
    return f"{_HEADER}{changed[: heading.end()]}{_SETTING}{changed[heading.end() :]}"


def mutated(text: str, mutant: Mutant) -> str:
    """The text with one mutant in the place of what it changes."""
    return _edited(text, [_alone(text, mutant)])


_Edit = tuple[int, int, str]


def _edited(text: str, edits: Iterable[_Edit]) -> str:
    parts, at = [], 0
    for start, end, new in sorted(edits):
        assert start >= at, "two mutants of one statement"
        parts += [text[at:start], new]
        at = end
    return "".join(parts) + text[at:]


def _behind_select(text: str, mutant: Mutant, number: int) -> _Edit:
    statement = mutant.site.statement
    chosen = f"{_SELECT} == 16'd{number}"
    assert statement.value
    value = text[statement.value.start : statement.value.end]
    if statement.kind in ("if", "case"):
        new = f"(({chosen}) ? ({mutant.change.value} ) : ({value} ))"
        return statement.value.start, statement.value.end, new
    if statement.kind == "assign":
        right, wrong = (f"\\mutant.{number}.{side} " for side in ("right", "wrong"))
        new = (
            f"wire [{mutant.site.width - 1}:0] {right} = {value} ;\n"
            f"  wire [{mutant.site.width - 1}:0] {wrong} = {_wrong_value(mutant, right)} ;\n"
            f"  assign {_target(text, mutant)} = ({chosen}) ? {wrong} : {right};"
        )
        return statement.start, statement.end, new
    was = text[statement.start : statement.end]
    new = f"begin if ({chosen}) begin {_wrong_statement(text, mutant)} end else {was} end"
    return statement.start, statement.end, new


def _alone(text: str, mutant: Mutant) -> _Edit:
    statement = mutant.site.statement
    assert statement.value
    if statement.kind in ("if", "case"):
        return statement.value.start, statement.value.end, f"{mutant.change.value} "
    if statement.kind != "assign":
        new = f"begin {_wrong_statement(text, mutant)} end"
    elif mutant.change.value:
        new = f"assign {_target(text, mutant)} = {mutant.change.value} ;"
    else:
        right = "\\mutant.right "
        value = text[statement.value.start : statement.value.end]
        new = (
            f"wire [{mutant.site.width - 1}:0] {right} = {value} ;\n"
            f"  assign {_target(text, mutant)} = {_wrong_value(mutant, right)} ;"
        )
    return statement.start, statement.end, new


def _target(text: str, mutant: Mutant) -> str:
    target = mutant.site.statement.target
    assert target
    return f"{text[target.start : target.end]} "


def _wrong_value(mutant: Mutant, right: str) -> str:
    """Of a continuous assignment whose right value has a name."""
    change, width = mutant.change, mutant.site.width
    if change.bit < 0:
        return change.value
    mask = f"{width}'h{1 << change.bit:x}"
    return f"{right} | {mask}" if change.level else f"{right} & ~{mask}"


def _wrong_statement(text: str, mutant: Mutant) -> str:
    """Of an assignment in a process."""
    statement, change = mutant.site.statement, mutant.change
    if change.operator == "omit":
        return ""
    target = _target(text, mutant)
    operator = "<=" if statement.kind == "register" else "="
    if change.bit < 0:
        return f"{target} {operator} {change.value} ;"
    assert statement.value
    value = text[statement.value.start : statement.value.end]
    bit = _bit(text, mutant)
    return f"{target} {operator} {value} ; {bit} {operator} 1'h{change.level};"


def _bit(text: str, mutant: Mutant) -> str:
    """The stuck bit of an assignment's target."""
    target, bit = mutant.site.statement.target, mutant.change.bit
    assert target
    whole = _target(text, mutant)
    if mutant.site.width == 1:
        return whole
    if target.kind == "select" and len(target.parts) == 2:
        low = target.parts[1].number
        assert low is not None
        base = text[target.word.start : target.word.end] if target.word else f"{target.head} "
        return f"{base}[{low + bit}]"
    return f"{whole}[{bit}]"
