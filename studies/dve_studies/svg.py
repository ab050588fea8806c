"""Figures as SVG text: the same figure gives the same bytes, on other processors as well."""

import re
from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

PROMISE = 2.0**-21
"""Largest relative error of a gradient that the engine promises; figures have a line there."""


def settings(study: str, *, linewidth: float) -> dict[Any, Any]:
    """Those of matplotlib for the figures of a study."""
    return {
        "svg.hashsalt": study,  # identifiers inside the file are hashes
        "svg.fonttype": "path",  # looks alike without our font
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": linewidth,
        "lines.markersize": 4.5,
        "legend.frameon": False,
    }


def svg(figure: Figure) -> bytes:
    """The file of a figure, drawn while its settings hold."""
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    # Hundredths of a point are enough, and last digits may differ between processors.
    return _COORDINATES.sub(_shortened, buffer.getvalue())


_COORDINATES = re.compile(rb'\b(?:d|x|y)="[^"]*"')


def _shortened(attribute: re.Match[bytes]) -> bytes:
    return re.sub(rb"-?\d+\.\d+", lambda n: b"%g" % round(float(n[0]), 2), attribute[0])
