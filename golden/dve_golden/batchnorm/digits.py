"""The shipped layer: one train step of a convolutional network on handwritten digits."""

from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray


def digits_layer() -> dict[str, NDArray]:
    """Arrays of ``data/digits_layer.npz``, captured by ``scripts/capture_digits_layer.py``.

    Returns
    -------
    dict
        ``x``, ``dy`` float32 [32, 16, 8, 8]; ``mean``, ``var`` (biased), ``inv_std``, ``gamma``,
        ``beta`` float32 [16]; ``eps``; ``d_x``, ``d_gamma``, ``d_beta`` in float64 from these;
        ``framework_d_x``, ``framework_d_gamma``, ``framework_d_beta`` as PyTorch computed them in
        float32; ``provenance``, a text.
    """
    resource = files("dve_golden") / "data" / "digits_layer.npz"
    with as_file(resource) as path, np.load(path) as archive:
        return dict(archive)
