"""The mutants of a text: every place where one statement can be made wrong, and how.

A mutant's identity is a hash of its module, its statement and its change, with the names that the
back end makes up replaced by what they stand for. So it outlasts changes elsewhere in the design,
and what was found out about a mutant can be kept in a file.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from dve_cosim.mutation.operators import (
    Change,
    changes_of_condition,
    changes_of_subject,
    changes_of_value,
    stuck_bits,
)
from dve_cosim.mutation.scope import Placed, Scope, is_anonymous
from dve_cosim.mutation.verilog import Expr, Module, Statement, parse

_IDENTITY_DEPTH = 6
_SHOWN_DEPTH = 3
"""Anonymous names that are spelt out in the hash, and for a reader."""

ID_DIGITS = 10


@dataclass(frozen=True)
class Site:
    """A statement that can be made wrong.

    Parameters
    ----------
    module : str
        Name of its module in the text.
    statement : Statement
    width : int
        Bits of what it assigns.
    shown : str
        The statement for a reader.
    identity : str
        What it is known by: module, statement, and number among equal ones.
    changes : tuple of Change
        At least one.
    """

    module: str
    statement: Statement
    width: int
    shown: str
    identity: str
    changes: tuple[Change, ...] = field(repr=False)


@dataclass(frozen=True)
class Mutant:
    """One change at one site."""

    site: Site
    change: Change

    @property
    def id(self) -> str:
        """Ten hexadecimal digits that depend on nothing but module, statement and change."""
        words = (self.site.identity, self.change.operator, self.change.detail)
        return hashlib.sha256("\n".join(words).encode()).hexdigest()[:ID_DIGITS]

    @property
    def module(self) -> str:
        """Name of the module, without what the back end has added."""
        return plain_name(self.site.module)

    def __str__(self) -> str:
        return f"{self.id} {self.module}: {self.site.shown}: {self.change.detail}"


def plain_name(module: str) -> str:
    """A module's name without backslash and without the number of a renaming."""
    return re.sub(r"\$\d+", "", module.removeprefix("\\"))


def sites_of(text: str) -> dict[str, list[Site]]:
    """The sites of every module, by plain name, in the order of the text.

    Left out are statements that nobody reads, plain copies, and the initial contents of registers
    and memories. Copies of a register's next value are left out because its computation is a site.

    Raises
    ------
    CosimError
        If the text is not as our back end writes it.
    """
    modules = parse(text)
    by_name = {module.name: module for module in modules}
    return {
        plain_name(module.name): _sites(text, module, Scope(module, by_name)) for module in modules
    }


def _sites(text: str, module: Module, scope: Scope) -> list[Site]:
    found = []
    seen: Counter[str] = Counter()
    for placed in scope.placed:
        changes = tuple(_changes(text, scope, placed))
        if not changes:
            continue
        identity = _described(scope, placed, _IDENTITY_DEPTH)
        seen[identity] += 1
        target = placed.statement.target
        found.append(
            Site(
                module.name,
                placed.statement,
                module.width(target) if target else 0,
                _described(scope, placed, _SHOWN_DEPTH),
                f"{plain_name(module.name)}\n{identity}\n{seen[identity]}",
                changes,
            )
        )
    return found


def _described(scope: Scope, placed: Placed, depth: int) -> str:
    statement = placed.statement
    path = scope.show_path(placed, depth)
    assert statement.value
    value = scope.show(statement.value, depth)
    if statement.target is None:
        return f"{path}{statement.kind} {value}"
    if statement.kind != "set" and is_anonymous(statement.target.head):
        return path + value  # the target is shown as its value anyway
    operator = "<=" if statement.kind == "register" else "="
    return f"{path}{scope.show(statement.target, depth)} {operator} {value}"


def _changes(text: str, scope: Scope, placed: Placed) -> Iterator[Change]:
    statement = placed.statement
    value = statement.value
    assert value
    if statement.target is None:
        if not _live_below(scope, statement):
            return
        if statement.kind == "if":
            yield from changes_of_condition(text, value)
        elif value.kind in ("name", "select"):
            yield from changes_of_subject(text, value, scope.module.width(value))
        return
    if not scope.used(statement.target) or _is_reset(placed):
        return
    width = scope.module.width(statement.target)
    is_copy = value.kind in ("name", "select")
    if is_copy and (statement.kind == "assign" or _is_next_value(statement, value)):
        return
    yield from stuck_bits(scope, statement.target, value)
    yield from changes_of_value(text, value, width)
    if placed.path and (statement.kind == "register" or scope.has_default(placed)):
        yield Change("omit", "omitted")


def _is_reset(placed: Placed) -> bool:
    """Whether a statement gives a register its value in reset; one site a register is enough."""
    return any(condition.head == "rst" for condition in placed.conditions())


def _is_next_value(statement: Statement, value: Expr) -> bool:
    return statement.kind == "register" and is_anonymous(value.head)


def _live_below(scope: Scope, statement: Statement) -> bool:
    inner = [statement]
    while inner:
        current = inner.pop()
        if current.target is not None and scope.used(current.target):
            return True
        inner += current.body
    return False
