"""`dve_torch.BatchNorm2d` and `convert` in the place of PyTorch's own."""

import copy
import io
import subprocess
import sys
from functools import partial
from typing import Any

import dve_torch
import pytest
import torch
from dve_golden.batchnorm import GoldenEngine
from torch import nn

assert_close = partial(torch.testing.assert_close, rtol=2e-5, atol=2e-5)


def model(**options):
    """Two layers, the second inside another module."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.BatchNorm2d(3, **options),
        nn.ReLU(),
        nn.Sequential(nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2, **options)),
    )


def norms(net) -> list[Any]:
    return [each for each in net.modules() if isinstance(each, nn.BatchNorm2d)]


def images(count):
    rng = torch.Generator().manual_seed(1)
    return [torch.randn(4, 1, 6, 6, generator=rng) for _ in range(count)]


def trained(net, batches):
    """Parameters and buffers after a step with each batch."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
    return net.state_dict()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": None},
        {"momentum": 0.5, "eps": 0.1},
        {"affine": False},
        {"track_running_stats": False},
    ],
)
@pytest.mark.parametrize("backend", ["golden", "float64"])
def test_steps_are_those_of_pytorch(options, backend):
    net, own = dve_torch.convert(model(**options), backend=backend), model(**options)
    found, want = (trained(each, images(3)) for each in (net, own))
    assert found.keys() == want.keys()
    for name, value in want.items():
        assert_close(found[name], value, msg=lambda m, n=name: f"{n}: {m}")
    (batch,) = images(1)
    assert_close(net.eval()(batch), own.eval()(batch))


def test_tracking_may_be_switched_off():
    net = dve_torch.convert(model())
    for layer in norms(net):
        layer.track_running_stats = False
    before = norms(net)[0].running_mean.clone()
    (batch,) = images(1)
    net(batch)
    assert norms(net)[0].num_batches_tracked == 0
    assert torch.equal(norms(net)[0].running_mean, before)


def test_conversion_keeps_what_others_hold():
    net = model()
    (layer, inner), seen = norms(net), []
    layer.register_forward_hook(lambda *_: seen.append(1))
    net.append(layer)  # a layer in two places
    net.insert(4, nn.Conv2d(2, 3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    assert dve_torch.convert(net) is net
    assert net[1] is net[5] is layer
    assert isinstance(layer, dve_torch.BatchNorm2d)
    assert layer.backend is inner.backend
    (batch,) = images(1)
    net(batch).square().mean().backward()
    before = layer.weight.detach().clone()
    optimizer.step()
    assert (layer.weight != before).all()
    assert seen == [1, 1]


def test_converting_again_changes_the_backend():
    net = dve_torch.convert(model())
    engine = GoldenEngine()
    dve_torch.convert(net, backend=engine, dtype="bf16", mean_coupling=False)
    (backend,) = {layer.backend for layer in norms(net)}
    assert (backend.engine, backend.dtype, backend.mean_coupling) == (engine, "bf16", False)


def test_evaluation_is_pytorch_s_own():
    class Refuses:
        """A backend that must not be asked."""

        def gradients(self, *_):
            raise AssertionError

        statistics = stored = gradients

    net = dve_torch.convert(model(), backend=Refuses()).eval()
    (batch,) = images(1)
    assert torch.equal(net(batch), model().eval()(batch))


def test_a_copy_shares_the_engine_and_nothing_else():
    net = dve_torch.convert(model())
    other = copy.deepcopy(net)
    assert norms(other)[0].backend is norms(net)[0].backend
    trained(other, images(1))
    for name, value in model().state_dict().items():
        assert torch.equal(net.state_dict()[name], value), name


@pytest.mark.parametrize("backend", ["golden", "rtl", "float64"])
def test_a_whole_model_is_saved_and_loaded(backend):
    net, stream = dve_torch.convert(model(), backend=backend), io.BytesIO()
    torch.save(net, stream)
    stream.seek(0)
    other = torch.load(stream, weights_only=False)
    first, second = norms(other)
    assert first.backend is second.backend
    assert type(first.backend) is type(norms(net)[0].backend)
    for name, value in net.state_dict().items():
        assert torch.equal(other.state_dict()[name], value), name


def test_a_model_itself_may_be_the_layer():
    layer = dve_torch.convert(nn.BatchNorm2d(2))
    assert isinstance(layer, dve_torch.BatchNorm2d)
    assert isinstance(dve_torch.BatchNorm2d(2, backend="float64").backend, dve_torch.Float64)


def test_subclasses_are_left_alone():
    class Own(nn.BatchNorm2d):
        pass

    net = dve_torch.convert(nn.Sequential(Own(2), nn.BatchNorm2d(2)))
    assert type(net[0]) is Own


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), "Sequential has no torch.nn.Batch"),
        (nn.BatchNorm3d(2), "BatchNorm3d has no torch.nn.BatchNorm2d"),
    ],
)
def test_nothing_to_convert_is_an_error(net, message):
    with pytest.raises(ValueError, match=message):
        dve_torch.convert(net)


def test_an_unknown_backend_leaves_the_model_as_it_was():
    net = model()
    with pytest.raises(ValueError, match="backend must be"):
        dve_torch.convert(net, backend="silicon")
    assert type(net[1]) is nn.BatchNorm2d


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 2), "expected 4D input"),
        ((4, 3, 2, 2), "expected 2 channels, got 3"),
        ((1, 2, 1, 1), "more than one element"),
        ((0, 2, 3, 3), "no elements"),
    ],
)
def test_inputs_that_do_not_fit(shape, message):
    layer = dve_torch.BatchNorm2d(2)
    with pytest.raises(ValueError, match=message):
        layer(torch.zeros(shape))
    assert layer.num_batches_tracked == 0


def test_without_pytorch_it_says_how_to_get_it():
    program = "import sys; sys.modules['torch'] = None; import dve_torch"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: dve_torch needs PyTorch: pip install 'opendve[torch]'"
    )


def test_nothing_else_loads_pytorch():
    program = (
        "import sys, importlib\n"
        "import dve_golden.batchnorm, dve_rtl.engine, dve_cosim.batchnorm_rtl\n"
        "from dve_cli.main import SUBCOMMANDS, load\n"
        "for name in SUBCOMMANDS: load(name)\n"
        "sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
