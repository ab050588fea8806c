"""Figures as SVG text: the same figure gives the same bytes, on other processors as well."""

import re
from io import BytesIO

from matplotlib.figure import Figure


def svg(figure: Figure) -> bytes:
    """The file of a figure, drawn while its settings hold."""
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    # Hundredths of a point are enough, and last digits may differ between processors.
    return _COORDINATES.sub(_shortened, buffer.getvalue())


_COORDINATES = re.compile(rb'\b(?:d|x|y)="[^"]*"')


def _shortened(attribute: re.Match[bytes]) -> bytes:
    return re.sub(rb"-?\d+\.\d+", lambda n: b"%g" % round(float(n[0]), 2), attribute[0])
