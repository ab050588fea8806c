"""Tables of a study on the terminal."""

import os
from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

PIPE_WIDTH = 160
"""Columns where standard output is not a terminal."""


def show(
    tables: Iterable[tuple[str, tuple[Sequence[str], Iterable[Sequence[str]]]]],
    words: Collection[str],
) -> None:
    """Print tables.

    Parameters
    ----------
    tables : iterable of (title, (headings, rows))
    words : collection of str
        Headings of columns that hold words; the others hold numbers and are aligned right.
    """
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    for title, (headings, rows) in tables:
        shown = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
        for heading in headings:
            shown.add_column(heading, justify="left" if heading in words else "right")
        for row in rows:
            shown.add_row(*row)
        console.print(shown)
