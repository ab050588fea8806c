"""Training runs: what they share, what they keep, and that nothing but the backend differs."""

import numpy as np
import pytest
import torch
from dve_golden.batchnorm import GoldenEngine
from dve_torch import choose_backend
from dve_torch.comparison import GOLDEN, GOLDEN_BF16, RTL, TORCH, Comparison, compare
from dve_torch.digits import DigitsNet, digits
from dve_torch.plot import FORMATS, curves
from dve_torch.training import BATCH, TRAINED, Run, train
from torch import nn
from torch.nn import functional

STEPS = 3


@pytest.fixture(scope="module")
def comparison():
    return compare(STEPS, seed=1, rtl=GoldenEngine(sbuf_bytes=4096), rtl_steps=2)


def test_runs_are_what_they_are_called(comparison):
    assert {name: run.steps for name, run in comparison.runs.items()} == {
        **{TORCH: 3, GOLDEN: 3, GOLDEN_BF16: 3},
        RTL: 2,
    }
    assert comparison.differing_bits == 0
    assert comparison.deviation(TORCH).tolist() == [0, 0, 0]
    assert 0 < comparison.deviation(GOLDEN).max() < 2.0**-20
    assert 1e-4 < comparison.deviation(GOLDEN_BF16).max() < 0.05


def test_golden_has_the_memory_of_the_engine(comparison):
    """Which decides how sums are cut into tiles, and with them the last bits."""
    roomy = compare(1, seed=1)
    assert (roomy.runs[GOLDEN].parameters != comparison.runs[GOLDEN].parameters[:1]).any()
    assert RTL not in roomy.runs
    assert roomy.differing_bits == 0


def test_the_first_step_is_a_plain_step_of_sgd(comparison):
    torch.manual_seed(1)
    net, data = DigitsNet(), digits()
    batch = torch.randperm(TRAINED)[:BATCH]
    loss = functional.cross_entropy(net(data.images[batch]), data.labels[batch])
    loss.backward()
    torch.optim.SGD(net.parameters(), lr=0.05).step()
    run = comparison.runs[TORCH]
    assert run.loss[0] == pytest.approx(loss.item(), rel=1e-5)
    want = nn.utils.parameters_to_vector(net.parameters()).detach().numpy()
    np.testing.assert_allclose(run.parameters[0], want, atol=1e-6)
    net.eval()
    right = net(data.images[TRAINED:]).argmax(1) == data.labels[TRAINED:]
    assert run.accuracy[0] == pytest.approx(right.double().mean().item(), abs=0.01)


def test_same_seed_same_bits_whatever_was_before(comparison):
    torch.manual_seed(77)
    state = torch.random.get_rng_state()
    threads = torch.get_num_threads()
    backend = choose_backend("golden", sbuf_bytes=4096)
    again, other = (train(2, seed=seed, backend=backend) for seed in (1, 2))
    golden = comparison.runs[GOLDEN]
    assert again.parameters.tobytes() == golden.parameters[:2].tobytes()
    assert again.loss.tobytes() == golden.loss[:2].tobytes()
    assert other.loss[0] != again.loss[0]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()


def test_progress_counts_steps():
    told = []
    train(2, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_it_learns():
    run = train(40)
    assert run.loss[-5:].mean() < run.loss[:5].mean() / 4
    assert run.accuracy[-1] > 0.8
    assert run.accuracy[0] < 0.4


def test_every_bit_counts(comparison):
    golden = comparison.runs[GOLDEN]
    loss, parameters = golden.loss[:2].copy(), golden.parameters[:2].copy()
    loss.view(np.uint32)[1] ^= 1
    parameters.view(np.uint32)[0, 9] ^= 0b110
    off = Run(loss, golden.accuracy[:2], parameters, 0)
    assert Comparison(1, {**comparison.runs, RTL: off}).differing_bits == 3


def test_report_holds_every_curve(comparison):
    report = comparison.report()
    assert report["differing_bits"] == 0
    assert set(report["training"]) == {TORCH, GOLDEN, GOLDEN_BF16, RTL}
    golden = report["training"][GOLDEN]
    assert np.array(golden["loss"], np.float32).tobytes() == (
        comparison.runs[GOLDEN].loss.tobytes()
    )
    assert golden["deviation"] == comparison.deviation(GOLDEN).tolist()
    assert len(report["training"][RTL]["accuracy"]) == 2


@pytest.mark.parametrize("form", FORMATS)
def test_plot(comparison, form):
    drawn = curves(comparison, form)
    assert drawn.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[form])
    assert drawn == curves(comparison, form)
