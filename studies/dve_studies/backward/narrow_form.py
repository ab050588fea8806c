"""The backward pass with bf16 intermediates, as the public NKI kernel batch_norm_bwd documents it.

Per element it keeps gamma inv_std dy and the product of x with its coefficient in bf16; sums and
coefficients are binary32. d_gamma comes from the sum of dy x, from which mean d_beta is subtracted.
Its documentation says of a bf16 product there that d_gamma then loses most of its digits, which is
why that product is binary32; both are modelled.

Sums are exact here and rounded once, which is no worse than any order of adding on the device.
"""

import numpy as np
from dve_golden.batchnorm import Gradients, Layer
from dve_golden.batchnorm.layer import batch_major, channel_major
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.enums import Dtype
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def narrow_gradients(layer: Layer, *, product: Dtype = Dtype.FP32) -> Gradients:
    """Gradients of a layer without a rectifier.

    Parameters
    ----------
    product : Dtype
        Format that dy x is rounded to before it is summed: FP32, or BF16.
    """
    x, dy = channel_major(layer.x), channel_major(layer.dy)
    inv_n = np.float32(1 / layer.elements)
    scale = layer.gamma * layer.inv_std
    d_beta = _sum(dy)
    d_gamma = (_sum(_rounded(dy * x, product)) - layer.mean * d_beta) * layer.inv_std
    slope = d_gamma * layer.inv_std * scale * inv_n
    direct = _rounded(dy * scale[:, None], Dtype.BF16)
    varying = _rounded(x * slope[:, None] + (-layer.mean * slope)[:, None], Dtype.BF16)
    d_x = (direct - (scale * d_beta * inv_n)[:, None]) - varying
    return Gradients(batch_major(_rounded(d_x, layer.dtype), layer.x.shape), d_gamma, d_beta)


def _sum(terms: Floats) -> Floats:
    return terms.sum(axis=1, dtype=np.float64).astype(np.float32)


def _rounded(values: NDArray, dtype: Dtype) -> Floats:
    return values if dtype is Dtype.FP32 else widen(narrow(values, dtype), dtype)
