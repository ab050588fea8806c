"""What a way of summing does to the gradients of a layer.

Only the three sums of GradAccumulate depend on it. Everything else is the engine's arithmetic:
the terms, the coefficients that the host forms, and the six roundings of each d_x.
"""

import numpy as np
from dve_golden.batchnorm.accuracy import RelativeErrors, relative_errors
from dve_golden.batchnorm.coefficients import host_coefficients
from dve_golden.batchnorm.layer import Gradients, Layer, batch_major, channel_major
from dve_golden.batchnorm.layout import tiles
from dve_golden.batchnorm.oracle import reference
from dve_golden.fp32.arithmetic import input_gradient
from dve_golden.fp32.reciprocal import reciprocal

from dve_studies.summation.data import terms
from dve_studies.summation.schemes import Scheme


def gradients(layer: Layer, scheme: Scheme, tile: int | None = None) -> Gradients:
    """The gradients of a layer in fp32, its sums formed by ``scheme``.

    Parameters
    ----------
    layer
        Of more than 255 elements, so that 1/N is computed and not taken from the Parameter RAM.
    scheme
        How each of the three sums is formed.
    tile
        Elements after which a sum is rounded to fp32 and handed to the host, which adds the tiles
        in binary64. By default one tile holds everything.
    """
    sums = np.zeros((layer.channels, 3))
    for part in tiles(layer.elements, tile or layer.elements):
        for index, values in enumerate(terms(layer)):
            sums[:, index] += scheme.sums(values[:, part])
    count = np.full(layer.channels, layer.elements, np.float32)
    staged = host_coefficients(sums, layer.elements, layer.inv_std, layer.gamma)
    d_x = input_gradient(
        channel_major(layer.x),
        channel_major(layer.dy),
        count,
        layer.mean,
        staged.b,
        staged.c,
        staged.a * reciprocal(count),
    )
    return Gradients(batch_major(d_x, layer.x.shape), staged.d_gamma, staged.d_beta)


def gradient_errors(layer: Layer, scheme: Scheme, tile: int | None = None) -> RelativeErrors:
    """Largest errors of `gradients` against binary64, relative to the scale of their terms."""
    return relative_errors(layer, gradients(layer, scheme, tile), reference(layer))


def storage_errors(stored: Layer, original: Layer) -> RelativeErrors:
    """What storing a layer in a narrower format does to its gradients, all computed in binary64."""
    return relative_errors(original, reference(stored), reference(original))
