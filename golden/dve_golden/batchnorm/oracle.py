"""The gradients in float64 (batchnorm.md section 8), independent of layout and engine."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.batchnorm.layer import Gradients, Layer


def reference(layer: Layer) -> Gradients:
    """float64 gradients of the layer as stored: x and dy rounded to their format, inv_std exact.

    The mean is that of x in float64, not the given one: a rounded mean is an error of the
    computation, which the mean coupling is there to remove, while inv_std is taken as exact. A
    mask that is formed again follows the given mean, as the forward pass did.
    """
    axes = (0, *range(2, layer.x.ndim))
    x, dy = layer.x.astype(np.float64), passed_gradient(layer)
    inv_std = layer.inv_std.astype(np.float64)
    with np.errstate(all="ignore"):  # infinities and NaN of x and dy pass through
        centred = x - layer.per_channel(x.mean(axis=axes))
        x_norm = centred * layer.per_channel(inv_std)
        d_beta = dy.sum(axis=axes)
        d_gamma = (dy * x_norm).sum(axis=axes)
        bracket = (
            layer.elements * dy - layer.per_channel(d_beta) - x_norm * layer.per_channel(d_gamma)
        )
        d_x = layer.per_channel(layer.gamma * inv_std / layer.elements) * bracket
    return Gradients(d_x, d_gamma, d_beta)


def passed_gradient(layer: Layer) -> NDArray[np.float64]:
    """dy as stored, 0 where a fused rectifier stopped the forward pass."""
    dy, relu = layer.dy.astype(np.float64), layer.relu
    if relu is None:
        return dy
    if relu.mask is not None:
        return np.where(relu.mask, dy, 0.0)
    assert relu.beta is not None
    scale = layer.gamma.astype(np.float64) * layer.inv_std
    with np.errstate(all="ignore"):
        y = (layer.x - layer.per_channel(layer.mean.astype(np.float64))) * layer.per_channel(scale)
        return np.where(y + layer.per_channel(relu.beta) > 0, dy, 0.0)
