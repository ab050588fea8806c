"""Batch norm in PyTorch's graph: the oracle by finite differences, golden against the oracle."""

from typing import Any

import numpy as np
import pytest
import torch
from dve_golden.batchnorm import GoldenEngine, Layer, reference
from dve_golden.batchnorm import Gradients as Arrays
from dve_golden.batchnorm.accuracy import relative_errors
from dve_torch import EngineBackend, Float64, batch_norm, choose_backend
from torch.nn import functional

SHAPES = [(9, 3), (2, 4, 7), (4, 3, 5, 6), (2, 2, 3, 2, 4), (40, 130)]
ORACLE = Float64()
BOUND = 2.0**-20
"""Of the gradients with given statistics, relative to the scale of their terms; docs/numerics.md
and docs/studies/backward.md."""

VARIANCE_BOUND = 4e-6
"""Of the variance by Stats2 and Aggregate, relative to itself where no mean is far from 0."""


def operands(shape, dtype=torch.float32, *, mean=0.5, seed=0):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=rng, dtype=torch.float64) + mean
    gamma, beta = torch.randn(2, shape[1], generator=rng, dtype=torch.float64)
    dy = torch.randn(shape, generator=rng, dtype=torch.float64)
    return tuple(each.to(dtype) for each in (x, gamma, beta, dy))


def differentiated(backend, x, gamma, beta, dy):
    """The output, the statistics and the three gradients."""
    leaves = [each.clone().requires_grad_() for each in (x, gamma, beta)]
    y, mean, var = batch_norm(*leaves, backend=backend)
    y.backward(dy)
    return y.detach(), mean, var, Arrays(*(each.grad.numpy() for each in leaves))


