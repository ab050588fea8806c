"""What the backward pass of one batch-norm layer starts from, checked, and what it returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.enums import Dtype

STORAGE_DTYPES: Mapping[str, Dtype] = {
    "fp32": Dtype.FP32,
    "bf16": Dtype.BF16,
    "fp16": Dtype.FP16,
}
"""Names of the formats that x, dy and d_x can be stored in."""

INV_STD_AGREEMENT = 1e-5
"""Largest relative difference between inv_std and 1/sqrt(var + eps) where both are given.

Binary32 forward passes differ by a few 2^-24; an unbiased variance, or a forgotten eps, by more.
"""


class Gradients(NamedTuple):
    """Gradients of a layer: d_x [N, C, ...], d_gamma [C] and d_beta [C]."""

    d_x: NDArray
    d_gamma: NDArray
    d_beta: NDArray


@dataclass(frozen=True, eq=False)
class Layer:
    """The checked operands of one backward pass; build it with `from_arrays`.

    Members
    -------
    x, dy : float32 [N, C, ...]
        Activation and gradient, already rounded to ``dtype``.
    mean, inv_std, gamma : float32 [C]
        Saved statistics and scale.
    dtype : Dtype
        Storage format of x, dy and d_x.
    """

    x: NDArray[np.float32]
    dy: NDArray[np.float32]
    mean: NDArray[np.float32]
    inv_std: NDArray[np.float32]
    gamma: NDArray[np.float32]
    dtype: Dtype

    @classmethod
    def from_arrays(
        cls,
        dy: ArrayLike,
        x: ArrayLike,
        mean: ArrayLike,
        gamma: ArrayLike,
        *,
        inv_std: ArrayLike | None = None,
        var: ArrayLike | None = None,
        eps: ArrayLike | None = None,
        dtype: str = "fp32",
    ) -> "Layer":
        """Check the arguments of `dve_golden.batchnorm.backward` and round them to their formats.

        Infinities and NaN in x and dy are allowed and propagate.

        Raises
        ------
        ValueError
            If the dtype is unknown, an array is not numeric, shapes do not match, there is no
            channel or no element, the rank is not 2 to 5, a parameter is not finite, the variance
            is negative, or inv_std, var and eps are missing or contradict each other.
        """
        if not isinstance(dtype, str) or dtype not in STORAGE_DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(STORAGE_DTYPES)}, got {dtype!r}")
        storage = STORAGE_DTYPES[dtype]
        x, dy = _numeric("x", x), _numeric("dy", dy)
        if not 2 <= x.ndim <= 5:
            raise ValueError(f"x must be [N, C, ...] of rank 2 to 5, got shape {x.shape}")
        if x.shape != dy.shape:
            raise ValueError(f"x and dy must have one shape, got {x.shape} and {dy.shape}")
        channels = x.shape[1]
        if channels == 0:
            raise ValueError(f"x has no channels: shape {x.shape}")
        if x.size == 0:
            raise ValueError(f"x has no elements: shape {x.shape}")
        return cls(
            x=_quantize(x, storage),
            dy=_quantize(dy, storage),
            mean=_parameter("mean", mean, channels),
            inv_std=_inverse_deviation(inv_std, var, eps, channels),
            gamma=_parameter("gamma", gamma, channels),
            dtype=storage,
        )

    def arguments(self) -> dict[str, Any]:
        """Arguments of `dve_golden.batchnorm.backward` that describe this layer."""
        names = {dtype: name for name, dtype in STORAGE_DTYPES.items()}
        return {
            "dy": self.dy,
            "x": self.x,
            "mean": self.mean,
            "gamma": self.gamma,
            "inv_std": self.inv_std,
            "dtype": names[self.dtype],
        }

    @property
    def channels(self) -> int:
        return self.x.shape[1]

    @property
    def elements(self) -> int:
        """Elements of one channel, the N of the formulas."""
        return self.x.size // self.channels

    def per_channel(self, values: NDArray) -> NDArray:
        """View [C] values so that they broadcast against x."""
        return values.reshape((-1,) + (1,) * (self.x.ndim - 2))


def channel_major(values: NDArray) -> NDArray:
    """[N, C, ...] to [C, elements]; the elements of a channel keep their order."""
    return np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)


def batch_major(values: NDArray, shape: tuple[int, ...]) -> NDArray:
    """Undo `channel_major`: [C, elements] to [N, C, ...]."""
    return np.moveaxis(values.reshape(shape[1], shape[0], *shape[2:]), 0, 1)


def _numeric(name: str, values: ArrayLike) -> NDArray[np.float32]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from error
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):  # what exceeds binary32 becomes infinity
        return array.astype(np.float32)


def _quantize(values: NDArray[np.float32], dtype: Dtype) -> NDArray[np.float32]:
    with np.errstate(all="ignore"):  # what exceeds the format becomes infinity
        return widen(narrow(values, dtype), dtype)


def _parameter(name: str, values: ArrayLike, channels: int) -> NDArray[np.float32]:
    array = _numeric(name, values)
    if array.shape != (channels,):
        raise ValueError(f"{name} must have shape ({channels},), got {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        given = np.asarray(values)[bad[0]]  # as it was before rounding, which may overflow
        raise ValueError(f"{name} must be finite in binary32, got {given} in channel {bad[0]}")
    return array


def _inverse_deviation(
    inv_std: ArrayLike | None, var: ArrayLike | None, eps: ArrayLike | None, channels: int
) -> NDArray[np.float32]:
    """inv_std as given, or 1/sqrt(var + eps) in float64 rounded once to binary32."""
    given = None if inv_std is None else _parameter("inv_std", inv_std, channels)
    if given is not None:
        bad = np.flatnonzero(given <= 0)
        if bad.size:
            raise ValueError(f"inv_std must be positive, got {given[bad[0]]} in channel {bad[0]}")
        if var is None and eps is None:
            return given
    if var is None or eps is None:
        if given is not None or (var is None and eps is None):
            raise ValueError("give inv_std, or var together with eps")
        raise ValueError(
            f"{'eps' if var is not None else 'var'} is missing: var and eps go together"
        )
    derived = _from_variance(var, eps, channels)
    if given is None:
        return derived
    off = np.abs(given / derived - 1)
    if off.max() > INV_STD_AGREEMENT:
        worst = int(off.argmax())
        raise ValueError(
            f"inv_std contradicts var and eps in channel {worst}: "
            f"{given[worst]} is not 1/sqrt(var + eps) = {derived[worst]}"
        )
    return given


def _from_variance(var: ArrayLike, eps: ArrayLike, channels: int) -> NDArray[np.float32]:
    variance = np.asarray(var)
    if variance.dtype.kind not in "iuf":
        raise ValueError(f"var must hold real numbers, got dtype {variance.dtype}")
    if variance.shape != (channels,):
        raise ValueError(f"var must have shape ({channels},), got {variance.shape}")
    bad = np.flatnonzero(~(np.isfinite(variance) & (variance >= 0)))
    if bad.size:
        raise ValueError(
            f"var must be finite and not negative, got {variance[bad[0]]} in channel {bad[0]}"
        )
    epsilon = np.asarray(eps)
    if epsilon.dtype.kind not in "iuf" or epsilon.size != 1:
        raise ValueError(f"eps must be one number, got {eps!r}")
    addend = float(epsilon.reshape(()))
    if not (np.isfinite(addend) and addend >= 0):
        raise ValueError(f"eps must be finite and not negative, got {addend}")
    total = variance.astype(np.float64) + addend
    with np.errstate(all="ignore"):
        derived = (1 / np.sqrt(total)).astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(derived) & (derived > 0)))
    if bad.size:
        raise ValueError(
            f"var + eps is {total[bad[0]]} in channel {bad[0]}: binary32 holds no such inv_std"
        )
    return derived
