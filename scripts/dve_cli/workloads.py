"""The layer that ``dve cosim`` runs: the shipped one, a user's file, or random numbers."""

import math
import re
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

MAX_ELEMENTS = 1 << 28
"""Of a layer of random numbers: two arrays of 1 GiB."""

REQUIRED = ("x", "dy", "mean", "gamma")
OPTIONAL = ("inv_std", "var", "eps", "relu_mask", "beta")


def chosen_workload(
    path: Path | None, shape: str | None, dtype: str, *, fuse_relu: bool = False
) -> Workload:
    """The layer of a file, of random numbers, or the shipped one.

    Parameters
    ----------
    path : Path, optional
        An ``.npz`` file.
    shape : str, optional
        Sizes of a layer of random numbers, joined by ``x``.
    dtype : str
        Storage format of x, dy and d_x.
    fuse_relu : bool
        Whether a rectifier follows the layer, of which the file has the mask or beta.

    Raises
    ------
    UserError
        If the format is unknown, the file cannot be read or holds no layer, the shape is none, or
        both are given.
    """
    if dtype not in STORAGE_DTYPES:
        raise UserError(f"--dtype must be one of {', '.join(STORAGE_DTYPES)}, got {dtype!r}")
    if path is not None and shape is not None:
        raise UserError("give --input or --shape, not both")
    if shape is not None:
        return Workload(f"random {shape}", _layer(_random(shape), "--shape", dtype, fuse_relu))
    if path is not None:
        return Workload(str(path), _layer(read_arrays(path), str(path), dtype, fuse_relu))
    arrays = digits_layer()
    layer = _layer(arrays, DEFAULT_SOURCE, dtype, fuse_relu)
    if layer.dtype is not Dtype.FP32 or fuse_relu:
        # PyTorch's gradients, and the bound, are of fp32 operands and of the layer alone.
        return Workload(DEFAULT_SOURCE, layer)
    framework = Gradients(*(arrays[f"framework_{name}"] for name in Gradients._fields))
    return Workload(DEFAULT_SOURCE, layer, framework, DEFAULT_BOUND_LOG2)


def _random(shape: str) -> dict[str, np.ndarray]:
    """Normal random numbers, the same ones every time; the statistics are those of x."""
    if re.fullmatch(r"[1-9][0-9]*(x[1-9][0-9]*){1,4}", shape) is None:
        raise UserError(f"--shape is two to five sizes such as 4x256x14x14, got {shape!r}")
    # Python refuses to read a number of thousands of digits.
    sizes = tuple(int(size[: len(str(MAX_ELEMENTS)) + 1]) for size in shape.split("x"))
    if math.prod(sizes) > MAX_ELEMENTS:
        raise UserError(f"--shape has more than {MAX_ELEMENTS:,} elements, got {shape:.40}")
    rng = np.random.default_rng(0)
    axes = (0, *range(2, len(sizes)))
    x, dy = (rng.standard_normal(sizes, np.float32) for _ in range(2))
    gamma, beta = rng.standard_normal((2, sizes[1]), np.float32)
    mean, var = x.mean(axes, np.float64), x.var(axes, np.float64)
    given = {"x": x, "dy": dy, "mean": mean, "var": var, "gamma": gamma, "beta": beta}
    return given | {"eps": np.array(1e-5)}


def _layer(arrays: dict[str, np.ndarray], source: str, dtype: str, fuse_relu: bool) -> Layer:
    for name in REQUIRED:
        if name not in arrays:
            raise UserError(f"{source}: no array {name!r}; it has {', '.join(arrays) or 'none'}")
    given = {name: arrays[name] for name in (*REQUIRED, *OPTIONAL) if name in arrays}
    try:
        return Layer.from_arrays(**given, dtype=dtype, fuse_relu=fuse_relu)
    except ValueError as error:
        raise UserError(f"{source}: {error}") from error
