"""The mutation operators: what is done to one statement.

``stuck``     a bit of a value, or a condition, is 0 or 1 for ever
``invert``    a condition or a value of one bit is inverted
``constant``  a constant is one more or one less
``swap``      two operands change places
``operator``  an operator becomes its neighbour: ``&`` and ``|``, ``+`` and ``-``, ``<`` and ``<=``
``omit``      an assignment under a condition is left out
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dve_cosim.mutation.scope import Scope
from dve_cosim.mutation.verilog import Expr

OPERATORS = ("stuck", "invert", "constant", "swap", "operator", "omit")

_NEIGHBOURS = {
    "&": "|",
    "|": "&",
    "+": "-",
    "-": "+",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "^": "|",
    "<<": ">>",
    ">>": "<<",
}
_SWAPPABLE = ("-", "<", "<=", ">", ">=", "<<", ">>", ">>>")


@dataclass(frozen=True)
class Change:
    """What an operator does to a statement.

    Parameters
    ----------
    operator : str
        One of `OPERATORS`.
    detail : str
        In words, and distinct from the statement's other changes.
    value : str
        The value or condition instead; empty for a stuck bit of an assigned value, and for an
        assignment that is omitted.
    bit, level : int
        The stuck bit of an assigned value, counted from its lowest, and what it is; bit -1 if none.
    """

    operator: str
    detail: str
    value: str = ""
    bit: int = -1
    level: int = 0


def changes_of_value(text: str, value: Expr, width: int) -> Iterator[Change]:
    """Changes to an assigned value, stuck bits apart.

    Parameters
    ----------
    text : str
        What the expression's places refer to.
    value : Expr
    width : int
        Bits of what is assigned.
    """
    if width == 1 and value.kind != "number":
        yield Change("invert", "inverted", f"!({_source(text, value)})")
    yield from _rewrites(text, value, width)


def changes_of_condition(text: str, condition: Expr) -> Iterator[Change]:
    """Changes to the condition of an ``if``."""
    yield Change("invert", "inverted", f"!({_source(text, condition)})")
    for level in (0, 1):
        yield Change("stuck", f"always {'true' if level else 'false'}", f"1'h{level}")


def changes_of_subject(text: str, subject: Expr, width: int) -> Iterator[Change]:
    """Changes to what a ``case`` selects by."""
    whole = _source(text, subject)
    for bit in range(width):
        mask = f"{width}'h{1 << bit:x}"
        yield Change("stuck", f"bit {bit} is 0", f"({whole}) & ~{mask}")
        yield Change("stuck", f"bit {bit} is 1", f"({whole}) | {mask}")


def stuck_bits(scope: Scope, target: Expr, value: Expr) -> Iterator[Change]:
    """Bits that somebody reads, stuck at what they are not already."""
    for bit in scope.used(target):
        for level in (0, 1):
            if _constant_bit(scope, value, bit) != level:
                yield Change("stuck", f"bit {bit} is {level}", bit=bit, level=level)


def _constant_bit(scope: Scope, value: Expr, bit: int) -> int | None:
    """What a bit of an expression always is, as far as it is written there."""
    if (number := value.number) is not None:
        return number >> bit & 1
    if value.kind == "concat":
        for part in reversed(value.parts):
            width = _width(scope, part)
            if width is None:
                return None
            if bit < width:
                return _constant_bit(scope, part, bit)
            bit -= width
    return None


def _width(scope: Scope, value: Expr) -> int | None:
    if value.kind == "number":
        return int(value.head.partition("'")[0])
    if value.kind in ("name", "select"):
        return scope.module.width(value)
    return None


def _source(text: str, node: Expr) -> str:
    return f"{text[node.start : node.end]} "  # a blank ends an escaped name


def _rewrites(text: str, value: Expr, width: int) -> Iterator[Change]:
    def changed(node: Expr, new: str) -> str:
        return text[value.start : node.start] + new + text[node.end : value.end]

    for at, (node, fixed) in enumerate(_operands(value, False)):
        parts = [_source(text, part) for part in node.parts]
        place = f"in term {at} " if at else ""
        if node.kind == "number":
            for new in _off_by_one(node, width if node is value else 0 if not fixed else -1):
                yield Change("constant", f"{place}{node.head} becomes {new}", changed(node, new))
        elif node.kind == "ternary":
            swapped = f"({parts[0]}? {parts[2]}: {parts[1]})"
            yield Change("swap", f"{place}values of ?: swapped", changed(node, swapped))
        elif node.kind == "unary" and node.head in ("~", "!") and (node is not value or width > 1):
            new = f"(|{parts[0]})" if node.head == "!" else f"({parts[0]})"
            yield Change("invert", f"{place}without {node.head}", changed(node, new))
        elif node.kind == "unary" and node.head in ("&", "|"):
            new = _NEIGHBOURS[node.head]
            detail = f"{place}reduction {node.head} becomes {new}"
            yield Change("operator", detail, changed(node, f"({new}{parts[0]})"))
        elif node.kind == "binary":
            if node.head in _SWAPPABLE:
                swapped = f"({parts[1]}{node.head} {parts[0]})"
                detail = f"{place}operands of {node.head} swapped"
                yield Change("swap", detail, changed(node, swapped))
            if node.head in _NEIGHBOURS:
                new = _NEIGHBOURS[node.head]
                detail = f"{place}{node.head} becomes {new}"
                yield Change("operator", detail, changed(node, f"({parts[0]}{new} {parts[1]})"))


def _operands(value: Expr, fixed: bool) -> Iterator[tuple[Expr, bool]]:
    """The nodes of an expression but the indices in it; whether their width matters as written."""
    yield value, fixed
    if value.kind == "select":
        return
    if value.kind == "repeat":
        yield from _operands(value.parts[1], True)
        return
    for part in value.parts:
        yield from _operands(part, fixed or value.kind in ("concat", "call", "unary"))


def _off_by_one(node: Expr, width: int) -> Iterator[str]:
    """A number's neighbours.

    ``width`` is that of the target if the number is the whole value, -1 if the number must keep
    its own, and 0 if it may grow.
    """
    number = node.number
    size, quote, _ = node.head.partition("'")
    if number is None or not quote:
        return
    if width > 0:
        size = str(width)
    for new in sorted({number + 1, number - 1} if int(size) > 1 or width == 0 else {number ^ 1}):
        if width != 0:
            new %= 1 << int(size)
        if new >= 0:
            yield f"{max(int(size), new.bit_length())}'h{new:x}"
