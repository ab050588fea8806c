"""Plots of the main job's result, as PNG files in memory.

matplotlib is loaded by the first plot, not by this module.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dve_cosim.figures import short
from dve_cosim.main_result import Executed, GradientErrors

LOWEST_OCTAVE = -4
"""Errors below 2^-4 ulp share a bin of the histogram."""

_BAR, _EDGE, _OUTLINE = "#3b6ea5", "#1f3f63", "#c4501b"
_DPI = 120


def ulp_png(name: str, errors: GradientErrors, framework: GradientErrors | None = None) -> bytes:
    """Histogram of the ulp errors over powers of two; those of ``framework`` as an outline."""
    shown = [errors] if framework is None else [errors, framework]
    labels, counts = ulp_histogram([each.ulp.ravel() for each in shown])
    figure, axes = _figure(4.0)
    places = np.arange(len(labels))
    axes.bar(places, counts[0], width=0.9, color=_BAR, label="engine")
    if framework is not None:
        axes.stairs(
            counts[1], np.arange(len(labels) + 1) - 0.5, color=_OUTLINE, label="framework, fp32"
        )
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    axes.set_xticks(places, labels)
    stride = -(-len(labels) // 16)
    for place, tick in enumerate(axes.get_xticklabels()):
        tick.set_visible(place % stride == 0)
    if max(map(max, counts)) > 100:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    else:
        axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"error in ulp of {errors.dtype.name.lower()} (bin: from this value up)")
    axes.set_ylabel("elements")
    axes.set_title(
        f"{name}: {errors.ulp.size:,} elements against float64; "
        f"max {short(errors.max_ulp)} ulp, 99.9 % within {short(errors.p999_ulp)}"
    )
    return _png(figure)


def ulp_histogram(samples: Sequence[NDArray[np.float64]]) -> tuple[list[str], list[list[int]]]:
    """Counts by power of two, with bins that all samples share.

    Returns
    -------
    labels : list of str
        Bin of exact results, of those below the lowest octave, one per octave, and of infinite
        errors if there is one.
    counts : list of list of int
        One list per sample.
    """
    octaves = [
        np.frexp(ulp[np.isfinite(ulp) & (ulp > 0)])[1].astype(np.int64) - 1 for ulp in samples
    ]
    highest = max(int(each.max(initial=LOWEST_OCTAVE)) for each in octaves)
    bins = range(LOWEST_OCTAVE, highest + 1)
    powers = [f"$2^{{{exponent}}}$" for exponent in bins]
    labels = ["exact", f"<{powers[0]}", *powers]
    counts = [
        [
            int((ulp == 0).sum()),
            int((exponents < LOWEST_OCTAVE).sum()),
            *(int((exponents == exponent).sum()) for exponent in bins),
        ]
        for ulp, exponents in zip(samples, octaves, strict=True)
    ]
    infinite = [int(np.isinf(ulp).sum()) for ulp in samples]
    if any(infinite):
        labels.append("inf")
        counts = [[*each, last] for each, last in zip(counts, infinite, strict=True)]
    return labels, counts


def timeline_png(instructions: list[Executed]) -> bytes:
    """Which instruction ran when: one row per mnemonic, completion cycles laid end to end."""
    names = list(dict.fromkeys(instruction.name for instruction in instructions))
    spans: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    now = 0
    for instruction in instructions:
        spans[instruction.name].append((now, instruction.cycles))
        now += instruction.cycles
    figure, axes = _figure(1.4 + 0.6 * len(names))
    for row, name in enumerate(names):
        axes.broken_barh(
            spans[name],
            (row - 0.35, 0.7),
            facecolors=_BAR,
            edgecolors=_EDGE,
            linewidth=0.8,  # keeps an instruction of a few cycles visible
        )
    axes.set_yticks(
        range(len(names)),
        [
            f"{name}\n{len(spans[name]):,} x, {sum(n for _, n in spans[name]):,} cycles"
            for name in names
        ],
    )
    axes.invert_yaxis()
    axes.set_xlim(0, max(now, 1))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_xlabel("clock cycles")
    axes.set_title(f"{len(instructions):,} instructions in {now:,} cycles")
    return _png(figure)


def _figure(height: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()
