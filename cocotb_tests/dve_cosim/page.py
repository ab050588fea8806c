"""The main job's result as one HTML page; it needs nothing but the files beside it."""

import html
from collections.abc import Iterable
from importlib import metadata

from dve_cosim.figures import SCALES, error_rows, power, short, timed_steps
from dve_cosim.main_result import MainResult

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { text-align: left; padding: .25rem 1.5rem .25rem 0; border-bottom: 1px solid #ddd }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0 }
.bad { color: #b00020 }
"""


def html_page(result: MainResult, plots: list[str]) -> str:
    """The page, which shows the image files ``plots`` of its own folder."""
    verdict = (
        "RTL and golden model agree in every bit of the architectural state."
        if result.differing_bits == 0
        else f"{result.differing_bits:,} bits differ between RTL and golden model."
    )
    config = result.config
    shape = " x ".join(map(str, result.shape))
    figures = [
        ("layer", f"{result.workload.source}: {shape}, {result.dtype.name.lower()}"),
        (
            "engine",
            f"{config.lanes} lanes, {config.sbuf_bytes // 1024} + {config.psum_bytes // 1024} KiB "
            "per partition",
        ),
        ("mean coupling", "yes" if result.mean_coupling else "no"),
        ("coefficients", "on the engine" if result.on_engine else "on the host"),
        ("stream pauses", f"seed {result.seed}" if result.seed else "none"),
        ("instructions", f"{len(result.instructions):,}"),
        ("cycles", f"{result.cycles:,}"),
        ("elements per lane and cycle", f"{result.elements_per_lane_cycle:.4f}"),
        ("share of the bound of two passes", f"{result.bound_cycles / result.cycles:.4f}"),
        ("differing bits", f"{result.differing_bits:,}"),
    ]
    mix = [
        (share.name, f"{share.count:,}", f"{share.cycles:,}", f"{share.cycles / result.cycles:.1%}")
        for share in result.mix
    ]
    units = [(track, f"{share:.1%}") for track, share in result.utilisation.items()]
    gradients = [
        (
            label,
            errors.dtype.name.lower(),
            short(errors.max_ulp),
            short(errors.p999_ulp),
            f"{power(errors.relative)} of {SCALES[name]}",
        )
        for label, name, errors in error_rows(result)
    ]
    seconds = [(label, f"{result.seconds[key]:.3f}") for key, label in timed_steps(result)]
    different = "".join(
        f"<p><code>{html.escape(line)}</code></p>\n" for line in result.first_differences
    )
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
{different}{_html_table(("", ""), figures)}
<h2>Instructions</h2>
{_html_table(("instruction", "number", "cycles", "share of cycles"), mix)}
{_html_table(("busy", "share of cycles"), units)}
<h2>Gradients against float64</h2>
{_html_table(("gradient", "ulp of", "max ulp", "99.9 % ulp", "largest relative error"), gradients)}
<h2>Wall time</h2>
{_html_table(("step", "seconds"), seconds)}
<h2>Plots</h2>
{images}
<p>All figures: <a href="report.json">report.json</a>. OpenDVE {metadata.version("opendve")}.</p>
</html>
"""


def _html_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["<table>"]
    if any(head):
        lines.append("<tr>" + "".join(f"<th>{html.escape(cell)}" for cell in head))
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row))
    return "\n".join([*lines, "</table>"])
