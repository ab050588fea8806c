"""The tensor-level driver, with coefficients of the engine and of the host, against float64."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dve_golden.batchnorm import GoldenEngine, Gradients, Layer, backward, reference, step_count
from dve_golden.batchnorm.accuracy import relative_errors
from dve_golden.batchnorm.digits import digits_layer
from dve_golden.batchnorm.layout import OPERANDS
from dve_golden.batchnorm.step import Step

BOUND = 2.0**-21


def layer_arrays(shape, *, seed, offset=0.0, mean_dtype=np.float32):
    """Random operands; the mean is rounded to ``mean_dtype``."""
    rng = np.random.default_rng(seed)
    channels = shape[1]
    axes = (0, *range(2, len(shape)))
    x = (rng.normal(size=shape) + offset).astype(np.float32)
    dy = rng.normal(size=shape).astype(np.float32)
    exact = x.astype(np.float64)
    return {
        "x": x,
        "dy": dy,
        "mean": exact.mean(axis=axes).astype(mean_dtype).astype(np.float32),
        "inv_std": (1 / np.sqrt(exact.var(axis=axes) + 1e-5)).astype(np.float32),
        "gamma": rng.normal(size=channels).astype(np.float32),
    }


def errors(arrays, gradients, dtype="fp32"):
    layer = Layer.from_arrays(**arrays, dtype=dtype)
    return relative_errors(layer, gradients, reference(layer))


class CountingEngine(GoldenEngine):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.steps: list[Step] = []

    def execute(self, step):
        self.steps.append(step)
        return super().execute(step)


ways = pytest.mark.parametrize("on_engine", [True, False], ids=["engine", "host"])


@pytest.mark.parametrize(
    "shape", [(64, 16), (8, 1, 24), (4, 130, 3, 5), (2, 3, 4, 5, 6), (1, 4, 7, 1), (37, 128)]
)
@ways
def test_gradients_of_every_rank_are_close_to_float64(shape, on_engine):
    arrays = layer_arrays(shape, seed=sum(shape))
    gradients = backward(**arrays, on_engine=on_engine)
    assert gradients.d_x.shape == shape
    assert gradients.d_gamma.shape == gradients.d_beta.shape == (shape[1],)
    assert all(part.dtype == np.float32 for part in gradients)
    assert max(errors(arrays, gradients)) <= BOUND


@ways
def test_first_vector_of_the_specification(on_engine):
    """batchnorm.md section 12."""
    column = np.array([1, 2, 3], np.float32).reshape(3, 1)
    dy = np.array([1, 0, -1], np.float32).reshape(3, 1)
    d_x, d_gamma, d_beta = backward(dy, column, [2.0], [1.0], inv_std=[1.0], on_engine=on_engine)
    assert d_x.view(np.uint32).ravel().tolist() == [0x3EAAAAAB, 0, 0xBEAAAAAB]
    assert (d_gamma.tolist(), d_beta.tolist()) == ([-2.0], [0.0])


@pytest.mark.parametrize("channels", [3, 130])
def test_host_path_in_element_tiles_when_the_partition_is_small(channels):
    arrays = layer_arrays((5, channels, 9), seed=1)  # 45 elements: tiles of 16, 16 and 13
    engine = CountingEngine(sbuf_bytes=OPERANDS + 16 * 3 * 4)
    gradients = backward(**arrays, backend=engine, on_engine=False)
    assert max(errors(arrays, gradients)) <= BOUND
    across = 1 if channels == 3 else 2
    assert (
        len(engine.steps)
        == 2 * 3 * across
        == step_count(Layer.from_arrays(**arrays), engine.sbuf_bytes, on_engine=False)
    )
    assert sum(len(step.program) for step in engine.steps) == 64 * (2 * 3 + 1) * across
    assert sum(step.elements for step in engine.steps) == 2 * 45 * channels


@ways
def test_tiles_do_not_change_a_result_that_is_exact(on_engine):
    """Small integers and powers of two round nowhere, so any cut gives the same bits."""
    rng = np.random.default_rng(7)
    x = rng.integers(-8, 9, (8, 2, 8)).astype(np.float32)
    x[:, :, 4:] = -x[:, :, :4]  # mean 0
    operands = (rng.integers(-8, 9, x.shape), x, [0, 0], [1, -2])
    whole = backward(*operands, inv_std=[0.5, 0.25], on_engine=on_engine)
    cut = backward(*operands, inv_std=[0.5, 0.25], on_engine=on_engine, sbuf_bytes=448)
    for left, right in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(left, right)


def test_host_adds_tile_sums_in_float64():
    dy = np.zeros((24, 1), np.float32)
    dy[[0, 8, 16], 0] = 2.0**24, 1, 1
    x = np.zeros_like(dy)
    small = OPERANDS + 8 * 3 * 4
    d_beta = backward(dy, x, [0], [1], inv_std=[1], sbuf_bytes=small, on_engine=False).d_beta
    assert d_beta.tolist() == [2.0**24 + 2]  # binary32 additions would stay at 2^24


@ways
@pytest.mark.parametrize(("dtype", "significand"), [("bf16", 8), ("fp16", 11)])
def test_storage_formats_round_operands_and_result(dtype, significand, on_engine):
    arrays = layer_arrays((32, 4, 8), seed=2)
    gradients = backward(**arrays, dtype=dtype, on_engine=on_engine)
    fraction = np.frexp(gradients.d_x)[0] * 2.0**significand
    assert np.array_equal(fraction, np.rint(fraction))
    found = errors(arrays, gradients, dtype)
    # |d_x| stays below 4 |gamma| inv_std max|dy| here: half an ulp of that, and the arithmetic.
    assert 2.0 ** -(significand + 4) < found.d_x <= 2.0 ** -(significand - 2)
    assert max(found.d_gamma, found.d_beta) <= BOUND


@ways
def test_mean_coupling_repairs_a_rounded_mean(on_engine):
    """batchnorm.md section 8: mean/std = 100 and a mean of eight significant bits."""
    arrays = layer_arrays((2048, 2), seed=3, offset=100.0)
    bits = arrays["mean"].view(np.uint32) & 0xFFFF0000
    arrays["mean"] = bits.view(np.float32)
    coupled = errors(arrays, backward(**arrays, on_engine=on_engine))
    plain = errors(arrays, backward(**arrays, mean_coupling=False, on_engine=on_engine))
    assert coupled.d_x <= 2.0**-20
    assert plain.d_x > 2.0**-9
    assert plain.d_gamma > 2.0**-9 > 2.0**-18 > coupled.d_gamma
    assert plain.d_beta == coupled.d_beta <= BOUND


def test_variance_and_eps_replace_inv_std():
    arrays = layer_arrays((16, 3, 4), seed=4)
    del arrays["inv_std"]
    var = arrays["x"].astype(np.float64).var(axis=(0, 2))
    derived = backward(**arrays, var=var, eps=1e-3)
    given = backward(**arrays, inv_std=(1 / np.sqrt(var + 1e-3)).astype(np.float32))
    for left, right in zip(derived, given, strict=True):
        np.testing.assert_array_equal(left, right)


@ways
def test_nan_and_infinity_stay_in_their_channel(on_engine):
    arrays = layer_arrays((8, 3), seed=5)
    clean = backward(**arrays, on_engine=on_engine)
    arrays["x"][0, 1], arrays["dy"][0, 2], arrays["dy"][1, 2] = np.nan, np.inf, -np.inf
    d_x, d_gamma, d_beta = backward(**arrays, on_engine=on_engine)
    assert np.isnan(d_x[:, 1:]).all()
    assert np.isnan(d_gamma[1:]).all()
    np.testing.assert_array_equal(np.isnan(d_beta), [False, False, True])
    np.testing.assert_array_equal(d_x[:, 0], clean.d_x[:, 0])


def test_inputs_are_left_alone():
    arrays = layer_arrays((8, 3), seed=6)
    copies = {name: array.copy() for name, array in arrays.items()}
    backward(**arrays, dtype="bf16")
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, copies[name])


def test_engine_errors():
    arrays = layer_arrays((8, 3), seed=8)
    with pytest.raises(ValueError, match=r"backend must be .*got 'verilog'"):
        backward(**arrays, backend="verilog")
    half: Any = SimpleNamespace(execute=None, sbuf_bytes=1024)
    with pytest.raises(ValueError, match=r"backend must be .*got namespace"):
        backward(**arrays, backend=half)
    with pytest.raises(ValueError, match=r"backend must be .*got None"):
        backward(**arrays, backend=None)  # pyright: ignore[reportArgumentType]
    for on_engine in (True, False):
        with pytest.raises(ValueError, match="partition of 128 bytes is too small"):
            backward(**arrays, sbuf_bytes=128, on_engine=on_engine)
    with pytest.raises(ValueError, match=r"generation must be one of sunda, .*got 'trn1'"):
        backward(**arrays, generation="trn1")
    with pytest.raises(ValueError, match="the engine is cayman, not sunda"):
        backward(**arrays, backend=GoldenEngine(), generation="sunda")
    with pytest.raises(ValueError, match="a fused rectifier needs coefficients on the engine"):
        backward(**arrays, fuse_relu=True, beta=[0, 0, 0], on_engine=False)
    with pytest.raises(TypeError, match="takes no options, got sbuf_bytes"):
        backward(**arrays, backend=GoldenEngine(), sbuf_bytes=1024)


def test_rejected_instruction_is_an_error():
    engine = GoldenEngine()
    with pytest.raises(RuntimeError, match=r"instruction 0 \(opcode 0x63\).*LENGTH"):
        engine.execute(Step((), b"\x63" + bytes(63), 0))


@ways
def test_default_layer_meets_the_published_bounds(on_engine):
    layer = digits_layer()
    gradients = backward(
        layer["dy"],
        layer["x"],
        layer["mean"],
        layer["gamma"],
        inv_std=layer["inv_std"],
        on_engine=on_engine,
    )
    checked = Layer.from_arrays(
        layer["dy"], layer["x"], layer["mean"], layer["gamma"], inv_std=layer["inv_std"]
    )
    shipped = Gradients(layer["d_x"], layer["d_gamma"], layer["d_beta"])
    assert max(relative_errors(checked, gradients, shipped)) <= BOUND


def test_golden_does_not_load_the_hardware():
    program = (
        "import sys, dve_golden.batchnorm\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "sys.exit(str(loaded & {'dve_rtl', 'dve_cosim', 'amaranth', 'cocotb'})"
        " if loaded & {'dve_rtl', 'dve_cosim', 'amaranth', 'cocotb'} else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_arrays_of_bfloat16():
    arrays = layer_arrays((6, 4, 5), seed=2)
    stored = {name: arrays[name].astype(ml_dtypes.bfloat16) for name in ("x", "dy")}
    widened = {name: array.astype(np.float32) for name, array in stored.items()}
    taken = backward(**(arrays | stored), dtype="bf16")
    for got, want in zip(taken, backward(**(arrays | widened), dtype="bf16"), strict=True):
        assert got.tobytes() == want.tobytes()


def test_a_gradient_that_meets_an_input_next_to_the_mean():
    """docs/studies/backward.md: d_gamma keeps to max|dy| sum|x_norm|, not to sum|dy x_norm|."""
    x = np.array([13325.03, 13328.303, 13326.667], np.float32)
    dy = np.array([0, 0, 1], np.float32)
    exact = x.astype(np.float64)
    inv_std = 1 / np.sqrt(exact.var() + 1e-5)
    x_norm = (exact - exact.mean()) * inv_std
    got = backward(
        dy[:, None], x[:, None], [np.float32(exact.mean())], [1], var=[exact.var()], eps=1e-5
    )
    off = abs(float(got.d_gamma[0]) - (dy * x_norm).sum())
    assert 2**-14 < off / np.abs(dy * x_norm).sum() < 2**-12
    assert off < 2**-22 * np.abs(x_norm).sum()
