"""The element formulas, one IEEE binary32 rounding per operation (batchnorm.md sections 8, 9).

numpy rounds each float32 operation to nearest even with gradual underflow, and contracts none of
them into a fused multiply-add, because every operation is a call of its own. What numpy leaves
open is the sign and payload of a NaN. They cannot influence any number, so they are made
canonical once, where a value enters or leaves (`canonicalize`), instead of after each operation.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

CANONICAL_NAN = 0x7FC0_0000
"""The only NaN pattern that the datapath delivers (isa_common.md 2.5)."""


def canonicalize(values: Floats) -> Floats:
    """Replace every NaN of ``values`` by the canonical one, in place; returns ``values``."""
    nan = np.isnan(values)
    if nan.any():
        values.view(np.uint32)[nan] = CANONICAL_NAN
    return values


def normalize(om: Floats, mean: Floats, inv_std: Floats) -> Floats:
    """``(om - mean) * inv_std``, two roundings (batchnorm.md section 8).

    Parameters
    ----------
    om
        Forward output, [channels, elements].
    mean, inv_std
        [channels].
    """
    centered = np.subtract(om, mean[:, np.newaxis])
    return np.multiply(centered, inv_std[:, np.newaxis])


def input_gradient(
    x: Floats, dy: Floats, n: Floats, mean: Floats, b: Floats, c: Floats, prefactor: Floats
) -> Floats:
    """``prefactor * (n * dy - b - (x - mean) * c)``, six roundings (batchnorm.md section 9).

    Parameters
    ----------
    x, dy
        Activation and incoming gradient, [channels, elements].
    n, mean, b, c
        Lane state, [channels].
    prefactor
        ``A * recip(N)``, [channels].
    """
    n, mean, b, c, prefactor = (v[:, np.newaxis] for v in (n, mean, b, c, prefactor))
    centered = np.subtract(x, mean)
    scaled = np.multiply(n, dy)
    without_beta = np.subtract(scaled, b)
    coupled = np.multiply(centered, c)
    difference = np.subtract(without_beta, coupled)
    return np.multiply(prefactor, difference)
