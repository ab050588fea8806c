"""A parser for the Verilog that Yosys writes, and for our RAM primitive.

Of the language it knows what these texts use. Every node keeps its place in the text, so that a
mutant is a replacement of a few characters and all else stays as exported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dve_cosim.errors import CosimError

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|\(\*(?!\))[^)]*?\*\)|`[^\n]*)
  | (?P<number>\d+\s*'s?[bodhBODH][0-9a-fA-FxXzZ?_]+|\d+)
  | (?P<name>\\\S+|[A-Za-z_$][\w$]*)
  | (?P<string>"[^"]*")
  | (?P<symbol><<<|>>>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*&|^~!<>?:=(){}\[\],;.\#@])
    """,
    re.VERBOSE | re.DOTALL,
)

_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    **dict.fromkeys(("==", "!="), 6),
    **dict.fromkeys(("<", "<=", ">", ">="), 7),
    **dict.fromkeys(("<<", ">>", "<<<", ">>>"), 8),
    **dict.fromkeys(("+", "-"), 9),
    "*": 10,
}
_UNARY = ("~", "!", "&", "|", "^", "-", "+")


@dataclass(frozen=True)
class Expr:
    """An expression.

    Parameters
    ----------
    kind : str
        ``number``, ``name``, ``select``, ``unary``, ``binary``, ``ternary``, ``concat``, ``repeat``
        or ``call``.
    start, end : int
        Its characters in the text.
    head : str
        Number, name, operator or function.
    parts : tuple of Expr
        Operands; of a select the index, or the high and the low bit.
    word : Expr, optional
        Of a select of bits of a word of a memory: the select of the word.
    """

    kind: str
    start: int
    end: int
    head: str = ""
    parts: tuple[Expr, ...] = ()
    word: Expr | None = None

    def walk(self) -> Iterator[Expr]:
        """This node and all below."""
        yield self
        if self.word:
            yield from self.word.walk()
        for part in self.parts:
            yield from part.walk()

    @property
    def number(self) -> int | None:
        """The value of a number without undefined bits."""
        if self.kind != "number":
            return None
        size, quote, digits = self.head.partition("'")
        if not quote:
            return int(size)
        digits = digits.lstrip("sS")
        base = {"b": 2, "o": 8, "d": 10, "h": 16}[digits[0].lower()]
        try:
            return int(digits[1:].replace("_", ""), base)
        except ValueError:
            return None


@dataclass(frozen=True)
class Statement:
    """A statement.

    Parameters
    ----------
    kind : str
        ``assign`` (continuous), ``set`` (blocking), ``register`` (non-blocking), ``if``, ``case``,
        ``block`` or ``null``.
    start, end : int
        Its characters, the semicolon included.
    target : Expr, optional
        What is assigned.
    value : Expr, optional
        What to; the condition of an ``if``, the subject of a ``case``.
    body : tuple of Statement
        Of a block; of an ``if`` one or two branches; of a ``case`` one for each item.
    labels : tuple of str
        Texts of the labels of the items of a ``case``.
    """

    kind: str
    start: int
    end: int
    target: Expr | None = None
    value: Expr | None = None
    body: tuple[Statement, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Instance:
    """An instance of another module: port to what it is connected to."""

    module: str
    name: str
    connections: dict[str, Expr]


@dataclass
class Module:
    """A module.

    Parameters
    ----------
    name : str
    start, end : int
        Its characters, up to its ``endmodule``.
    widths : dict of str to int
        Of every net, register and port; of a memory that of its words. 0 where a parameter says it.
    inputs, outputs, memories : set of str
    statements : list of Statement
        Continuous assignments, and the bodies of processes.
    instances : list of Instance
    """

    name: str
    start: int
    end: int = 0
    widths: dict[str, int] = field(default_factory=dict)
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)
    statements: list[Statement] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)

    def width(self, target: Expr) -> int:
        """Bits of an assignment's target; 0 if a parameter says it."""
        if target.kind == "concat":
            return sum(map(self.width, target.parts))
        if target.kind == "name":
            return self.widths[target.head]
        if len(target.parts) == 2:
            high, low = (part.number for part in target.parts)
            assert high is not None
            assert low is not None
            return high - low + 1
        return self.widths[target.head] if self.is_word(target) else 1

    def is_word(self, target: Expr) -> bool:
        """Whether a select names a word of a memory."""
        return target.kind == "select" and target.head in self.memories and not target.word


