"""The oracle against a numerical derivative, and the error measures against hand-made cases."""

import math

import numpy as np
import pytest
from dve_golden.batchnorm.accuracy import relative_errors, ulp_error
from dve_golden.batchnorm.layer import Gradients, Layer
from dve_golden.batchnorm.oracle import reference
from dve_golden.isa.enums import Dtype


@pytest.mark.parametrize(
    ("got", "exact", "dtype", "expected"),
    [
        (1.0, 1.0, Dtype.FP32, 0.0),
        (1.0 + 2.0**-23, 1.0, Dtype.FP32, 1.0),
        (1.0, 1.0 + 2.0**-24, Dtype.FP32, 0.5),
        (1.0 - 2.0**-24, 1.0, Dtype.FP32, 0.5),
        (2.0, 2.0 - 2.0**-26, Dtype.FP32, 2.0**-4),  # nearest is 2, whose ulp is 2^-22
        (-3.0, 3.0, Dtype.FP32, 6 * 2.0**22),
        (0.0, 0.0, Dtype.FP32, 0.0),
        (-0.0, 0.0, Dtype.FP32, 0.0),
        (2.0**-149, 0.0, Dtype.FP32, 1.0),
        (0.0, 2.0**-150, Dtype.FP32, 0.5),
        (3 * 2.0**-149, 2.0**-149, Dtype.FP32, 2.0),
        (2.0**-126, 2.0**-126 - 2.0**-149, Dtype.FP32, 1.0),
        (1.0 + 2.0**-7, 1.0, Dtype.BF16, 1.0),
        (1.0 + 2.0**-10, 1.0, Dtype.FP16, 1.0),
        (2.0**-24, 0.0, Dtype.FP16, 1.0),
        (math.inf, 65520.0, Dtype.FP16, 0.0),  # rounds to infinity
        (65504.0, 65519.0, Dtype.FP16, 15 / 32),
        (math.nan, math.nan, Dtype.FP32, 0.0),
        (math.nan, 1.0, Dtype.FP32, math.inf),
        (1.0, math.nan, Dtype.FP32, math.inf),
        (math.inf, math.inf, Dtype.FP32, 0.0),
        (-math.inf, math.inf, Dtype.FP32, math.inf),
        (1.0, math.inf, Dtype.FP32, math.inf),
    ],
)
def test_ulp_error(got, exact, dtype, expected):
    assert ulp_error(np.float32(got), exact, dtype).item() == expected


def test_correct_rounding_is_half_an_ulp_at_most():
    rng = np.random.default_rng(9)
    exact = rng.normal(size=1000) * 2.0 ** rng.integers(-160, 128, 1000)
    error = ulp_error(exact.astype(np.float32), exact)
    assert error.max() <= 0.5
    assert error.mean() > 0.1


def test_relative_errors_are_the_worst_channel():
    layer = Layer.from_arrays(
        dy=[[1, 2], [-3, 2]], x=[[1, 0], [-1, 4]], mean=[0, 2], gamma=[-2, 0.5], inv_std=[1, 0.5]
    )
    exact = reference(layer)
    got = Gradients(exact.d_x.copy(), exact.d_gamma.copy(), exact.d_beta.copy())
    got.d_x[1, 0] += 0.25  # scale |-2| * 1 * 3
    got.d_gamma[1] -= 0.5  # scale 2 * 1 + 2 * 1
    got.d_beta[0] += 1  # scale 1 + 3
    found = relative_errors(layer, got, exact)
    assert found == pytest.approx((0.25 / 6, 0.5 / 4, 1 / 4))


def test_relative_error_without_a_scale():
    layer = Layer.from_arrays(
        dy=np.zeros((4, 1)), x=np.zeros((4, 1)), mean=[0], gamma=[0], inv_std=[1]
    )
    exact = reference(layer)
    assert relative_errors(layer, exact, exact) == (0, 0, 0)
    assert (
        relative_errors(layer, Gradients(exact.d_x, exact.d_gamma, exact.d_beta + 1), exact)[2]
        == math.inf
    )


@pytest.mark.parametrize("shape", [(6, 2), (3, 2, 2)])
def test_reference_is_the_derivative(shape):
    """Central differences of sum(dy * (gamma * x_norm(x) + beta)) in float64."""
    rng = np.random.default_rng(10)
    axes = (0, *range(2, len(shape)))
    x, dy = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
    gamma = np.array([1.5, -0.5], np.float32)
    eps = 0.1

    def loss(values, scale, shift):
        mean = values.mean(axis=axes, keepdims=True)
        deviation = np.sqrt(values.var(axis=axes, keepdims=True) + eps)
        across = (-1,) + (1,) * (len(shape) - 2)
        y = (values - mean) / deviation * scale.reshape(across) + shift.reshape(across)
        return float((dy.astype(np.float64) * y).sum())

    layer = Layer.from_arrays(
        dy, x, x.mean(axis=axes), gamma, var=x.astype(np.float64).var(axis=axes), eps=eps
    )
    start = (x.astype(np.float64), gamma.astype(np.float64), np.zeros(2))
    for which, gradient in enumerate(reference(layer)):
        for index in np.ndindex(gradient.shape):
            change = [np.zeros_like(part) for part in start]
            change[which][index] = 1e-6
            ahead = loss(*(a + b for a, b in zip(start, change, strict=True)))
            behind = loss(*(a - b for a, b in zip(start, change, strict=True)))
            # inv_std is rounded to binary32, hence 2^-24 of relative error on top.
            assert gradient[index] == pytest.approx((ahead - behind) / 2e-6, abs=2e-7)
