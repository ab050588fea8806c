"""The main job's result as JSON and as a page with plots.

Files are returned as bytes; who asked for them writes them. matplotlib is loaded only here, and
only for plots.
"""

import html
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from importlib import metadata
from io import BytesIO
from typing import Any

import numpy as np

from dve_cosim.main_job import Executed, GradientErrors, JobResult

BOUND_LOG2 = -21
"""Largest relative error of fp32 gradients, as a power of two, that the default layer keeps."""

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
"""Steps of ``JobResult.seconds`` in the order of a table, and how they are called there."""

_BAR = "#3b6ea5"
_TRACK = {"bar": "#3b6ea5", "edge": "#1f3f63"}
_DPI = 120


def as_json(result: JobResult, *, source: str) -> bytes:
    """The figures as JSON; a number that is not finite becomes null.

    Parameters
    ----------
    result : JobResult
    source : str
        Where the operands came from.
    """
    shape = result.shape
    document = {
        "version": metadata.version("opendve"),
        "input": {
            "source": source,
            "shape": list(shape),
            "channels": shape[1],
            "elements_per_channel": math.prod(shape) // shape[1],
            "dtype": result.dtype.name.lower(),
        },
        "config": asdict(result.config),
        "mean_coupling": result.mean_coupling,
        "seed": result.seed,
        "differing_bits": result.differing_bits,
        "first_differences": result.first_differences,
        "instructions": len(result.instructions),
        "cycles": result.cycles,
        "elements": result.elements,
        "elements_per_lane_cycle": _finite(result.elements_per_lane_cycle),
        "ulp": {
            name: {
                "format": errors.dtype.name.lower(),
                "max": _finite(errors.max_ulp),
                "p99.9": _finite(errors.p999_ulp),
            }
            for name, errors in result.errors.items()
        },
        "relative_error": {
            name: {
                "relative_to": SCALES[name],
                "max": _finite(errors.relative),
                "log2": _finite(log2(errors.relative)),
            }
            for name, errors in result.errors.items()
        },
        "seconds": result.seconds,
        "timeline": [
            {
                "batch": instruction.batch,
                "name": instruction.name,
                "opcode": int(instruction.opcode),
                "reason": instruction.reason,
                "cycles": instruction.cycles,
            }
            for instruction in result.instructions
        ],
    }
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def log2(value: float) -> float:
    """Binary logarithm, minus infinity of 0."""
    return math.log2(value) if value > 0 else -math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def report_files(result: JobResult, *, source: str) -> dict[str, bytes]:
    """``report.json``, a histogram per gradient, ``timeline.png`` and ``index.html``, by name."""
    plots = {f"ulp_{name}.png": ulp_png(name, errors) for name, errors in result.errors.items()}
    plots["timeline.png"] = timeline_png(result.instructions)
    page = _page(result, source, list(plots))
    return {"report.json": as_json(result, source=source), **plots, "index.html": page.encode()}


def ulp_png(name: str, errors: GradientErrors) -> bytes:
    """Histogram of the ulp errors over powers of two."""
    labels, counts = _octaves(errors.ulp.ravel())
    figure, axes = _figure(4.0)
    places = np.arange(len(counts))
    axes.bar(places, counts, width=0.9, color=_BAR)
    axes.set_xticks(places, labels)
    stride = -(-len(labels) // 16)
    for place, tick in enumerate(axes.get_xticklabels()):
        tick.set_visible(place % stride == 0)
    if max(counts) > 100:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    else:
        axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"error in ulp of {errors.dtype.name.lower()} (bin: from this value up)")
    axes.set_ylabel("elements")
    axes.set_title(
        f"{name}: {errors.ulp.size:,} elements against float64; "
        f"max {short(errors.max_ulp)}, 99.9 % {short(errors.p999_ulp)} ulp"
    )
    return _png(figure)