def parse(text: str) -> list[Module]:
    """The modules of a text, in order.

    Raises
    ------
    CosimError
        If the text uses something that this parser does not know.
    """
    return _Parser(text).modules()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._tokenize())
        self._at = 0

    def _tokenize(self) -> Iterator[_Token]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._error(at)
            at = match.end()
            if match.lastgroup != "skip":
                assert match.lastgroup
                yield _Token(match.lastgroup, match[0], match.start(), at)
        yield _Token("end", "", at, at)

    def _error(self, at: int) -> CosimError:
        line = self._text.count("\n", 0, at) + 1
        found = self._text[at : at + 20].partition("\n")[0]
        return CosimError(f"cannot mutate the exported Verilog: line {line}: unexpected {found!r}")

    # --- tokens ---

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *expected: str) -> _Token:
        token = self._next
        if expected and token.text not in expected:
            raise self._error(token.start)
        self._at += 1
        return token

    def _name(self) -> str:
        token = self._take()
        if token.kind != "name":
            raise self._error(token.start)
        return token.text

    def _try(self, text: str) -> bool:
        if self._next.text == text:
            self._at += 1
            return True
        return False

    # --- modules ---

    def modules(self) -> list[Module]:
        found = []
        while self._next.kind != "end":
            found.append(self._module())
        return found

    def _module(self) -> Module:
        start = self._take("module").start
        module = Module(self._name(), start)
        if self._try("#"):
            self._skip_parentheses()
        self._take("(")
        while not self._try(")"):
            if self._next.text in ("input", "output"):
                self._declaration(module)
            else:
                self._name()
            self._try(",")
        self._take(";")
        while self._next.text != "endmodule":
            self._item(module)
        module.end = self._take("endmodule").end
        return module

    def _skip_parentheses(self) -> None:
        self._take("(")
        while not self._try(")"):
            if self._next.text == "(":
                self._skip_parentheses()
            else:
                self._take()

    def _item(self, module: Module) -> None:
        word = self._next.text
        if word in ("input", "output", "wire", "reg", "integer"):
            self._declaration(module)
            self._take(";")
        elif word == "assign":
            start = self._take().start
            target = self._primary()
            self._take("=")
            value = self._expression()
            end = self._take(";").end
            module.statements.append(Statement("assign", start, end, target, value))
        elif word == "always":
            self._take()
            self._take("@")
            if not self._try("*"):
                self._skip_parentheses()
            module.statements.append(self._statement())
        elif word == "initial":
            self._take()
            self._skip_statement()
        else:
            self._instance(module)

    def _skip_statement(self) -> None:
        if self._try("begin"):
            while not self._try("end"):
                self._skip_statement()
            return
        while not self._try(";"):
            if self._next.text == "(":
                self._skip_parentheses()
            else:
                self._take()

    def _declaration(self, module: Module) -> None:
        first = self._take().text
        self._try("wire")
        self._try("reg")
        self._try("signed")
        width = self._range() if self._next.text == "[" else 32 if first == "integer" else 1
        name = self._name()
        if first == "input":
            module.inputs.add(name)
        elif first == "output":
            module.outputs.add(name)
        module.widths[name] = width
        if self._next.text == "[":
            self._range()
            module.memories.add(name)
        elif self._try("="):
            self._expression()

    def _range(self) -> int:
        """The width that a range declares; 0 if it takes a parameter."""
        self._take("[")
        high = self._expression()
        self._take(":")
        low = self._expression()
        self._take("]")
        if high.number is None or low.number is None:
            return 0
        return abs(high.number - low.number) + 1

    def _instance(self, module: Module) -> None:
        kind = self._name()
        if self._try("#"):
            self._skip_parentheses()
        name = self._name()
        connections = {}
        self._take("(")
        while not self._try(")"):
            self._take(".")
            port = self._name()
            self._take("(")
            if self._next.text != ")":
                connections[port] = self._expression()
            self._take(")")
            self._try(",")
        self._take(";")
        module.instances.append(Instance(kind, name, connections))

    # --- statements ---

    def _statement(self) -> Statement:
        token = self._next
        if self._try(";"):
            return Statement("null", token.start, token.end)
        if self._try("begin"):
            body = []
            while self._next.text != "end":
                body.append(self._statement())
            return Statement("block", token.start, self._take("end").end, body=tuple(body))
        if self._try("if"):
            return self._if(token.start)
        if self._try("casez") or self._try("case"):
            return self._case(token.start)
        target = self._primary()
        kind = "set" if self._take("=", "<=").text == "=" else "register"
        value = self._expression()
        return Statement(kind, token.start, self._take(";").end, target, value)

    def _if(self, start: int) -> Statement:
        self._take("(")
        condition = self._expression()
        self._take(")")
        branches = [self._statement()]
        if self._try("else"):
            branches.append(self._statement())
        return Statement("if", start, branches[-1].end, None, condition, tuple(branches))

    def _case(self, start: int) -> Statement:
        self._take("(")
        subject = self._expression()
        self._take(")")
        labels, body = [], []
        while self._next.text != "endcase":
            first = self._next
            if not self._try("default"):
                self._expression()
                while self._try(","):
                    self._expression()
            labels.append(self._text[first.start : self._tokens[self._at - 1].end])
            self._take(":")
            body.append(self._statement())
        end = self._take("endcase").end
        return Statement("case", start, end, None, subject, tuple(body), tuple(labels))

    # --- expressions ---

    def _expression(self) -> Expr:
        condition = self._binary(1)
        if not self._try("?"):
            return condition
        yes = self._expression()
        self._take(":")
        no = self._expression()
        return Expr("ternary", condition.start, no.end, "?", (condition, yes, no))

    def _binary(self, lowest: int) -> Expr:
        left = self._unary()
        while _PRECEDENCE.get(self._next.text, 0) >= lowest:
            operator = self._take().text
            right = self._binary(_PRECEDENCE[operator] + 1)
            left = Expr("binary", left.start, right.end, operator, (left, right))
        return left

    def _unary(self) -> Expr:
        token = self._next
        if token.text in _UNARY:
            self._take()
            operand = self._unary()
            return Expr("unary", token.start, operand.end, token.text, (operand,))
        return self._primary()

    def _primary(self) -> Expr:
        token = self._take()
        if token.kind == "number":
            return Expr("number", token.start, token.end, token.text)
        if token.text == "(":
            inner = self._expression()
            end = self._take(")").end
            return Expr(inner.kind, token.start, end, inner.head, inner.parts)
        if token.text == "{":
            return self._braces(token.start)
        if token.kind != "name":
            raise self._error(token.start)
        if self._try("("):
            argument = self._expression()
            return Expr("call", token.start, self._take(")").end, token.text, (argument,))
        node = Expr("name", token.start, token.end, token.text)
        while self._try("["):
            parts = [self._expression()]
            if self._try(":"):
                parts.append(self._expression())
            word = node if node.kind == "select" else None
            end = self._take("]").end
            node = Expr("select", token.start, end, token.text, tuple(parts), word)
        return node

    def _braces(self, start: int) -> Expr:
        parts = [self._expression()]
        if self._next.text == "{":  # a count of copies
            self._take()
            inner = self._braces(self._tokens[self._at - 1].start)
            end = self._take("}").end
            return Expr("repeat", start, end, "{}", (parts[0], inner))
        while self._try(","):
            parts.append(self._expression())
        return Expr("concat", start, self._take("}").end, "{}", tuple(parts))
