"""What the backward pass of one batch-norm layer starts from, checked, and what it returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dve_golden.batchnorm.operands import inverse_deviation, numeric, parameter
from dve_golden.batchnorm.relu import Relu
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.enums import Dtype

STORAGE_DTYPES: Mapping[str, Dtype] = {
    "fp32": Dtype.FP32,
    "bf16": Dtype.BF16,
    "fp16": Dtype.FP16,
}
"""Names of the formats that x, dy and d_x can be stored in."""


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
    relu : Relu, optional
        The rectifier that follows the layer in the forward pass.
    """

    x: NDArray[np.float32]
    dy: NDArray[np.float32]
    mean: NDArray[np.float32]
    inv_std: NDArray[np.float32]
    gamma: NDArray[np.float32]
    dtype: Dtype
    relu: Relu | None = None

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
        fuse_relu: bool = False,
        relu_mask: ArrayLike | None = None,
        beta: ArrayLike | None = None,
    ) -> "Layer":
        """Check the arguments of `dve_golden.batchnorm.backward` and round them to their formats.

        Infinities and NaN in x and dy are allowed and propagate.

        Raises
        ------
        ValueError
            If the dtype is unknown, an array is not numeric, shapes do not match, there is no
            channel or no element, the rank is not 2 to 5, a parameter is not finite, the variance
            is negative, inv_std, var and eps are missing or contradict each other, or a fused
            rectifier has neither a mask nor beta, or a mask that is none.
        """
        storage = storage_dtype(dtype)
        x, dy = activation(x, storage), numeric("dy", dy)
        if x.shape != dy.shape:
            raise ValueError(f"x and dy must have one shape, got {x.shape} and {dy.shape}")
        channels = x.shape[1]
        return cls(
            x=x,
            dy=_quantize(dy, storage),
            mean=parameter("mean", mean, channels),
            inv_std=inverse_deviation(inv_std, var, eps, channels),
            gamma=parameter("gamma", gamma, channels),
            dtype=storage,
            relu=Relu.from_arrays(x.shape, fuse_relu, relu_mask, beta),
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
            **({} if self.relu is None else self.relu.arguments()),
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


def storage_dtype(name: str) -> Dtype:
    """The storage format of a name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not isinstance(name, str) or name not in STORAGE_DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(STORAGE_DTYPES)}, got {name!r}")
    return STORAGE_DTYPES[name]


def activation(x: ArrayLike, storage: Dtype) -> NDArray[np.float32]:
    """The input of a layer, [N, C, ...], rounded to binary32 and then to its storage format.

    Raises
    ------
    ValueError
        If it is not numeric, its rank is not 2 to 5, or there is no channel or no element.
    """
    values = numeric("x", x)
    if not 2 <= values.ndim <= 5:
        raise ValueError(f"x must be [N, C, ...] of rank 2 to 5, got shape {values.shape}")
    if values.shape[1] == 0:
        raise ValueError(f"x has no channels: shape {values.shape}")
    if values.size == 0:
        raise ValueError(f"x has no elements: shape {values.shape}")
    return _quantize(values, storage)


def channel_major(values: NDArray) -> NDArray:
    """[N, C, ...] to [C, elements]; the elements of a channel keep their order."""
    return np.moveaxis(values, 1, 0).reshape(values.shape[1], -1)


def batch_major(values: NDArray, shape: tuple[int, ...]) -> NDArray:
    """Undo `channel_major`: [C, elements] to [N, C, ...]."""
    return np.moveaxis(values.reshape(shape[1], shape[0], *shape[2:]), 0, 1)


def _quantize(values: NDArray[np.float32], dtype: Dtype) -> NDArray[np.float32]:
    with np.errstate(all="ignore"):  # what exceeds the format becomes infinity
        return widen(narrow(values, dtype), dtype)
