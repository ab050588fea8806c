"""Training runs with the same seed beside each other, and beside PyTorch's own batch norm."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from dve_golden.batchnorm import Engine, GoldenEngine
from numpy.typing import NDArray

from dve_torch.backends import Backend, EngineBackend
from dve_torch.training import BATCH, Run, train

TORCH, GOLDEN, GOLDEN_BF16, RTL = "torch", "golden_fp32", "golden_bf16", "rtl_fp32"

LABELS = {
    TORCH: "PyTorch",
    GOLDEN: "golden, fp32",
    GOLDEN_BF16: "golden, bf16",
    RTL: "RTL, fp32",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs by their name, in the order of `LABELS`; that of the RTL may be missing or shorter.

    Parameters
    ----------
    seed : int
    runs : dict of str to Run
    """

    seed: int
    runs: dict[str, Run]

    def deviation(self, name: str) -> NDArray[np.float64]:
        """Largest difference of a parameter from that of PyTorch's run, after each step."""
        found, own = self.runs[name].parameters, self.runs[TORCH].parameters
        return np.abs(found.astype(np.float64) - own[: len(found)]).max(axis=1)

    @property
    def batch(self) -> int:
        """Digits of a step."""
        return BATCH

    @property
    def differing_bits(self) -> int:
        """Of RTL and golden: in the losses and the parameters of all steps."""
        if RTL not in self.runs:
            return 0
        rtl, golden = self.runs[RTL], self.runs[GOLDEN]
        return sum(
            int(np.bitwise_count(got.view(np.uint32) ^ want[: rtl.steps].view(np.uint32)).sum())
            for got, want in ((rtl.loss, golden.loss), (rtl.parameters, golden.parameters))
        )

    def report(self) -> dict[str, Any]:
        """Everything but the parameters, for JSON."""
        return {
            "seed": self.seed,
            "batch": self.batch,
            "differing_bits": self.differing_bits,
            "versions": {"torch": torch.__version__, "numpy": np.__version__},
            "machine": platform.machine(),
            "training": {
                name: {
                    "label": LABELS[name],
                    "steps": run.steps,
                    "seconds": round(run.seconds, 2),
                    "loss": run.loss.tolist(),
                    "accuracy": run.accuracy.tolist(),
                    "deviation": self.deviation(name).tolist(),
                }
                for name, run in self.runs.items()
            },
        }


def compare(
    steps: int,
    *,
    seed: int = 0,
    rtl: Engine | None = None,
    rtl_steps: int = 0,
    progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Comparison:
    """Train with PyTorch's own batch norm, with golden in fp32 and bf16, and with the RTL.

    Parameters
    ----------
    steps : int
        At least 1.
    seed : int
    rtl : Engine, optional
        What runs in the simulator; needed if there are steps for it.
    rtl_steps : int
        At most ``steps``.
    progress : callable
        Told of the name of a run, the steps done, and all its steps.

    Raises
    ------
    CosimError
        If the simulator cannot be built or fails.
    """

    def golden() -> GoldenEngine:
        # The size of the memory decides how sums are cut into tiles.
        return GoldenEngine() if rtl is None else GoldenEngine(sbuf_bytes=rtl.sbuf_bytes)

    chosen: list[tuple[str, int, Backend | None]] = [
        (TORCH, steps, None),
        (GOLDEN, steps, EngineBackend(golden())),
        (GOLDEN_BF16, steps, EngineBackend(golden(), dtype="bf16")),
    ]
    if rtl is not None and rtl_steps:
        chosen.append((RTL, rtl_steps, EngineBackend(rtl)))
    runs = {
        name: train(
            length,
            seed=seed,
            backend=backend,
            progress=lambda done, total, name=name: progress(LABELS[name], done, total),
        )
        for name, length, backend in chosen
    }
    return Comparison(seed, runs)