@pytest.mark.parametrize("shape", [(5, 2), (3, 2, 4), (2, 3, 3, 2)])
def test_oracle_is_the_derivative_of_its_output(shape):
    x, gamma, beta, _ = (each.requires_grad_() for each in operands(shape, torch.float64))
    assert torch.autograd.gradcheck(
        lambda *leaves: batch_norm(*leaves, backend=ORACLE)[0], (x, gamma, beta)
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_oracle_is_pytorch_in_float64(shape):
    x, gamma, beta, dy = operands(shape, torch.float64)
    y, mean, var, found = differentiated(ORACLE, x, gamma, beta, dy)
    leaves = [each.clone().requires_grad_() for each in (x, gamma, beta)]
    want = functional.batch_norm(leaves[0], None, None, *leaves[1:], training=True)
    want.backward(dy)
    torch.testing.assert_close(y, want.detach())
    for got, leaf in zip(found, leaves, strict=True):
        torch.testing.assert_close(torch.from_numpy(got), leaf.grad)
    axes = [0, *range(2, len(shape))]
    torch.testing.assert_close(mean, x.mean(axes))
    torch.testing.assert_close(var, x.var(axes, correction=0))


@pytest.mark.parametrize("mean", [0.0, 3.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_golden_is_within_its_bounds_of_the_oracle(shape, mean):
    x, gamma, beta, dy = operands(shape, mean=mean)
    y, found_mean, found_var, found = differentiated(choose_backend("golden"), x, gamma, beta, dy)
    exact_y, exact_mean, exact_var, exact = differentiated(
        ORACLE, *(each.double() for each in (x, gamma, beta, dy))
    )
    spread = exact_var.sqrt()
    assert ((found_mean - exact_mean).abs() <= VARIANCE_BOUND * (exact_mean.abs() + spread)).all()
    variance_error = float(((found_var - exact_var) / exact_var).abs().max())
    assert variance_error <= VARIANCE_BOUND

    layer = Layer.from_arrays(
        dy.numpy(), x.numpy(), found_mean.numpy(), gamma.numpy(), var=found_var.numpy(), eps=1e-5
    )
    given = relative_errors(layer, found, reference(layer))
    assert max(given) <= BOUND
    # A relative error r of inv_std is one of r in the factor of d_x, of r in d_gamma, and of 2 r
    # in x_norm d_gamma, which is at most max|x_norm| times N max|dy|.
    r = variance_error / 2 + 2.0**-24
    normal = float(((exact_y.double() - _wide(beta, x)) / _wide(gamma, x)).abs().max())
    whole = relative_errors(layer, found, exact)
    assert whole.d_x <= BOUND + r * (2 + 3 * normal)
    assert whole.d_gamma <= BOUND + r
    assert whole.d_beta <= BOUND
    torch.testing.assert_close(y, exact_y.float(), rtol=1e-5, atol=1e-5)


def _wide(values, x):
    return values.double().reshape(-1, *(1,) * (x.ndim - 2))


def test_storage_format_rounds_what_the_device_keeps():
    """bf16 x in both passes, and values of bf16 in d_x."""
    x, gamma, beta, dy = operands((6, 3, 4, 4))
    coarse = x.bfloat16().float()
    backend = choose_backend("golden", dtype="bf16")
    results = [differentiated(backend, each, gamma, beta, dy) for each in (x, coarse)]
    for one, other in zip(*results, strict=True):
        for got, want in zip(one, other, strict=True):
            np.testing.assert_array_equal(got, want)
    y, _, _, found = results[0]
    assert (found.d_x == torch.from_numpy(found.d_x).bfloat16().float().numpy()).all()
    want = functional.batch_norm(coarse, None, None, gamma, beta, training=True)
    torch.testing.assert_close(y, want)


def test_mean_coupling_is_passed_on():
    class Coarse(EngineBackend):
        """Keeps the mean in bf16."""

        def statistics(self, x, eps):
            found = super().statistics(x, eps)
            return found._replace(mean=found.mean.bfloat16().float())

    given = operands((64, 3, 4, 4), mean=10.0)
    exact = differentiated(ORACLE, *(each.double() for each in given))[3]
    errors = [
        np.abs(
            differentiated(Coarse(GoldenEngine(), mean_coupling=coupled), *given)[3].d_gamma
            - exact.d_gamma
        ).max()
        for coupled in (True, False)
    ]
    assert 100 * errors[0] < errors[1]


def test_neither_parameter_is_needed():
    x, *_, dy = operands((7, 3, 2, 2))
    x.requires_grad_()
    y, *_ = batch_norm(x, backend=choose_backend("golden"))
    y.backward(dy)
    want = x.detach().clone().requires_grad_()
    functional.batch_norm(want, None, None, training=True).backward(dy)
    torch.testing.assert_close(x.grad, want.grad)


def test_strides_do_not_matter():
    x, gamma, beta, dy = operands((4, 3, 5, 6))
    backend = choose_backend("golden")
    want = differentiated(backend, x, gamma, beta, dy)
    x, dy = (each.contiguous(memory_format=torch.channels_last) for each in (x, dy))
    found = differentiated(backend, x, gamma, beta, dy)
    for one, other in zip(found[3], want[3], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_second_derivative_is_refused():
    x, gamma, beta, _ = operands((5, 2))
    x.requires_grad_()
    y, *_ = batch_norm(x, gamma, beta, backend=choose_backend("golden"))
    (d_x,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        d_x.sum().backward()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(4, 2, dtype=torch.float64), "the engine takes float32, got torch.float64"),
        (torch.zeros(4, 2, dtype=torch.bfloat16), "the engine takes float32, got torch.bfloat16"),
        (torch.zeros(4, 2, device="meta"), "tensors of the CPU, got one on meta"),
        (torch.zeros(4), "rank 2 to 5"),
        (torch.full((4, 2), torch.nan), "var must be finite"),
    ],
)
def test_tensors_that_the_engine_does_not_take(x, message):
    with pytest.raises(ValueError, match=message):
        batch_norm(x, backend=choose_backend("golden"))


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 1), ()])
@pytest.mark.parametrize("name", ["weight", "bias"])
def test_parameters_have_an_element_per_channel(name, shape):
    """None is spread over the channels: the engine would refuse it in the backward pass."""
    given: dict[str, Any] = {name: torch.ones(shape)}
    with pytest.raises(ValueError, match=rf"{name} must have shape \(3,\), got"):
        batch_norm(torch.randn(4, 3), **given, backend=choose_backend("golden"))


def test_a_name_is_no_backend():
    with pytest.raises(TypeError, match="what choose_backend returns, got 'golden'"):
        batch_norm(torch.randn(4, 3), backend="golden")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("backend", "options", "error", "message"),
    [
        ("verilog", {}, ValueError, "backend must be 'golden', 'rtl' or 'float64', got 'verilog'"),
        (None, {}, ValueError, "backend must be"),
        ("golden", {"dtype": "fp8"}, ValueError, "dtype must be one of fp32, bf16, fp16"),
        ("golden", {"generation": "inferentia"}, ValueError, "generation must be one of"),
        ("rtl", {"lanes": 3}, ValueError, "lanes must be one of"),
        ("float64", {"dtype": "bf16"}, TypeError, "takes no dtype"),
        (ORACLE, {"sbuf_bytes": 1024}, TypeError, "takes no dtype, mean_coupling or engine"),
        (GoldenEngine(), {"sbuf_bytes": 1024}, TypeError, "an engine takes no options"),
    ],
)
def test_unknown_backends_and_options(backend, options, error, message):
    with pytest.raises(error, match=message):
        choose_backend(backend, **options)
