"""Layers on which the naive form of the backward pass loses digits."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from dve_golden.batchnorm import Layer

DEVIATIONS = (0, 1, 5, 20, 100, 1000, 10_000)
"""|mean| / std."""

COUNTS = (2, 3, 7, 64, 1000, 32_768, 1_000_000)
"""N, elements of a channel."""

GAMMAS = (1e-3, 1e3)

TYPICAL = 4096
"""N where it is not what varies."""

LONG_TILE = 8000
"""Almost the longest channel that one GradAccum sums in 64 KiB: the fold at its worst."""

EPS = 1e-5

_CHANNEL_ELEMENTS = 1 << 17
"""Short channels are drawn so often that a case has about this many elements, up to 128."""


@dataclass(frozen=True)
class Case:
    """What is drawn.

    Parameters
    ----------
    name : str
    count : int
        Elements of a channel.
    deviations : float
        Mean of x over its standard deviation, which is 1, or 0 for a constant x.
    gamma : float
        Scale, of either sign.
    dtype : str
        Storage of x, dy and d_x.
    constant : bool
        All elements of a channel are equal: the variance is 0.
    bias : float
        Mean of dy over its standard deviation, which is 1.
    """

    name: str
    count: int = TYPICAL
    deviations: float = 1
    gamma: float = 1
    dtype: str = "fp32"
    constant: bool = False
    bias: float = 0

    @property
    def channels(self) -> int:
        return int(np.clip(_CHANNEL_ELEMENTS // self.count, 2, 128))

    def layer(self) -> Layer:
        """The layer, from a seed of its own; mean and inv_std are those of the stored x, rounded
        once to binary32."""
        rng = np.random.default_rng([self.count, int(self.deviations), self.constant])
        shape = self.count, self.channels
        spread = np.zeros(shape) if self.constant else rng.standard_normal(shape)
        x = (spread + self.deviations).astype(np.float32)
        dy = (rng.standard_normal(shape) + self.bias).astype(np.float32)
        gamma = self.gamma * rng.choice([-1, 1], self.channels)
        operands = {"gamma": gamma, "dtype": self.dtype}
        neutral = np.zeros(self.channels)
        stored = Layer.from_arrays(dy, x, neutral, inv_std=neutral + 1, **operands).x
        exact = stored.astype(np.float64)
        return Layer.from_arrays(
            dy, x, exact.mean(axis=0), var=exact.var(axis=0), eps=EPS, **operands
        )


def cases(longest: int = COUNTS[-1]) -> Iterator[Case]:
    """All cases whose channels have at most ``longest`` elements."""
    for deviations in DEVIATIONS:
        yield Case(f"mean/std {deviations:,}", deviations=deviations)
    for gamma in GAMMAS:
        yield Case(f"gamma {gamma:g}", gamma=gamma)
    for count in COUNTS:
        if count <= longest:
            yield Case(f"N = {count:,}", count)
    for count in COUNTS:
        if count <= longest:
            yield Case(f"N = {count:,}, mean/std 10,000", count, 10_000)
    yield Case("mean/std of dy 5", bias=5)
    for count, bias in ((LONG_TILE, 10_000), (COUNTS[-1], 5)):
        if count <= longest:
            yield Case(f"N = {count:,}, mean/std of dy {bias:,}", count, bias=bias)
    yield Case("variance 0, eps 1e-5", deviations=3, constant=True)
    yield Case("bf16 x, dy and d_x", dtype="bf16")
    yield Case("bf16 x, dy and d_x, mean/std 20", deviations=20, dtype="bf16")
