"""Tensors in, gradients out: the composition of batchnorm.md section 11 on any engine."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dve_golden.batchnorm.coefficients import host_coefficients
from dve_golden.batchnorm.engine import Engine, make_engine
from dve_golden.batchnorm.layer import Gradients, Layer, batch_major, channel_major
from dve_golden.batchnorm.layout import Layout, tiles
from dve_golden.batchnorm.program import (
    Tile,
    back_prop,
    grad_accumulate,
    join,
    param_load,
    read_d_x,
    read_sums,
)
from dve_golden.isa.enums import MAX_CHANNELS


def backward(
    dy: ArrayLike,
    x: ArrayLike,
    mean: ArrayLike,
    gamma: ArrayLike,
    *,
    inv_std: ArrayLike | None = None,
    var: ArrayLike | None = None,
    eps: ArrayLike | None = None,
    mean_coupling: bool = True,
    backend: str | Engine = "golden",
    dtype: str = "fp32",
    **engine_options: Any,
) -> Gradients:
    """Gradients of a batch-norm layer, computed by instructions of the engine.

    Channels are cut into tiles of 128, the elements of a channel into tiles that the partition
    holds. The binary32 sums of the tiles are added in float64 in the order of the tiles, so a
    different memory size may change the last bits; lanes and latencies change none.

    Parameters
    ----------
    dy, x : array [N, C, ...]
        Gradient of the output, and input of the layer; rank 2 to 5, one shape. Rounded to
        binary32, then to ``dtype``.
    mean : array [C]
        Batch mean as saved by the forward pass; it may be rounded.
    gamma : array [C]
        Scale.
    inv_std : array [C], optional
        1/sqrt(var + eps).
    var, eps : array [C] and number, optional
        Biased variance and its addend, instead of ``inv_std``. If all three are given they must
        agree, and ``inv_std`` is used.
    mean_coupling : bool
        Correct for the rounding of ``mean`` (batchnorm.md section 8).
    backend : "golden", "rtl" or Engine
        Who executes: the numpy model, the Verilog under a simulator, or an engine of your own.
    dtype : "fp32", "bf16" or "fp16"
        Storage format of x, dy and d_x. Parameters and sums are binary32.
    **engine_options
        For a named backend, its constructor's: ``sbuf_bytes`` and ``psum_bytes`` of "golden";
        ``config`` of "rtl".

    Returns
    -------
    Gradients
        The tuple (d_x, d_gamma, d_beta), float32; d_x holds values of ``dtype``.

    Raises
    ------
    ValueError
        If the operands do not describe a layer (see `Layer.from_arrays`), the backend is unknown,
        or a partition holds no tile.
    TypeError
        If options are given for an engine that exists already.
    """
    layer = Layer.from_arrays(dy, x, mean, gamma, inv_std=inv_std, var=var, eps=eps, dtype=dtype)
    if isinstance(backend, str):
        engine = make_engine(backend, **engine_options)
    elif engine_options:
        raise TypeError(f"an engine takes no options, got {', '.join(engine_options)}")
    elif hasattr(backend, "execute") and hasattr(backend, "sbuf_bytes"):
        engine = backend
    else:
        raise ValueError(f"backend must be 'golden', 'rtl' or an engine, got {backend!r}")

    layout = Layout.fit(layer.dtype, layer.elements, engine.sbuf_bytes)
    x_rows, dy_rows = channel_major(layer.x), channel_major(layer.dy)
    d_x = np.empty_like(x_rows)
    d_gamma, d_beta = np.empty_like(layer.gamma), np.empty_like(layer.gamma)
    for channels in tiles(layer.channels, MAX_CHANNELS):
        row = [
            (elements, Tile(layout, x_rows[channels, elements], dy_rows[channels, elements]))
            for elements in tiles(layer.elements, layout.tile_elements)
        ]
        sums = _accumulate(engine, [tile for _, tile in row], layer, channels)
        coefficients = host_coefficients(
            sums,
            layer.elements,
            layer.inv_std[channels],
            layer.gamma[channels],
            mean_coupling=mean_coupling,
        )
        d_gamma[channels], d_beta[channels] = coefficients.d_gamma, coefficients.d_beta
        load = param_load(len(sums), layer.elements, coefficients)
        for elements, tile in row:
            apply = back_prop(tile, in_place=len(row) == 1)
            step = join(load, apply) if elements.start == 0 else apply
            d_x[channels, elements] = read_d_x(engine.execute(step), tile)
    return Gradients(batch_major(d_x, layer.x.shape), d_gamma, d_beta)


def step_count(layer: Layer, sbuf_bytes: int) -> int:
    """Steps that `backward` hands to an engine of that size.

    Raises
    ------
    ValueError
        If a partition holds no tile.
    """
    layout = Layout.fit(layer.dtype, layer.elements, sbuf_bytes)
    across = len(list(tiles(layer.channels, MAX_CHANNELS)))
    return 2 * across * len(list(tiles(layer.elements, layout.tile_elements)))


def _accumulate(
    engine: Engine, row: list[Tile], layer: Layer, channels: slice
) -> NDArray[np.float64]:
    """The sums of one channel tile, float64 [channels, 3], added in the order of the tiles."""
    sums = np.zeros((row[0].channels, 3))
    for tile in row:
        step = grad_accumulate(tile, layer.mean[channels], layer.inv_std[channels])
        with np.errstate(invalid="ignore"):  # infinities of opposite sign make a NaN
            sums += read_sums(engine.execute(step), tile.channels)
    return sums