def _octaves(ulp: np.ndarray) -> tuple[list[str], list[int]]:
    """Counts by power of two: exact results first, then up to 1/16, ..., infinite ones last."""
    lowest = -4
    finite = ulp[np.isfinite(ulp) & (ulp > 0)]
    exponents = np.maximum(np.floor(np.log2(finite)).astype(int), lowest - 1)
    highest = max(exponents.max(initial=lowest), lowest)
    labels = ["exact", f"<$2^{{{lowest}}}$"]
    counts = [int((ulp == 0).sum()), int((exponents < lowest).sum())]
    for exponent in range(lowest, highest + 1):
        labels.append(f"$2^{{{exponent}}}$")
        counts.append(int((exponents == exponent).sum()))
    if infinite := int(np.isinf(ulp).sum()):
        labels.append("inf")
        counts.append(infinite)
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
            facecolors=_TRACK["bar"],
            edgecolors=_TRACK["edge"],
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


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { text-align: left; padding: .25rem 1.5rem .25rem 0; border-bottom: 1px solid #ddd }
td.number { text-align: right; font-variant-numeric: tabular-nums }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0 }
.bad { color: #b00020 }
"""


def _page(result: JobResult, source: str, plots: list[str]) -> str:
    verdict = (
        "RTL and golden model agree in every bit of the architectural state."
        if result.differing_bits == 0
        else f"{result.differing_bits:,} bits differ between RTL and golden model."
    )
    config = result.config
    figures = [
        ("operands", f"{source}: {' x '.join(map(str, result.shape))}, {result.dtype.name}"),
        (
            "engine",
            f"{config.lanes} lanes, {config.sbuf_bytes // 1024} + {config.psum_bytes // 1024} KiB "
            "per partition",
        ),
        ("mean coupling", "yes" if result.mean_coupling else "no"),
        ("stream pauses", f"seed {result.seed}" if result.seed else "none"),
        ("instructions", f"{len(result.instructions):,}"),
        ("cycles", f"{result.cycles:,}"),
        ("elements per lane and cycle", f"{result.elements_per_lane_cycle:.4f}"),
        ("differing bits", f"{result.differing_bits:,}"),
    ]
    gradients = [
        (
            name,
            errors.dtype.name,
            short(errors.max_ulp),
            short(errors.p999_ulp),
            f"{power(errors.relative)} of {SCALES[name]}",
        )
        for name, errors in result.errors.items()
    ]
    seconds = [(label, f"{result.seconds[key]:.3f}") for key, label in timed_steps(result)]
    different = "".join(f"<li><code>{html.escape(d)}</code>" for d in result.first_differences)
    css = "" if result.differing_bits == 0 else ' class="bad"'
    images = "\n".join(
        f'<img src="{name}" alt="{name.removesuffix(".png").replace("_", " ", 1)}">'
        for name in plots
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>OpenDVE co-simulation</title>
<style>{_STYLE}</style>
<h1>Batch-norm backward, RTL against golden</h1>
<p{css}><strong>{verdict}</strong></p>
<ul>{different}</ul>
{_html_table(("", ""), figures)}
<h2>Gradients against float64</h2>
{_html_table(("gradient", "ulp of", "max ulp", "99.9 % ulp", "largest relative error"), gradients)}
<h2>Wall time</h2>
{_html_table(("step", "seconds"), seconds)}
<h2>Plots</h2>
{images}
<p>All figures: <a href="report.json">report.json</a>. OpenDVE {metadata.version("opendve")}.</p>
</html>
"""


def timed_steps(result: JobResult) -> Iterable[tuple[str, str]]:
    """Keys of ``result.seconds`` with their names, in the order of a table."""
    return ((key, label) for key, label in STEPS.items() if key in result.seconds)


def _html_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["<table>"]
    if any(head):
        lines.append("<tr>" + "".join(f"<th>{html.escape(cell)}" for cell in head))
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row))
    return "\n".join([*lines, "</table>"])
