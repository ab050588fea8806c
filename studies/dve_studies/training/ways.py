"""Ways to compute a backward pass on the engine: each differs from plain fp32 in one thing."""

from dataclasses import dataclass

import numpy as np
from dve_golden.batchnorm import Gradients, Layer, backward
from dve_golden.batchnorm.layer import STORAGE_DTYPES, batch_major, channel_major
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Way:
    """What is rounded, and in which order terms are added.

    Parameters
    ----------
    name : str
    storage : str
        Format of x, dy and d_x.
    gradients : str
        Format that dy and d_x are rounded to, whatever x is stored in.
    mean : str
        Format that the mean is saved in for the backward pass; the forward pass has it in fp32.
    mean_coupling : bool
        Correct for the rounding of the mean (batchnorm.md section 8).
    order : int, optional
        Seed of a permutation of the elements of every channel; the order of memory if not given.
    """

    name: str
    storage: str = "fp32"
    gradients: str = "fp32"
    mean: str = "fp32"
    mean_coupling: bool = True
    order: int | None = None

    def __call__(self, layer: Layer) -> Gradients:
        """The gradients of a layer."""
        found = backward(
            self.arranged(rounded(layer.dy, self.gradients)),
            self.arranged(layer.x),
            rounded(layer.mean, self.mean),
            layer.gamma,
            inv_std=layer.inv_std,
            mean_coupling=self.mean_coupling,
            dtype=self.storage,
        )
        d_x = rounded(self._restored(found.d_x, layer.x.shape), self.gradients)
        return found._replace(d_x=d_x)

    def arranged(self, values: Floats) -> Floats:
        """[N, C, ...] in this order: itself, or [elements, C]."""
        if self.order is None:
            return values
        rows = channel_major(values)
        return rows[:, self._permutation(rows.shape[1])].T

    def _restored(self, values: Floats, shape: tuple[int, ...]) -> Floats:
        if self.order is None:
            return values
        rows = np.empty_like(values.T)
        rows[:, self._permutation(len(values))] = values.T
        return batch_major(rows, shape)

    def _permutation(self, elements: int) -> NDArray[np.intp]:
        return np.random.default_rng(self.order).permutation(elements)


def rounded(values: Floats, name: str) -> Floats:
    """Values as a format holds them."""
    return widen(narrow(values, STORAGE_DTYPES[name]), STORAGE_DTYPES[name])


FP32 = Way("fp32")
GRADIENTS = Way("bf16 dy and d_x", gradients="bf16")
STORED = Way("bf16 x, dy and d_x", storage="bf16")
PLAIN = Way("fp32 mean, no coupling", mean_coupling=False)
COARSE = Way("bf16 mean, coupling", mean="bf16")
COARSE_PLAIN = Way("bf16 mean, no coupling", mean="bf16", mean_coupling=False)
ORDERED = Way("fp32, other order", order=0)

WAYS = (FP32, GRADIENTS, STORED, PLAIN, COARSE, COARSE_PLAIN, ORDERED)
"""Those of a backward pass alone."""

FORWARD = Way("fp32, float64 statistics")
"""Where mean and inv_std are float64 in the forward pass, and rounded to fp32 for the backward
pass: what is left is the error of the latter."""
