"""The main job's result as JSON, and as a folder with plots and a page.

Files are returned as bytes; who asked for them writes them.
"""

import json
import math
from dataclasses import asdict
from importlib import metadata
from typing import Any

from dve_cosim.figures import SCALES, log2
from dve_cosim.main_result import GradientErrors, MainResult
from dve_cosim.page import html_page
from dve_cosim.plots import timeline_png, ulp_png


def as_json(result: MainResult, revision: str | None = None) -> bytes:
    """The figures as JSON; a number that is not finite becomes null.

    ``revision`` names the commit of the sources that ran, if it is known.
    """
    shape = result.shape
    document = {
        "version": metadata.version("opendve"),
        "revision": revision,
        "input": {
            "source": result.workload.source,
            "shape": list(shape),
            "channels": shape[1],
            "elements_per_channel": math.prod(shape) // shape[1],
            "dtype": result.dtype.name.lower(),
            "fuse_relu": result.workload.layer.relu is not None,
        },
        "config": asdict(result.config),
        "mean_coupling": result.mean_coupling,
        "coefficients": "engine" if result.on_engine else "host",
        "seed": result.seed,
        "differing_bits": result.differing_bits,
        "first_differences": result.first_differences,
        "instructions": len(result.instructions),
        "cycles": result.cycles,
        "bound_cycles": result.bound_cycles,
        "host_cycles": result.host._asdict(),
        "utilisation": {track: round(share, 4) for track, share in result.utilisation.items()},
        "mix": [share._asdict() for share in result.mix],
        "elements": result.elements,
        "elements_per_lane_cycle": _finite(result.elements_per_lane_cycle),
        "ulp": _ulp_figures(result.errors),
        "relative_error": _relative_figures(result.errors),
        "relative_error_bound_log2": result.workload.bound_log2,
        "framework": {
            "ulp": _ulp_figures(result.framework_errors),
            "relative_error": _relative_figures(result.framework_errors),
        }
        if result.framework_errors
        else None,
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


def _ulp_figures(errors: dict[str, GradientErrors]) -> dict[str, Any]:
    return {
        name: {
            "format": error.dtype.name.lower(),
            "max": _finite(error.max_ulp),
            "p99.9": _finite(error.p999_ulp),
        }
        for name, error in errors.items()
    }


def _relative_figures(errors: dict[str, GradientErrors]) -> dict[str, Any]:
    return {
        name: {
            "relative_to": SCALES[name],
            "max": _finite(error.relative),
            "log2": _finite(log2(error.relative)),
        }
        for name, error in errors.items()
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def report_files(result: MainResult, revision: str | None = None) -> dict[str, bytes]:
    """``report.json``, a histogram per gradient, ``timeline.png`` and ``index.html``, by name."""
    plots = {
        f"ulp_{name}.png": ulp_png(name, errors, result.framework_errors.get(name))
        for name, errors in result.errors.items()
    }
    plots["timeline.png"] = timeline_png(result.instructions)
    page = html_page(result, list(plots))
    return {"report.json": as_json(result, revision), **plots, "index.html": page.encode()}
