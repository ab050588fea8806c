"""The figures of the page, as SVG. The same measurements give the same bytes.

Colours are those of Okabe and Ito (2008), which most colour-blind readers can tell apart; a marker
of its own says the same again.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dve_studies.summation.data import CHANNEL
from dve_studies.summation.schemes import (
    BLOCKED,
    COMPENSATED,
    EXACT,
    FOLD,
    PAIRWISE,
    SCHEMES,
    SERIAL,
    Scheme,
)
from dve_studies.summation.study import (
    GROWTH,
    LABELS,
    PARTITION_KIB,
    TILED,
    TILES,
    TYPICAL,
    Progress,
    Study,
    quiet,
)
from dve_studies.svg import PROMISE, settings, svg

SETTINGS = settings("summation", linewidth=1.4)

STYLES: dict[str, dict[str, Any]] = {
    SERIAL.name: {"color": "#D55E00", "marker": "v"},
    FOLD.name: {"color": "#0072B2", "marker": "o"},
    BLOCKED.name: {"color": "#E69F00", "marker": "s"},
    PAIRWISE.name: {"color": "#009E73", "marker": "^"},
    COMPENSATED.name: {"color": "#CC79A7", "marker": "D"},
    EXACT.name: {"color": "#000000", "marker": "x"},
    TILED: {"color": "#56B4E9", "marker": "P"},
}

BOUNDED = (SERIAL, FOLD, PAIRWISE)
"""Schemes whose bounds are drawn."""

BOUND: dict[str, Any] = {"ls": (0, (1, 1.5)), "lw": 1.1}


def figures(study: Study, progress: Progress = quiet) -> dict[str, bytes]:
    """Every figure by its file name."""
    files = {}
    with rc_context(SETTINGS):
        for done, (name, draw) in enumerate(FIGURES.items(), 1):
            files[name] = svg(draw(study))
            progress("figures", done, len(FIGURES))
    return files


def growth(study: Study) -> Figure:
    """Errors of real terms over the length of the sum, with the bounds."""
    figure = _figure(8, 6.6)
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    lowest, highest = 2.0**-34, 2.0**-10
    for axes, name in zip(panels.flat, GROWTH, strict=True):
        cases = [case for case in study.growth if case.terms == name]
        lengths = np.array([case.n for case in cases])
        for scheme in SCHEMES:
            found = np.array([case.errors[scheme.name].rms for case in cases])
            axes.plot(lengths, np.maximum(found, lowest), clip_on=False, **STYLES[scheme.name])
        for scheme in BOUNDED:
            bounds = np.array([scheme.bound(case.n, case.condition) for case in cases])
            axes.plot(lengths, bounds, color=STYLES[scheme.name]["color"], **BOUND)
        axes.axvspan(*TILES, color="#eeeeee", zorder=0)
        axes.set_title(name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_ylim(lowest, highest)
        _powers(axes.xaxis, range(3, 21, 3))
        axes.yaxis.set_ticks([], minor=True)
    axes = panels[0, 0]
    label = f"largest tile,\n{PARTITION_KIB[0]} to {PARTITION_KIB[1]} KiB"
    axes.annotate(label, (0.9 * TILES[0], 2.0**-32.5), ha="right", color="#555555")
    below = ["$\\leq 2^{-34}$", *(f"$2^{{{k}}}$" for k in range(-30, -9, 4))]
    axes.set_yticks([2.0**k for k in range(-34, -9, 4)], below)
    figure.supxlabel("terms of a sum, n")
    figure.supylabel("error relative to sum|x|, root mean square")
    _legend(figure, [*_handles(SCHEMES), _bound_handle()])
    return figure


def hard(study: Study) -> Figure:
    """Largest errors of each hard case, a row per case."""
    figure = _figure(8, 4.9)
    axes = figure.add_subplot()
    left, right = 2.0**-37, 2.0**-7  # where errors of zero, and overflows, are drawn
    for row, case in enumerate(study.hard):
        for place, scheme in enumerate(SCHEMES):
            worst = case.errors[scheme.name].worst
            at = min(max(worst, left), right)
            axes.plot(at, row + 0.13 * (place - 2.5), ls="", **STYLES[scheme.name])
    axes.set_xscale("log", base=2)
    axes.set_xlim(left / 2, right * 2)
    ticks = [left, *(2.0**k for k in range(-34, -9, 4)), right]
    axes.set_xticks(ticks, ["0", *(f"$2^{{{k}}}$" for k in range(-34, -9, 4)), "overflow"])
    axes.minorticks_off()
    axes.axvline(left * 2, color="#999999", lw=0.8)
    axes.axvline(right / 2, color="#999999", lw=0.8)
    axes.set_yticks(range(len(study.hard)), [case.terms for case in study.hard])
    axes.set_ylim(len(study.hard) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    for scheme in BOUNDED:
        bound = scheme.bound(TYPICAL, 1)
        axes.axvline(bound, color=STYLES[scheme.name]["color"], **BOUND)
    for row in range(1, len(study.hard), 2):
        axes.axhspan(row - 0.5, row + 0.5, color="#f2f2f2", zorder=0)
    axes.set_xlabel(f"largest error relative to sum|x|, {study.hard[0].sums} sums of {TYPICAL:,}")
    _legend(figure, [*_handles(SCHEMES, line=False), _bound_handle()])
    return figure


def condition(study: Study) -> Figure:
    """Errors in ulp over the condition number, and where real sums lie."""
    figure = _figure(8, 4.6)
    axes = figure.add_subplot()
    lowest, highest = 2.0**-2, 2.0**26
    conditions = np.array([case.condition for case in study.conditioned])
    for scheme in SCHEMES:
        found = np.array([case.errors[scheme.name].worst_ulp for case in study.conditioned])
        shown = np.where(found <= highest, found, np.nan)
        axes.plot(conditions, np.maximum(shown, lowest), **STYLES[scheme.name])
    axes.axhspan(2.0**24, highest, color="#eeeeee", zorder=0)
    axes.annotate(
        "more wrong than a result of 0", (conditions[-1], 2.0**24.5), ha="right", color="#555555"
    )
    for label, height, cases in _real_conditions(study):
        low, high = min(cases), max(cases)
        axes.axvspan(low, high, color="#56B4E9", alpha=0.18, lw=0)
        axes.annotate(label, (math.sqrt(low * high), height), ha="center")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_ylim(lowest, highest)
    axes.set_xlim(2.0**-1, conditions[-1] * 2)
    _powers(axes.xaxis, range(0, 49, 6))
    _powers(axes.yaxis, range(-2, 27, 4))
    terms = study.conditioned[0]
    axes.set_xlabel("condition number, sum|x| / |sum x|")
    axes.set_ylabel(f"largest error in ulp, {terms.sums} sums of {terms.n:,}")
    _legend(figure, _handles(SCHEMES))
    return figure


def gradients(study: Study) -> Figure:
    """Errors of the gradients over the size of a layer."""
    figure = _figure(8, 4.0)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    computed = [SERIAL.name, FOLD.name, TILED, BLOCKED.name, EXACT.name]
    for axes, name in zip(panels, ("d_beta", "d_gamma", "d_x"), strict=True):
        for how in computed:
            rows = [row for row in study.layers if row.computed == how]
            errors = [getattr(row, name) for row in rows]
            axes.plot([row.n for row in rows], errors, **STYLES[how])
        axes.axhline(PROMISE, color="#555555", ls="--", lw=1)
        axes.set_title(name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        _powers(axes.xaxis, range(11, 18, 2))
        _powers(axes.yaxis, range(-27, -17, 2))
    panels[0].set_ylabel("largest error, relative to the scale of its terms")
    figure.supxlabel("elements of a channel, N")
    promise = Line2D([], [], color="#555555", ls="--", lw=1, label="promised")
    handles = [Line2D([], [], **STYLES[how], label=how) for how in computed]
    _legend(figure, [*handles, promise])
    return figure


FIGURES: dict[str, Callable[[Study], Figure]] = {
    f"summation_{function.__name__}.svg": function
    for function in (growth, hard, condition, gradients)
}
"""File names, in the order of the page."""


def _real_conditions(study: Study) -> list[tuple[str, float, list[float]]]:
    """Median condition numbers of real terms, from one channel of the digits layer on.

    Returns
    -------
    Label, the height at which it hides no curve, and the numbers.
    """

    def of(*names: str) -> list[float]:
        lengths = [case for case in study.growth if case.n >= CHANNEL]
        return [case.condition for case in lengths if case.terms in names]

    products = [name for name in GROWTH if name != LABELS["xn"]]
    return [
        ("real dy,\ndy * xn", 2.0**14, of(*products)),
        ("real xn", 2.0**10, of(LABELS["xn"])),
    ]


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasSVG(figure)
    return figure


def _handles(schemes: Iterable[Scheme], *, line: bool = True) -> list[Line2D]:
    style: dict[str, Any] = {} if line else {"ls": ""}
    return [Line2D([], [], **STYLES[s.name], **style, label=s.name) for s in schemes]


def _bound_handle() -> Line2D:
    return Line2D([], [], color="#555555", label="worst-case bound", **BOUND)


def _legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    figure.legend(handles=handles, loc="outside upper center", ncols=4)


def _powers(axis: Any, exponents: Iterable[int]) -> None:
    """Ticks at powers of two, and only there."""
    each = list(exponents)
    axis.set_ticks([2.0**k for k in each], [f"$2^{{{k}}}$" for k in each])
    axis.set_ticks([], minor=True)
