"""How far computed gradients are from the float64 ones: in ulp, and against their conditioning."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dve_golden.batchnorm.layer import Gradients, Layer
from dve_golden.batchnorm.oracle import passed_gradient
from dve_golden.isa.enums import Dtype


class Format(NamedTuple):
    """Significand bits with the hidden one, and the exponent of the smallest normal."""

    precision: int
    min_exponent: int
    max_exponent: int


FORMATS = {
    Dtype.FP32: Format(24, -126, 127),
    Dtype.BF16: Format(8, -126, 127),
    Dtype.FP16: Format(11, -14, 15),
}


def ulp_error(
    got: ArrayLike, reference: ArrayLike, dtype: Dtype = Dtype.FP32
) -> NDArray[np.float64]:
    """|got - reference| in units in the last place of the format's number nearest ``reference``.

    The ulp of a number with exponent e is 2^(e - precision + 1). At and below the smallest
    normal, zero included, it is the smallest subnormal; so where the reference is zero any other
    result counts in smallest subnormals, a huge number. A correctly rounded result has at most
    0.5.

    Parameters
    ----------
    got, reference
        Arrays of one shape; the reference is read as float64.
    dtype
        FP32, BF16 or FP16.

    Returns
    -------
    float64 of the same shape. Two NaN, or two equal infinities, have error 0; a NaN or an infinity
    on one side alone is infinitely wrong.
    """
    precision, min_exponent, max_exponent = FORMATS[dtype]
    found, exact = np.asarray(got, np.float64), np.asarray(reference, np.float64)

    def ulp(values: NDArray[np.float64]) -> NDArray[np.float64]:
        exponent = np.maximum(np.frexp(values)[1] - 1, min_exponent)
        exponent = np.where(values == 0, min_exponent, exponent)
        return np.ldexp(1.0, exponent - (precision - 1))

    with np.errstate(all="ignore"):
        finite = np.where(np.isfinite(exact), exact, 0.0)
        nearest = np.rint(finite / ulp(finite)) * ulp(finite)
        overflow = np.abs(nearest) >= np.ldexp(1.0, max_exponent + 1)
        exact = np.where(overflow, np.copysign(np.inf, exact), exact)
        error = np.abs(found - exact) / ulp(nearest)
    same = (found == exact) | (np.isnan(found) & np.isnan(exact))
    comparable = np.isfinite(found) & np.isfinite(exact)
    return np.where(same, 0.0, np.where(comparable, error, np.inf))


class RelativeErrors(NamedTuple):
    """Largest error over the channels, relative to what the inputs allow; see `relative_errors`."""

    d_x: float
    d_gamma: float
    d_beta: float


def relative_errors(layer: Layer, got: Gradients, exact: Gradients) -> RelativeErrors:
    """Errors relative to the scale of their terms, which cancellation does not inflate.

    Of each channel: max |d_x error| / (|gamma| inv_std max |dy|), |d_gamma error| /
    sum |dy x_norm| and |d_beta error| / sum |dy|; the largest of each is returned. Where the
    scale is 0, an error of 0 counts as 0 and any other as infinite.
    """
    axes = (0, *range(2, layer.x.ndim))
    x, dy = layer.x.astype(np.float64), np.abs(passed_gradient(layer))
    inv_std = layer.inv_std.astype(np.float64)
    with np.errstate(all="ignore"):
        centred = x - layer.per_channel(x.mean(axis=axes))
        x_norm = np.abs(centred) * layer.per_channel(inv_std)
        d_x = np.abs(got.d_x - exact.d_x).max(axis=axes)
        return RelativeErrors(
            _worst(d_x, np.abs(layer.gamma) * inv_std * dy.max(axis=axes)),
            _worst(got.d_gamma - exact.d_gamma, (dy * x_norm).sum(axis=axes)),
            _worst(got.d_beta - exact.d_beta, dy.sum(axis=axes)),
        )


def _worst(error: NDArray, scale: NDArray) -> float:
    ratio = np.divide(np.abs(error), scale, out=np.full(scale.shape, np.inf), where=scale != 0)
    return float(np.where(error == 0, 0.0, ratio).max())
