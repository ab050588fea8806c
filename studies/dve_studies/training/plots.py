"""The figures of the page, as SVG. The same measurements give the same bytes.

Colours are those of Okabe and Ito (2008), which most colour-blind readers can tell apart; a marker
or a dash of its own says the same again.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dve_studies.svg import PROMISE, settings, svg
from dve_studies.training.results import Study
from dve_studies.training.ways import (
    COARSE,
    COARSE_PLAIN,
    FORWARD,
    FP32,
    GRADIENTS,
    ORDERED,
    PLAIN,
    STORED,
    WAYS,
    Way,
)

SETTINGS = settings("training", linewidth=1.3)

STYLES: dict[str, dict[str, Any]] = {
    FP32.name: {"color": "#0072B2", "marker": "o"},
    GRADIENTS.name: {"color": "#E69F00", "marker": "s"},
    STORED.name: {"color": "#D55E00", "marker": "v"},
    PLAIN.name: {"color": "#56B4E9", "marker": "P", "ls": "--"},
    COARSE.name: {"color": "#009E73", "marker": "^"},
    COARSE_PLAIN.name: {"color": "#CC79A7", "marker": "D"},
    ORDERED.name: {"color": "#000000", "marker": "x", "ls": ":"},
    FORWARD.name: {"color": "#0072B2", "marker": "", "ls": "-."},
}


def figures(study: Study) -> dict[str, bytes]:
    """Every figure by its file name."""
    with rc_context(SETTINGS):
        return {name: svg(draw(study)) for name, draw in FIGURES.items()}


def gradients(study: Study) -> Figure:
    """Errors of d_x and d_gamma over the distance of the mean from zero."""
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    moved = list(dict.fromkeys(each.deviations for each in study.errors))
    for axes, name in zip(panels, ("d_x", "d_gamma"), strict=True):
        for way in WAYS:
            found = [getattr(each, name) for each in study.errors if each.way == way.name]
            axes.plot(range(len(moved)), found, **STYLES[way.name])
        axes.axhline(PROMISE, color="#555555", ls="--", lw=1)
        axes.set_title(name)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_ticks([], minor=True)
        axes.set_xticks(range(len(moved)), [f"+{far:g}" for far in moved])
    powers = range(-24, 1, 4)
    panels[0].set_yticks([2.0**k for k in powers], [f"$2^{{{k}}}$" for k in powers])
    panels[0].set_ylabel("largest error, relative to the scale of its terms")
    figure.supxlabel("standard deviations by which the mean was moved")
    promise = Line2D([], [], color="#555555", ls="--", lw=1, label="promised")
    _legend(figure, WAYS, [promise])
    return figure


def training(study: Study) -> Figure:
    """Loss, and deviation of the parameters from float64, over the steps."""
    biases = list(dict.fromkeys(each.bias for each in study.training))
    figure = Figure(figsize=(8, 6), layout="constrained")
    panels = figure.subplots(2, len(biases), sharex=True, sharey="row")
    for column, bias in enumerate(biases):
        runs = [each for each in study.training if each.bias == bias]
        loss, deviation = panels[:, column]
        loss.set_title(f"bias {bias:g}, mean/std {runs[0].deviations:.3g}")
        for each in runs:
            steps = np.arange(1, len(each.loss) + 1)
            style = {**STYLES.get(each.way, {"color": "#999999"}), "marker": ""}
            loss.plot(steps, each.loss, **style)
            if each.way in STYLES:
                deviation.plot(steps, each.deviation, **style)
        loss.set_yscale("log")
        deviation.set_yscale("log")
        deviation.set_xlabel("step")
    panels[0, 0].set_ylabel("loss, geometric mean over the seeds")
    panels[1, 0].set_ylabel("largest deviation of a parameter\nfrom batch norm in float64")
    exact = Line2D([], [], color="#999999", label="float64")
    _legend(figure, (*WAYS, FORWARD), [exact], marker="")
    return figure


FIGURES: dict[str, Callable[[Study], Figure]] = {
    f"training_{function.__name__}.svg": function for function in (gradients, training)
}


def _legend(figure: Figure, ways: Iterable[Way], more: list[Line2D], **style: Any) -> None:
    handles = [Line2D([], [], **{**STYLES[way.name], **style}, label=way.name) for way in ways]
    figure.legend(handles=[*handles, *more], loc="outside upper center", ncols=3)
