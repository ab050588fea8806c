"""The backward pass with sums and coefficients formed by the host in float64."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.batchnorm.coefficients import host_coefficients
from dve_golden.batchnorm.engine import Engine
from dve_golden.batchnorm.layer import Gradients, Layer, batch_major, channel_major
from dve_golden.batchnorm.layout import Layout, tiles
from dve_golden.batchnorm.program import (
    Tile,
    back_prop,
    grad_accumulate,
    param_load,
    read_d_x,
    read_sums,
)
from dve_golden.batchnorm.step import join
from dve_golden.isa.enums import MAX_CHANNELS


def host_backward(layer: Layer, engine: Engine, *, mean_coupling: bool = True) -> Gradients:
    """Gradients of a layer.

    Channels are cut into tiles of 128, the elements of a channel into tiles that the partition
    holds. The binary32 sums of the tiles are added in float64 in the order of the tiles, so a
    different memory size may change the last bits; lanes and latencies change none.

    Raises
    ------
    ValueError
        If the layer has a rectifier, or a partition holds no tile.
    RuntimeError
        If the engine rejects an instruction.
    """
    if layer.relu is not None:
        raise ValueError("a fused rectifier needs coefficients on the engine")
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


def host_step_count(layer: Layer, sbuf_bytes: int) -> int:
    """Steps that `host_backward` hands to an engine of that size.

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
