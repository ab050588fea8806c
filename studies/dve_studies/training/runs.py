"""The network on the digits, trained in every way; needs PyTorch."""

from collections.abc import Iterable

import numpy as np
import torch
from dve_cosim.progress import Progress, silent
from dve_golden.batchnorm import GoldenEngine, Layer
from dve_torch import Backend, EngineBackend, Float64
from dve_torch.backends import Gradients, Statistics
from dve_torch.digits import DigitsNet
from dve_torch.training import BATCH, TRAINED, Run, train
from torch import Tensor, nn

from dve_studies.training.results import Training
from dve_studies.training.ways import (
    COARSE,
    COARSE_PLAIN,
    FORWARD,
    FP32,
    PLAIN,
    WAYS,
    Way,
)

STEPS = 150
SEEDS = 5
EPOCH = TRAINED // BATCH

FLOAT64 = "float64"
"""Name of the runs that the others are compared with: batch norm in float64."""

BIASES: dict[float, tuple[Way, ...]] = {
    0: (*WAYS, FORWARD),
    10: (FP32, PLAIN, COARSE, COARSE_PLAIN, FORWARD),
    100: (FP32, PLAIN, COARSE, COARSE_PLAIN, FORWARD),
}
"""What is trained: all ways on the network as it is, those of the mean where it is far from 0."""


class WayBackend(EngineBackend):
    """Golden in one of the ways."""

    def __init__(self, way: Way) -> None:
        super().__init__(GoldenEngine(), dtype=way.storage)
        self._way = way

    def statistics(self, x: Tensor, eps: float) -> Statistics:
        arranged = np.ascontiguousarray(self._way.arranged(x.numpy()))
        return super().statistics(torch.from_numpy(arranged), eps)

    def gradients(self, dy: Tensor, x: Tensor, found: Statistics, gamma: Tensor) -> Gradients:
        layer = Layer.from_arrays(
            dy.numpy(),
            x.numpy(),
            found.mean.numpy(),
            gamma.numpy(),
            inv_std=found.inv_std.numpy(),
            dtype=self._way.storage,
        )
        return Gradients(
            *(torch.from_numpy(np.ascontiguousarray(each)) for each in self._way(layer))
        )


class ExactForward(WayBackend):
    """Gradients by golden, of statistics in float64."""

    def statistics(self, x: Tensor, eps: float) -> Statistics:
        return Float64().statistics(x.double(), eps)

    def gradients(self, dy: Tensor, x: Tensor, found: Statistics, gamma: Tensor) -> Gradients:
        return super().gradients(dy, x, Statistics(*(each.float() for each in found)), gamma)


class Watching(Float64):
    """The oracle; keeps |mean| / std of every channel that it saw."""

    def __init__(self) -> None:
        self.deviations: list[Tensor] = []

    def statistics(self, x: Tensor, eps: float) -> Statistics:
        found = super().statistics(x, eps)
        self.deviations.append((found.mean / found.var.sqrt()).abs())
        return found


def biased(bias: float) -> nn.Module:
    """The network with means that are far from zero; batch norm takes the biases away again."""
    net = DigitsNet()
    with torch.no_grad():
        for layer in (net.conv1, net.conv2):
            assert layer.bias is not None
            layer.bias += bias
    return net


def training(
    steps: int = STEPS,
    seeds: int = SEEDS,
    biases: Iterable[float] = BIASES,
    progress: Progress = silent,
) -> list[Training]:
    """Train in every way, from every seed."""
    plan = [(bias, way) for bias in biases for way in (None, *BIASES[bias])]
    found: list[Training] = []
    exact: list[Run] = []
    deviations = 0.0
    for done, (bias, way) in enumerate(plan):
        progress("training", done, len(plan))
        backends = [_backend(way) for _ in range(seeds)]
        runs = [
            train(steps, seed=seed, backend=backend, make=lambda bias=bias: biased(bias))
            for seed, backend in enumerate(backends)
        ]
        if way is None:
            exact = runs
            layers = [
                layer
                for backend in backends
                if isinstance(backend, Watching)
                for layer in backend.deviations[:2]
            ]
            deviations = float(torch.cat(layers).median())
        found.append(_summary(way.name if way else FLOAT64, bias, deviations, runs, exact))
    progress("training", len(plan), len(plan))
    return found


def _backend(way: Way | None) -> Backend:
    if way is None:
        return Watching()
    return ExactForward(way) if way is FORWARD else WayBackend(way)


def _summary(
    name: str, bias: float, deviations: float, runs: list[Run], exact: list[Run]
) -> Training:
    losses = np.array([run.loss for run in runs], np.float64)
    off = [
        np.abs(run.parameters.astype(np.float64) - own.parameters).max(axis=1)
        for run, own in zip(runs, exact, strict=True)
    ]
    return Training(
        name,
        bias,
        deviations,
        loss=np.exp(np.log(losses).mean(axis=0)).tolist(),
        last_loss=float(losses[:, -EPOCH:].mean()),
        accuracy=[float(run.accuracy[-1]) for run in runs],
        deviation=np.max(off, axis=0).tolist(),
    )
