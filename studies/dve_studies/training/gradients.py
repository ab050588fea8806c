"""Errors of the gradients of the shipped layer, as it is and with its mean moved from zero."""

from typing import Any

import numpy as np
from dve_golden.batchnorm import Layer, reference
from dve_golden.batchnorm.accuracy import relative_errors
from dve_golden.batchnorm.digits import digits_layer

from dve_studies.training.results import Errors, Orders
from dve_studies.training.ways import WAYS, Way

DEVIATIONS = (0, 10, 100, 1000)
"""Standard deviations of a channel that are added to its elements."""

ORDERS = 200
"""Permutations."""


def moved(deviations: float) -> Layer:
    """The digits layer with its mean so many standard deviations further up.

    Mean and variance are those of the elements as binary32 holds them, each rounded once.
    """
    arrays: dict[str, Any] = digits_layer()
    given = {name: arrays[name] for name in ("dy", "gamma", "eps")}
    axes, shape = (0, 2, 3), (1, -1, 1, 1)
    wide = arrays["x"].astype(np.float64)
    x = (wide + deviations * wide.std(axes).reshape(shape)).astype(np.float32)
    exact = x.astype(np.float64)
    return Layer.from_arrays(x=x, mean=exact.mean(axes), var=exact.var(axes), **given)


def errors(deviations: float) -> list[Errors]:
    """Of every way, relative to the scale of the terms, and against the elements in fp32."""
    layer = moved(deviations)
    exact = reference(layer)
    return [
        Errors(way.name, deviations, *relative_errors(layer, way(layer), exact)) for way in WAYS
    ]


def orders(count: int) -> list[Orders]:
    """How errors of the layer as it is spread over orders of its elements."""
    layer = moved(0)
    exact = reference(layer)
    found = np.array(
        [
            relative_errors(layer, Way("", order=order)(layer), exact)
            for order in range(1, count + 1)
        ]
    )
    return [
        Orders(name, count, float(each.min()), float(np.median(each)), float(each.max()))
        for name, each in zip(("d_x", "d_gamma", "d_beta"), found.T, strict=True)
    ]
