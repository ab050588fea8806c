"""Batch norm over a batch as one node of PyTorch's graph."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dve_torch.backends import Backend, Statistics, per_channel


class _BatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, x: Tensor, gamma: Tensor, beta: Tensor, eps: float, backend: Backend
    ) -> tuple[Tensor, Tensor, Tensor]:
        stored = backend.stored(x)
        found = backend.statistics(stored, eps)
        ctx.backend, ctx.dtype = backend, x.dtype
        ctx.save_for_backward(stored, gamma, *found)
        ctx.mark_non_differentiable(found.mean, found.var)
        scale = gamma * found.inv_std
        y = (stored - per_channel(found.mean, x)) * per_channel(scale, x) + per_channel(beta, x)
        return y.to(x.dtype), found.mean, found.var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        x, gamma, *found = ctx.saved_tensors
        d_x, d_gamma, d_beta = ctx.backend.gradients(dy, x, Statistics(*found), gamma)
        return d_x.to(ctx.dtype), d_gamma.to(gamma.dtype), d_beta.to(gamma.dtype), None, None


def batch_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    eps: float = 1e-5,
    backend: Backend,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise by the statistics of the batch, then scale and shift.

    The backend computes statistics and gradients; the affine map is the host's, in binary32 on the
    stored x: (x - mean) (weight inv_std) + bias.

    Parameters
    ----------
    x : float32 [N, C, ...], on the CPU
        With the oracle any real dtype.
    weight, bias : [C], optional
        Ones and zeros if not given.
    eps : float
        Added to the biased variance.
    backend : Backend
        See `dve_torch.choose_backend`.

    Returns
    -------
    y, mean, var
        Of the shape of x, and [C]: the statistics, with the biased variance, have no gradient.

    Raises
    ------
    ValueError
        If weight or bias does not fit x, the backend does not take such a tensor, or its statistics
        or its parameters are not finite.
    TypeError
        If the backend is none, its name for example.
    RuntimeError
        If the engine rejects an instruction.
    """
    if not hasattr(backend, "gradients"):
        raise TypeError(f"backend must be what choose_backend returns, got {backend!r}")
    channels = x.shape[1] if x.ndim > 1 else 0
    gamma = x.new_ones(channels) if weight is None else weight
    beta = x.new_zeros(channels) if bias is None else bias
    for name, values in (("weight", gamma), ("bias", beta)):
        if values.shape != (channels,):
            raise ValueError(f"{name} must have shape ({channels},), got {tuple(values.shape)}")
    return _BatchNorm.apply(x, gamma, beta, eps, backend)
