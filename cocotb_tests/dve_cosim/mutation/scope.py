"""What drives a name in a module, and who reads it: without readers no mutant shows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dve_cosim.mutation.verilog import Expr, Module, Statement

_ANONYMOUS = re.compile(r"\\\$\d+|_\d+_")
"""Names that the back end gives to values that have none in the design; the numbers move."""

_SUFFIX = re.compile(r"\$\d+$")
"""Of a name that occurs more than once; the number moves as well."""


@dataclass(frozen=True)
class Placed:
    """A statement with the conditions it stands under.

    Parameters
    ----------
    statement : Statement
    path : tuple of (Statement, int)
        Each ``if`` or ``case`` around it, the outermost first, and the branch taken.
    """

    statement: Statement
    path: tuple[tuple[Statement, int], ...] = ()

    def conditions(self) -> Iterator[Expr]:
        """What must be evaluated before it is executed."""
        for branch, _ in self.path:
            assert branch.value
            yield branch.value


class Scope:
    """Drivers and readers in one module.

    Parameters
    ----------
    module : Module
    modules : mapping of str to Module
        All of the text by name, for the directions of the ports of instances.
    """

    def __init__(self, module: Module, modules: Mapping[str, Module]) -> None:
        self.module = module
        self.placed = [inner for statement in module.statements for inner in _inside(statement, ())]
        self._drivers: defaultdict[str, list[Placed]] = defaultdict(list)
        for placed in self.placed:
            for name in _targets(placed.statement):
                self._drivers[name].append(placed)
        self._next_values = {
            placed.statement.value.head: placed.statement.target
            for placed in reversed(self.placed)
            if placed.statement.kind == "register"
            and placed.statement.target
            and placed.statement.value
            and placed.statement.value.kind == "name"
        }
        self._used: dict[str, set[int]] = {}
        self._follow_readers(modules)

    def _follow_readers(self, modules: Mapping[str, Module]) -> None:
        waiting = []

        def read(expression: Expr) -> None:
            for name, bits in self._reads(expression):
                if name not in self._used:
                    self._used[name] = set()
                    waiting.append(name)
                self._used[name] |= bits

        for name in self.module.outputs:
            read(Expr("name", 0, 0, name))
        for instance in self.module.instances:
            outputs = modules[instance.module].outputs
            for port, connected in instance.connections.items():
                if port not in outputs:
                    read(connected)
        done = set()
        while waiting:
            for placed in self._drivers[waiting.pop()]:
                statement = placed.statement
                if statement.start in done:
                    continue
                done.add(statement.start)
                assert statement.value
                assert statement.target
                read(statement.value)
                for condition in placed.conditions():
                    read(condition)
                for index in _indices(statement.target):
                    read(index)

    def _reads(self, expression: Expr) -> Iterator[tuple[str, set[int]]]:
        """Names that an expression reads, with the bits of each."""
        for node in expression.walk():
            if node.kind not in ("name", "select"):
                continue
            bits = set(range(self.module.widths.get(node.head, 0)))
            if node.kind == "select" and node.head not in self.module.memories:
                numbers = [part.number for part in node.parts]
                if all(number is not None for number in numbers):
                    bits = set(range(numbers[-1] or 0, (numbers[0] or 0) + 1))
            yield node.head, bits

    def used(self, target: Expr) -> list[int]:
        """Bits of an assigned value, from its lowest, that somebody reads."""
        if target.kind == "concat":
            used, base = [], 0
            for part in reversed(target.parts):
                used += [base + bit for bit in self.used(part)]
                base += self.module.width(part)
            return used
        width = self.module.width(target)
        if target.head in self.module.memories:
            return list(range(width)) if target.head in self._used else []
        low = target.parts[-1].number if target.kind == "select" else 0
        if low is None:  # the index is a signal
            return [0] if self._used.get(target.head) else []
        return [bit for bit in range(width) if low + bit in self._used.get(target.head, ())]

    def has_default(self, placed: Placed) -> bool:
        """Whether a value goes to the same target, unconditionally, before a statement does."""
        target = placed.statement.target
        assert target
        wanted = self.show(target, 0)
        return any(
            not other.path
            and other.statement.target
            and self.show(other.statement.target, 0) == wanted
            for other in self._drivers[target.head]
            if other.statement.start < placed.statement.start
        )

    # --- names that stay as they are when the design changes elsewhere ---

    def show(self, expression: Expr, depth: int) -> str:
        """The expression, with what anonymous names stand for in their place.

        Parameters
        ----------
        expression : Expr
        depth : int
            So many anonymous names deep; what lies further down is left out.
        """
        parts = [self.show(part, depth) for part in expression.parts]
        match expression.kind:
            case "number":
                return expression.head
            case "name":
                return self._show_name(expression.head, depth)
            case "select":
                base = self._show_name(expression.head, depth)
                if expression.word:
                    base = self.show(expression.word, depth)
                return f"{base}[{':'.join(parts)}]"
            case "unary":
                return f"{expression.head}{parts[0]}"
            case "binary":
                return f"({parts[0]} {expression.head} {parts[1]})"
            case "ternary":
                return f"({parts[0]} ? {parts[1]} : {parts[2]})"
            case "repeat":
                return f"{{{parts[0]}{parts[1]}}}"
            case "call":
                return f"{expression.head}({parts[0]})"
            case _:
                return f"{{{', '.join(parts)}}}"

    def _show_name(self, name: str, depth: int) -> str:
        if not _ANONYMOUS.fullmatch(name):
            return _SUFFIX.sub("'", name.removeprefix("\\"))
        if name in self._next_values:
            return f"next {self.show(self._next_values[name], 0)}"
        drivers = self._drivers[name]
        if depth == 0 or len(drivers) != 1 or drivers[0].path:
            return "$"
        value = drivers[0].statement.value
        assert value
        return self.show(value, depth - 1)

    def show_path(self, placed: Placed, depth: int) -> str:
        """The conditions that a statement stands under."""
        words = []
        for branch, taken in placed.path:
            assert branch.value
            subject = self.show(branch.value, depth)
            if branch.kind == "case":
                words.append(f"case {subject} is {branch.labels[taken]}: ")
            else:
                words.append(f"{'else of ' if taken else ''}if {subject}: ")
        return "".join(words)


def is_anonymous(name: str) -> bool:
    """Whether the back end has made the name up."""
    return _ANONYMOUS.fullmatch(name) is not None


def _inside(statement: Statement, path: tuple[tuple[Statement, int], ...]) -> Iterator[Placed]:
    if statement.kind == "block":
        for inner in statement.body:
            yield from _inside(inner, path)
        return
    if statement.kind == "null":
        return
    yield Placed(statement, path)
    for taken, inner in enumerate(statement.body):
        yield from _inside(inner, (*path, (statement, taken)))


def _targets(statement: Statement) -> Iterator[str]:
    if statement.target is None:
        return
    for part in statement.target.parts if statement.target.kind == "concat" else [statement.target]:
        yield part.head


def _indices(target: Expr) -> Iterator[Expr]:
    """Expressions that choose what an assignment writes to."""
    if target.kind == "select":
        yield from target.parts
        if target.word:
            yield from target.word.parts
