"""Progress bars for steps that may take long."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from dve_cosim.progress import Progress
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars

_SHORTEST_UPDATE = 0.05
"""Seconds between two updates of one bar: drawing must not slow down what it shows."""


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Bars on standard error, one for each step, gone at the end; none where it is no terminal."""
    console = Console(stderr=True)
    bars = Bars(
        SpinnerColumn(),
        TextColumn("{task.description:9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: dict[str, TaskID] = {}
    updated: dict[str, float] = {}

    def progress(step: str, done: int, total: int) -> None:
        now = time.monotonic()
        if step not in tasks:
            tasks[step] = bars.add_task(step, total=None)
        elif done < total and now - updated[step] < _SHORTEST_UPDATE:
            return
        updated[step] = now
        bars.update(tasks[step], completed=done, total=total or None)

    with bars:
        yield progress
