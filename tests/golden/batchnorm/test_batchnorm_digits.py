"""The shipped layer is complete, small and consistent with itself."""

from importlib.resources import files

import numpy as np
from dve_golden.batchnorm import Gradients, Layer, reference
from dve_golden.batchnorm.accuracy import relative_errors
from dve_golden.batchnorm.digits import digits_layer

PARAMETERS = ("mean", "var", "inv_std", "gamma", "beta")


def checked(arrays):
    names = ("dy", "x", "mean", "gamma", "inv_std", "var", "eps")
    return Layer.from_arrays(**{name: arrays[name] for name in names})


def test_shapes_and_formats():
    arrays = digits_layer()
    for name in ("x", "dy", "framework_d_x"):
        assert (arrays[name].shape, arrays[name].dtype) == ((32, 16, 8, 8), np.float32), name
    for name in (*PARAMETERS, "framework_d_gamma", "framework_d_beta"):
        assert (arrays[name].shape, arrays[name].dtype) == ((16,), np.float32), name
    assert arrays["d_x"].dtype == arrays["d_gamma"].dtype == arrays["d_beta"].dtype == np.float64
    assert "capture_digits_layer.py" in str(arrays["provenance"])


def test_file_is_below_one_megabyte():
    resource = files("dve_golden") / "data" / "digits_layer.npz"
    assert len(resource.read_bytes()) < 1_000_000


def test_layer_is_a_trained_one():
    arrays = digits_layer()
    assert np.abs(arrays["gamma"] - 1).min() > 1e-3
    assert np.abs(arrays["beta"]).min() > 1e-4
    assert np.abs(arrays["dy"]).max(axis=(0, 2, 3)).min() > 0


def test_statistics_are_those_of_x():
    arrays = digits_layer()
    x = arrays["x"].astype(np.float64)
    np.testing.assert_allclose(arrays["mean"], x.mean(axis=(0, 2, 3)), rtol=0, atol=1e-6)
    np.testing.assert_allclose(arrays["var"], x.var(axis=(0, 2, 3)), rtol=1e-6)
    np.testing.assert_array_equal(checked(arrays).inv_std, arrays["inv_std"])


def test_shipped_gradients_are_recomputed():
    """To float64 rounding: numpy's summation order may differ between its versions."""
    arrays = digits_layer()
    for name, exact in reference(checked(arrays))._asdict().items():
        scale = np.abs(arrays[name]).max()
        np.testing.assert_allclose(arrays[name], exact, rtol=0, atol=scale * 2.0**-44, err_msg=name)


def test_framework_agrees_with_float64():
    arrays = digits_layer()
    layer = checked(arrays)
    framework = Gradients(
        arrays["framework_d_x"], arrays["framework_d_gamma"], arrays["framework_d_beta"]
    )
    assert max(relative_errors(layer, framework, reference(layer))) <= 2.0**-21
