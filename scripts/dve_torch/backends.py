"""Who computes statistics and gradients: an engine of `dve_golden.batchnorm`, or float64."""

from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from dve_golden.batchnorm import Engine, backward
from dve_golden.batchnorm.engine import choose_engine
from dve_golden.batchnorm.layer import activation, storage_dtype
from dve_golden.batchnorm.operands import inverse_deviation
from dve_golden.batchnorm.statistics import statistics
from torch import Tensor

FLOAT64 = "float64"
"""Name of the oracle."""


class Statistics(NamedTuple):
    """Of each channel, [C]: mean, biased variance, 1/sqrt(var + eps)."""

    mean: Tensor
    var: Tensor
    inv_std: Tensor


class Gradients(NamedTuple):
    """d_x [N, C, ...], d_gamma and d_beta [C]."""

    d_x: Tensor
    d_gamma: Tensor
    d_beta: Tensor


class Backend(Protocol):
    """What `dve_torch.batch_norm` asks for; tensors are detached."""

    def stored(self, x: Tensor) -> Tensor:
        """x as it is kept for both passes.

        Raises
        ------
        ValueError
            If the backend does not take such a tensor.
        """
        ...

    def statistics(self, x: Tensor, eps: float) -> Statistics:
        """Of a stored x, over all axes but the second."""
        ...

    def gradients(self, dy: Tensor, x: Tensor, found: Statistics, gamma: Tensor) -> Gradients:
        """Of the stored x and the parameters."""
        ...


class EngineBackend:
    """Statistics by Stats2 and Aggregate, gradients by the composition of batchnorm.md section 11.

    The host forms inv_std, as beside the device, because the engine has no root. One engine may
    serve any number of layers: no pass depends on what an earlier one left.

    Parameters
    ----------
    engine : Engine
    dtype : "fp32", "bf16" or "fp16"
        Storage format of x, dy and d_x.
    mean_coupling : bool
        Correct for the rounding of the mean (batchnorm.md section 8).

    Raises
    ------
    ValueError
        If the dtype is unknown.
    """

    def __init__(self, engine: Engine, *, dtype: str = "fp32", mean_coupling: bool = True) -> None:
        self.engine = engine
        self.dtype = dtype
        self.mean_coupling = mean_coupling
        self._storage = storage_dtype(dtype)

    def __deepcopy__(self, memo: object) -> "EngineBackend":
        return self  # a copy of a model uses the same engine, which may be a running simulator

    def stored(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            raise ValueError(f"the engine takes tensors of the CPU, got one on {x.device}")
        if x.dtype != torch.float32:
            raise ValueError(f"the engine takes float32, got {x.dtype}; call .float() before")
        return torch.from_numpy(activation(x.numpy(), self._storage))

    def statistics(self, x: Tensor, eps: float) -> Statistics:
        found = statistics(x.numpy(), backend=self.engine, dtype=self.dtype)
        inv_std = inverse_deviation(None, found.var, eps, len(found.var))
        return Statistics(*map(_tensor, (*found, inv_std)))

    def gradients(self, dy: Tensor, x: Tensor, found: Statistics, gamma: Tensor) -> Gradients:
        return Gradients(
            *map(
                _tensor,
                backward(
                    dy.numpy(),
                    x.numpy(),
                    found.mean.numpy(),
                    gamma.numpy(),
                    inv_std=found.inv_std.numpy(),
                    mean_coupling=self.mean_coupling,
                    backend=self.engine,
                    dtype=self.dtype,
                ),
            )
        )


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))


class Float64:
    """The oracle: batchnorm.md section 8 in float64, with gradients that autograd has not seen.

    Results are float64, whatever the dtype of x; `dve_torch.batch_norm` rounds them back.
    """

    def stored(self, x: Tensor) -> Tensor:
        return x.double()

    def statistics(self, x: Tensor, eps: float) -> Statistics:
        axes = _others(x)
        var, mean = torch.var_mean(x, axes, correction=0)
        return Statistics(mean, var, 1 / torch.sqrt(var + eps))

    def gradients(self, dy: Tensor, x: Tensor, found: Statistics, gamma: Tensor) -> Gradients:
        axes, count = _others(x), x.numel() // x.shape[1]
        dy, gamma = dy.double(), gamma.double()
        normal = (x - per_channel(found.mean, x)) * per_channel(found.inv_std, x)
        d_beta, d_gamma = dy.sum(axes), (dy * normal).sum(axes)
        bracket = count * dy - per_channel(d_beta, x) - normal * per_channel(d_gamma, x)
        return Gradients(per_channel(gamma * found.inv_std / count, x) * bracket, d_gamma, d_beta)


def per_channel(values: Tensor, like: Tensor) -> Tensor:
    """[C] values in a shape that broadcasts against ``like``, [N, C, ...]."""
    return values.reshape(-1, *(1,) * (like.ndim - 2))


def _others(x: Tensor) -> list[int]:
    return [0, *range(2, x.ndim)]


def choose_backend(
    backend: str | Engine | Backend,
    *,
    dtype: str = "fp32",
    mean_coupling: bool = True,
    **engine_options: Any,
) -> Backend:
    """The backend that a caller asks for.

    Parameters
    ----------
    backend : "golden", "rtl", "float64", Engine or Backend
        The numpy model, the Verilog under a simulator, the oracle, or something of your own.
    dtype, mean_coupling
        Of an engine; see `EngineBackend`.
    **engine_options
        As of `dve_golden.batchnorm.backward`; ``generation`` may be among them.

    Raises
    ------
    ValueError
        If there is no such backend, dtype or generation.
    TypeError
        If options are given for something that has its own.
    """
    plain = dtype == "fp32" and mean_coupling and not engine_options
    if backend == FLOAT64 or hasattr(backend, "gradients"):
        if not plain:
            raise TypeError(f"backend {backend!r} takes no dtype, mean_coupling or engine options")
        return Float64() if backend == FLOAT64 else backend  # type: ignore[return-value]
    if isinstance(backend, str) and backend not in ("golden", "rtl"):
        raise ValueError(f"backend must be 'golden', 'rtl' or '{FLOAT64}', got {backend!r}")
    generation = engine_options.pop("generation", None)
    engine = choose_engine(backend, generation, engine_options)  # type: ignore[arg-type]
    return EngineBackend(engine, dtype=dtype, mean_coupling=mean_coupling)
