"""`torch.nn.BatchNorm2d` on an engine."""

from typing import Any

import torch
from torch import Tensor, nn

from dve_torch.backends import Backend, choose_backend
from dve_torch.function import batch_norm


class BatchNorm2d(nn.BatchNorm2d):
    """Takes the place of `torch.nn.BatchNorm2d`: same parameters, buffers and state dictionary.

    While it trains, and wherever it has no running statistics, mean, variance and gradients are
    those of its backend. With running statistics it is PyTorch's own.

    Parameters
    ----------
    *args, **options
        Of `torch.nn.BatchNorm2d`.
    backend : "golden", "rtl", "float64", Engine or Backend
        See `dve_torch.choose_backend`.
    """

    backend: Backend

    def __init__(self, *args: Any, backend: Any = "golden", **options: Any) -> None:
        super().__init__(*args, **options)
        self.backend = choose_backend(backend)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise [N, C, H, W].

        Raises
        ------
        ValueError
            As of `dve_torch.batch_norm`, or if a channel has a single element in training.
        """
        if not self.training and self.running_mean is not None:
            return super().forward(input)
        self._check_input_dim(input)
        if input.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {input.shape[1]}")
        count = input.numel() // self.num_features
        if count == 1:
            raise ValueError("a channel needs more than one element in training")
        y, mean, var = batch_norm(input, self.weight, self.bias, eps=self.eps, backend=self.backend)
        if self.training and self.track_running_stats:
            self._track(mean, var * (count / (count - 1)))
        return y

    @torch.no_grad()
    def _track(self, mean: Tensor, unbiased: Tensor) -> None:
        """Running averages as PyTorch keeps them; without a momentum, of all batches so far."""
        if self.running_mean is None or self.running_var is None:
            return
        assert self.num_batches_tracked is not None
        self.num_batches_tracked += 1
        share = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum
        for running, new in ((self.running_mean, mean), (self.running_var, unbiased)):
            running.mul_(1 - share).add_(new.to(running.dtype), alpha=share)
