"""PyTorch models in training on the Verilog: the bits of golden, in one simulator."""

import pytest
import torch
from benches.configs import SMALL
from dve_cosim.batchnorm_rtl import engine
from dve_golden.batchnorm import GoldenEngine
from dve_torch import convert
from torch import nn

CONFIG = SMALL[4]


def model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2)
    )


def trained(net, steps):
    """Losses, parameters and running statistics."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    rng = torch.Generator().manual_seed(1)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(torch.randn(4, 1, 6, 6, generator=rng)).pow(4).mean()
        loss.backward()
        optimizer.step()
        found.append(loss.detach())
    return torch.stack(found), *net.state_dict().values()


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_no_bit_differs_from_golden(dtype):
    """64 elements of a channel; sums are cut alike, because golden has the same memory."""
    golden = GoldenEngine(sbuf_bytes=CONFIG.sbuf_bytes, psum_bytes=CONFIG.psum_bytes)
    with engine(config=CONFIG) as rtl:
        found = trained(convert(model(), backend=rtl, dtype=dtype), steps=2)
    want = trained(convert(model(), backend=golden, dtype=dtype), steps=2)
    own = trained(model(), steps=2)
    for got, expected in zip(found, want, strict=True):
        assert torch.equal(got, expected)
    assert not torch.equal(found[0], own[0])
