"""The main job's figures in words: names, units and digits, the same in every table."""

import math
from collections.abc import Iterable, Iterator

from dve_cosim.main_result import GradientErrors, MainResult

SCALES = {
    "d_x": "|gamma| inv_std max|dy|",
    "d_gamma": "sum|dy x_norm|",
    "d_beta": "sum|dy|",
}
"""What the relative error of each gradient is relative to, per channel."""

STEPS = {
    "golden": "golden machine",
    "reference": "float64 reference",
    "build": "export and build, or cache",
    "start": "simulator start and load",
    "simulate": "simulation",
    "python": "of which Python",
    "dump": "state dump",
    "compare": "comparison",
    "total": "total",
}
"""Steps of ``MainResult.seconds`` in the order of a table, and how they are called there."""


def error_rows(result: MainResult) -> Iterator[tuple[str, str, GradientErrors]]:
    """Label, gradient and errors of each row of a table: the engine's, then the framework's."""
    for name, errors in result.errors.items():
        yield name, name, errors
    for name, errors in result.framework_errors.items():
        yield f"{name}, framework", name, errors


def timed_steps(result: MainResult) -> Iterable[tuple[str, str]]:
    """Keys of ``result.seconds`` with their names, in the order of a table."""
    return ((key, label) for key, label in STEPS.items() if key in result.seconds)


def log2(value: float) -> float:
    """Binary logarithm, minus infinity of 0."""
    return math.log2(value) if value > 0 else -math.inf


def short(value: float) -> str:
    """A non-negative figure in about three digits."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if value >= 1e6 or value < 1e-3:
        return f"{value:.2e}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def power(value: float) -> str:
    """A relative error as a power of two, for example ``2^-23.4``."""
    return f"2^{log2(value):.1f}" if 0 < value < math.inf else f"{value:g}"
