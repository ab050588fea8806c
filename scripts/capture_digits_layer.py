"""Capture the default data set of ``dve cosim``: one batch-norm layer of one train step.

A small convolutional network is trained on scikit-learn's copy of the UCI handwritten digits. In
the step after the training, x and dy of its second batch-norm layer are kept, with the statistics
of that batch and PyTorch's own gradients. The gradients in float64 are recomputed from the
binary32 arrays that are written.

Needs the extra ``opendve[torch]``. Run from the repository's root:

    python scripts/capture_digits_layer.py golden/dve_golden/data/digits_layer.npz
"""

import argparse
import platform
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from dve_golden.batchnorm.layer import Layer
from dve_golden.batchnorm.oracle import reference
from dve_torch.digits import EPS, DigitsNet, digits
from torch import Tensor, nn
from torch.nn import functional

BATCH = 32
EPOCHS = 1
LEARNING_RATE = 0.05


def capture(seed: int) -> dict[str, Any]:
    """Train, take one more step, and return its arrays."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    images, targets = digits()
    net = DigitsNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=0.9)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            functional.cross_entropy(net(images[batch]), targets[batch]).backward()
            optimizer.step()

    batch = torch.randperm(len(images))[:BATCH]
    optimizer.zero_grad()
    norm, kept = net.norm2, {}

    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        kept.update(x=inputs[0], y=output)
        for tensor in kept.values():
            tensor.retain_grad()

    norm.register_forward_hook(keep)
    loss = functional.cross_entropy(net(images[batch]), targets[batch])
    loss.backward()
    x, y = kept["x"], kept["y"]
    _, mean, inv_std = torch.native_batch_norm(
        x, norm.weight, norm.bias, None, None, True, 0.1, EPS
    )
    print(f"loss of the captured step: {loss.item():.4f}")
    tensors = {
        "x": x,
        "dy": y.grad,
        "mean": mean,
        "var": x.var(dim=(0, 2, 3), unbiased=False),
        "inv_std": inv_std,
        "gamma": norm.weight,
        "beta": norm.bias,
        "framework_d_x": x.grad,
        "framework_d_gamma": norm.weight.grad,
        "framework_d_beta": norm.bias.grad,
    }
    arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
    return arrays | {"eps": np.float64(EPS)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path, help="the .npz file to write")
    parser.add_argument("--seed", type=int, default=2026)
    options = parser.parse_args()

    arrays = capture(options.seed)
    layer = Layer.from_arrays(
        arrays["dy"], arrays["x"], arrays["mean"], arrays["gamma"], inv_std=arrays["inv_std"]
    )
    exact = reference(layer)
    provenance = (
        f"scripts/capture_digits_layer.py --seed {options.seed}; Python "
        f"{platform.python_version()}, PyTorch {torch.__version__}, "
        f"scikit-learn {sklearn.__version__}, numpy {np.__version__}; UCI ML handwritten digits "
        f"(scikit-learn's copy); batch norm 2 of 2, batch {BATCH}, epochs of SGD: {EPOCHS}, "
        f"learning rate {LEARNING_RATE}, momentum 0.9"
    )
    np.savez_compressed(
        options.output,
        **arrays,
        d_x=exact.d_x,
        d_gamma=exact.d_gamma,
        d_beta=exact.d_beta,
        provenance=np.str_(provenance),
    )
    print(f"{options.output}: {options.output.stat().st_size} bytes")


if __name__ == "__main__":
    main()
