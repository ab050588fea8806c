"""The curves of a comparison as a picture in memory.

Colours are those of Okabe and Ito (2008), which most colour-blind readers can tell apart.
"""

from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dve_torch.comparison import GOLDEN, GOLDEN_BF16, LABELS, RTL, TORCH, Comparison

FORMATS = ("png", "svg")

STYLES: dict[str, dict[str, Any]] = {
    TORCH: {"color": "#000000", "lw": 3, "alpha": 0.35},
    GOLDEN: {"color": "#0072B2", "lw": 1.2},
    GOLDEN_BF16: {"color": "#D55E00", "lw": 1.2, "ls": "--"},
    RTL: {"color": "#009E73", "ls": "none", "marker": "o", "ms": 4, "mfc": "none"},
}

_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "train",  # the same curves give the same bytes
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def curves(comparison: Comparison, form: str) -> bytes:
    """Loss, held-out accuracy, and deviation from PyTorch's run, over the steps.

    Parameters
    ----------
    comparison : Comparison
    form : str
        One of `FORMATS`.
    """
    with rc_context(_SETTINGS):
        figure = Figure(figsize=(8, 8), layout="constrained")
        FigureCanvasAgg(figure)
        loss, accuracy, deviation = figure.subplots(3, sharex=True)
        for name, run in comparison.runs.items():
            steps = np.arange(1, run.steps + 1)
            style = {**STYLES[name], "label": LABELS[name]}
            off = comparison.deviation(name)
            loss.plot(steps, run.loss, **style)
            accuracy.plot(steps, 100 * run.accuracy, **style)
            if off.any():  # PyTorch's is 0, of which there is no logarithm
                deviation.plot(steps, off, **style)
                deviation.set_yscale("log")
        loss.set(ylabel="loss of the batch", yscale="log")
        accuracy.set(ylabel="held-out digits recognised, %")
        deviation.set(ylabel="largest deviation of a parameter\nfrom PyTorch's run", xlabel="step")
        figure.legend(*loss.get_legend_handles_labels(), loc="outside lower center", ncols=4)
        buffer = BytesIO()
        dated = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(buffer, format=form, dpi=120, metadata=dated)
    return buffer.getvalue()
