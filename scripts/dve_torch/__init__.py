"""Batch norm of PyTorch models on the engine: statistics and gradients by its instructions.

    model = dve_torch.convert(model, backend="golden")    # or backend="rtl", dtype="bf16"

Needs PyTorch, which the extra ``opendve[torch]`` brings; nothing else of OpenDVE imports it.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "dve_torch needs PyTorch: pip install 'opendve[torch]'", name=error.name
    ) from error

from dve_torch.backends import Backend, EngineBackend, Float64, choose_backend
from dve_torch.convert import convert
from dve_torch.function import batch_norm
from dve_torch.module import BatchNorm2d

__all__ = [
    "Backend",
    "BatchNorm2d",
    "EngineBackend",
    "Float64",
    "batch_norm",
    "choose_backend",
    "convert",
]
