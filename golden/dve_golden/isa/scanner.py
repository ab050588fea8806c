"""Reading text with errors that say where and what was expected."""

import difflib
import re
from bisect import bisect_right
from collections.abc import Collection

_SHOWN = 40
"""Letters of a wrong word that an error shows."""

_MOST_DIGITS = 20
"""Of a number that fits 64 bits; no field is wider."""


class AssemblyError(ValueError):
    """Text that is not a program.

    Parameters
    ----------
    line, column
        Where, counted from 1.
    message
        What was expected there.
    """

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column
        self.message = message


class Scanner:
    """A position in a source text that only moves forward.

    Comments, and line ends after a backslash, read as blanks; positions are those of the source.
    """

    def __init__(self, source: str) -> None:
        def blank(match: re.Match[str]) -> str:
            return " " * len(match[0])

        self._text = re.sub(r"\\[ \t]*\r?\n", blank, re.sub(r"#[^\n]*", blank, source))
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", source))]
        self.position = 0

    @property
    def line(self) -> int:
        """Line of the current position, counted from 1."""
        return bisect_right(self._line_starts, self.position)

    def error(self, message: str, at: int | None = None) -> AssemblyError:
        """An error at the current position, or at ``at``."""
        position = self.position if at is None else at
        line = bisect_right(self._line_starts, position)
        return AssemblyError(line, position - self._line_starts[line - 1] + 1, message)

    def accept(self, pattern: str) -> str | None:
        """Read what matches the regular expression here, if anything does."""
        match = re.compile(pattern).match(self._text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match[0]

    def expect(self, pattern: str, expected: str) -> str:
        """Read what matches here.

        Raises
        ------
        AssemblyError
            If nothing does; ``expected`` says what should have stood there.
        """
        found = self.accept(pattern)
        if found is None:
            raise self.error(f"expected {expected}, found {self._upcoming()}")
        return found

    def number(self, low: int, high: int, expected: str, *, decimal: bool = False) -> int:
        """Read an integer, decimal or (unless ``decimal``) hexadecimal with 0x."""
        start = self.position
        sign = "-?" if low < 0 else ""
        digits = r"[0-9]+" if decimal else r"(0x[0-9a-fA-F]+|[0-9]+)"
        described = f"{expected}, {low} to {high}"
        text = self.expect(sign + digits, described)
        significant = text.removeprefix("-").removeprefix("0x").lstrip("0") or "0"
        if len(significant) <= _MOST_DIGITS:  # Python refuses to convert thousands of them
            value = int(significant, 16 if "x" in text else 10)
            value = -value if text.startswith("-") else value
        else:
            value = high + 1
        if not low <= value <= high:
            raise self.error(f"expected {described}, found {_shortened(text)}", start)
        return value

    def choice(self, names: Collection[str], expected: str) -> str:
        """Read one of the names."""
        start = self.position
        word = self.expect(r"[A-Za-z_.][A-Za-z0-9_.]*", expected)
        if word not in names:
            shown = repr(_shortened(word))
            raise self.error(f"expected {expected}, found {shown}{_suggest(word, names)}", start)
        return word

    def skip_blanks(self) -> None:
        self.accept(r"[ \t\r]*")

    def at_end_of_line(self) -> bool:
        return self.accept(r"\n") is not None or self.at_end()

    def at_end(self) -> bool:
        return self.position == len(self._text)

    def expect_end_of_word(self) -> None:
        """Check that a blank, a line end or the end of the text follows."""
        if re.compile(r"[ \t\r\n]|\Z").match(self._text, self.position) is None:
            raise self.error(f"expected a blank after the value, found {self._upcoming()}")

    def _upcoming(self) -> str:
        match = re.compile(r"[^ \t\r\n]+").match(self._text, self.position)
        return "the end of the line" if match is None else repr(_shortened(match[0]))


def _shortened(text: str) -> str:
    """The text, or its beginning if it is long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _suggest(word: str, names: Collection[str]) -> str:
    close = difflib.get_close_matches(word, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(sorted(names))}"
