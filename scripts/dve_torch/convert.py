"""A model's batch norm onto an engine."""

from typing import Any, TypeVar

from torch import nn

from dve_torch.backends import choose_backend
from dve_torch.module import BatchNorm2d

Model = TypeVar("Model", bound=nn.Module)


def convert(
    model: Model,
    *,
    backend: Any = "golden",
    dtype: str = "fp32",
    mean_coupling: bool = True,
    **engine_options: Any,
) -> Model:
    """Have every `torch.nn.BatchNorm2d` of a model compute on one engine; the model is changed.

    Layers stay the objects they are, with parameters, buffers and hooks, so an optimizer that
    knows them goes on. Converting again changes the backend. Subclasses, which may have a forward
    pass of their own, are left alone.

    Parameters
    ----------
    model : Module
    backend, dtype, mean_coupling, **engine_options
        See `dve_torch.choose_backend`. With "rtl" the simulator starts with the first batch and
        ends with the last layer that uses it, or by ``backend.engine.close()`` of any of them.

    Returns
    -------
    Module
        The same model.

    Raises
    ------
    ValueError
        If the model has no such layer, or the backend is unknown.
    TypeError
        As of `dve_torch.choose_backend`.
    """
    layers = [each for each in model.modules() if type(each) in (nn.BatchNorm2d, BatchNorm2d)]
    if not layers:
        raise ValueError(f"{type(model).__name__} has no torch.nn.BatchNorm2d")
    chosen = choose_backend(backend, dtype=dtype, mean_coupling=mean_coupling, **engine_options)
    for layer in layers:
        layer.__class__ = BatchNorm2d  # as PyTorch's lazy modules become what they stand for
        assert isinstance(layer, BatchNorm2d)
        layer.backend = chosen
    return model
