"""The layer that ``dve cosim`` runs: the shipped one, or a user's file."""

from pathlib import Path

import numpy as np
from dve_cosim.main_result import Workload
from dve_golden.batchnorm import Gradients, Layer
from dve_golden.batchnorm.digits import digits_layer
from dve_golden.batchnorm.layer import STORAGE_DTYPES
from dve_golden.isa.enums import Dtype

from dve_cli.arrays import read_arrays
from dve_cli.errors import UserError

DEFAULT_SOURCE = "digits layer"
DEFAULT_BOUND_LOG2 = -21
"""Promised for the gradients of the shipped layer in fp32; see `Workload`."""

REQUIRED = ("x", "dy", "mean", "gamma")
OPTIONAL = ("inv_std", "var", "eps", "relu_mask", "beta")


def chosen_workload(path: Path | None, dtype: str, *, fuse_relu: bool = False) -> Workload:
    """The layer of an ``.npz`` file, or the shipped one, stored in format ``dtype``.

    ``fuse_relu`` says that a rectifier follows it, of which the file has the mask or beta.

    Raises
    ------
    UserError
        If the format is unknown, or the file cannot be read or holds no layer.
    """
    if dtype not in STORAGE_DTYPES:
        raise UserError(f"--dtype must be one of {', '.join(STORAGE_DTYPES)}, got {dtype!r}")
    if path is not None:
        return Workload(str(path), _layer(read_arrays(path), str(path), dtype, fuse_relu))
    arrays = digits_layer()
    layer = _layer(arrays, DEFAULT_SOURCE, dtype, fuse_relu)
    if layer.dtype is not Dtype.FP32 or fuse_relu:
        # PyTorch's gradients, and the bound, are of fp32 operands and of the layer alone.
        return Workload(DEFAULT_SOURCE, layer)
    framework = Gradients(*(arrays[f"framework_{name}"] for name in Gradients._fields))
    return Workload(DEFAULT_SOURCE, layer, framework, DEFAULT_BOUND_LOG2)


def _layer(arrays: dict[str, np.ndarray], source: str, dtype: str, fuse_relu: bool) -> Layer:
    for name in REQUIRED:
        if name not in arrays:
            raise UserError(f"{source}: no array {name!r}; it has {', '.join(arrays) or 'none'}")
    given = {name: arrays[name] for name in (*REQUIRED, *OPTIONAL) if name in arrays}
    try:
        return Layer.from_arrays(**given, dtype=dtype, fuse_relu=fuse_relu)
    except ValueError as error:
        raise UserError(f"{source}: {error}") from error
