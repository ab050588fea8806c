"""Operands that do not describe a layer are refused with a reason."""

from typing import Any

import numpy as np
import pytest
from dve_golden.batchnorm.layer import Layer, batch_major, channel_major
from dve_golden.isa.enums import Dtype


def operands(**changes):
    ones = np.ones(3, np.float32)
    good = {
        "x": np.zeros((4, 3, 2)),
        "dy": np.zeros((4, 3, 2)),
        "mean": 0 * ones,
        "gamma": ones,
        "inv_std": ones,
    }
    return {name: value for name, value in (good | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "fp8"}, "dtype must be one of fp32, bf16, fp16, got 'fp8'"),
        ({"x": np.zeros(3)}, r"rank 2 to 5, got shape \(3,\)"),
        ({"x": np.zeros((1,) * 6)}, "rank 2 to 5"),
        ({"dy": np.zeros((4, 3))}, r"one shape, got \(4, 3, 2\) and \(4, 3\)"),
        ({"x": np.zeros((4, 0)), "dy": np.zeros((4, 0))}, "no channels"),
        ({"x": np.zeros((0, 3)), "dy": np.zeros((0, 3))}, "no elements"),
        ({"x": np.zeros((4, 3, 0)), "dy": np.zeros((4, 3, 0))}, "no elements"),
        ({"x": np.zeros((4, 3, 2), complex)}, "x must hold real numbers, got dtype complex128"),
        ({"dy": np.full((4, 3, 2), "1")}, "dy must hold real numbers"),
        ({"dy": np.ma.masked_all((4, 3, 2))}, "dy is a masked array"),
        ({"mean": np.ma.masked_all(3)}, "mean is a masked array"),
        ({"fuse_relu": "no"}, "fuse_relu must be True or False, got 'no'"),
        ({"mean": np.zeros(4)}, r"mean must have shape \(3,\), got \(4,\)"),
        ({"gamma": np.ones((1, 3))}, r"gamma must have shape \(3,\), got \(1, 3\)"),
        ({"mean": [0, np.nan, 0]}, "mean must be finite in binary32, got nan in channel 1"),
        ({"gamma": [1, 1, np.inf]}, "gamma must be finite in binary32, got inf in channel 2"),
        ({"gamma": [1, 1, 1e39]}, r"gamma must be finite in binary32, got 1e\+39"),
        ({"inv_std": [1, 0, 1]}, "inv_std must be positive, got 0.0 in channel 1"),
        ({"inv_std": [1, np.nan, 1]}, "inv_std must be finite in binary32, got nan in channel 1"),
        ({"inv_std": None}, "give inv_std, or var together with eps"),
        ({"inv_std": None, "var": np.ones(3)}, "eps is missing"),
        ({"inv_std": None, "eps": 1e-5}, "var is missing"),
        ({"var": np.ones(3)}, "give inv_std, or var together with eps"),
        ({"inv_std": None, "var": [1, -1, 1], "eps": 0}, "not negative, got -1 in channel 1"),
        ({"inv_std": None, "var": [1, np.nan, 1], "eps": 0}, "var must be finite .* channel 1"),
        ({"inv_std": None, "var": np.ones(2), "eps": 0}, r"var must have shape \(3,\), got \(2,\)"),
        ({"inv_std": None, "var": ["a"] * 3, "eps": 0}, "var must hold real numbers"),
        ({"inv_std": None, "var": np.ones(3), "eps": -1.0}, "eps must be .* got -1.0"),
        ({"inv_std": None, "var": np.ones(3), "eps": np.ones(2)}, "eps must be one number"),
        (
            {"inv_std": None, "var": [1, 0, 1], "eps": 0},
            "is 0.0 in channel 1: binary32 holds no such inv_std",
        ),
        ({"inv_std": None, "var": [1, 1e300, 1], "eps": 0}, r"is 1e\+300 in channel 1: binary32"),
        ({"x": [[1, 2], [3]]}, "x is not an array"),
        ({"dtype": ["fp32"]}, "dtype must be one of"),
        ({"var": np.full(3, 1.0005), "eps": 0}, "inv_std contradicts var and eps in channel 0"),
    ],
)
def test_bad_operands(changes, message):
    with pytest.raises(ValueError, match=message):
        Layer.from_arrays(**operands(**changes))


def test_parameters_may_be_columns():
    given: dict[str, Any] = operands(
        var=np.ones(3), eps=0, fuse_relu=True, beta=[1, 2, 3], mean=[4, 5, 6]
    )
    columns = ("mean", "gamma", "inv_std", "var", "beta")
    tall: dict[str, Any] = dict(given)
    tall.update((name, np.reshape(given[name], (3, 1))) for name in columns)
    flat = Layer.from_arrays(**given).arguments()
    for name, values in Layer.from_arrays(**tall).arguments().items():
        np.testing.assert_array_equal(values, flat[name])
    tall["mean"] = np.array([[0], [np.nan], [0]])
    with pytest.raises(ValueError, match="mean must be finite in binary32, got nan in channel 1"):
        Layer.from_arrays(**tall)


def test_inv_std_wins_where_all_three_agree():
    layer = Layer.from_arrays(**operands(var=np.full(3, 1 + 1e-7), eps=0))
    assert layer.inv_std.tolist() == [1, 1, 1]


def test_inv_std_is_rounded_once():
    var = np.array([2.0, 3.0, 1e-30])
    layer = Layer.from_arrays(**operands(inv_std=None, var=var, eps=1e-5))
    expected = (1 / np.sqrt(var + 1e-5)).astype(np.float32)
    np.testing.assert_array_equal(layer.inv_std, expected)


def test_operands_are_rounded_to_their_format():
    x = np.full((4, 3, 2), 1 + 2.0**-8)  # a tie of bf16: to even
    layer = Layer.from_arrays(**operands(x=x, dy=3 * x), dtype="bf16")
    assert (layer.dtype, layer.x[0, 0, 0], layer.dy[0, 0, 0]) == (Dtype.BF16, 1.0, 3.015625)
    assert (layer.channels, layer.elements) == (3, 8)


def test_channel_major_keeps_the_order_of_elements():
    x = np.arange(2 * 3 * 2).reshape(2, 3, 2)
    rows = channel_major(x)
    assert rows.tolist() == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    np.testing.assert_array_equal(batch_major(rows, x.shape), x)
