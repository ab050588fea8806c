"""How far a long step is, for whoever shows it."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the step's name, the units done, and the units in all (0 if not known)."""


def silent(step: str, done: int, total: int) -> None:
    """Show nothing."""
