"""Capture the default data set of ``dve cosim``: one batch-norm layer of one train step.

A small convolutional network is trained on scikit-learn's copy of the UCI handwritten digits. In
the step after the training, x and dy of its second batch-norm layer are kept, with the statistics
of that batch and PyTorch's own gradients. The gradients in float64 are recomputed from the
binary32 arrays that are written.

Needs PyTorch and scikit-learn (``pip install torch==2.13.0 scikit-learn``), which nothing else in
this project uses. Run from the repository's root:

    python scripts/capture_digits_layer.py golden/dve_golden/data/digits_layer.npz
"""

# pyright: reportMissingImports=false
# PyTorch and scikit-learn are needed by this script alone and not among the project's dependencies.

import argparse
import platform
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from dve_golden.batchnorm.layer import Layer
from dve_golden.batchnorm.oracle import reference
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

BATCH = 32
CHANNELS = 16
EPOCHS = 1
LEARNING_RATE = 0.05
EPS = 1e-5


class DigitsNet(nn.Module):
    """Two 3 x 3 convolutions at full 8 x 8 resolution, each with batch norm, then a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, CHANNELS, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(CHANNELS, eps=EPS)
        self.conv2 = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(CHANNELS, eps=EPS)
        self.classify = nn.Linear(CHANNELS * 4 * 4, 10)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Logits, and the input and output of the second batch norm."""
        hidden = functional.relu(self.norm1(self.conv1(images)))
        x = self.conv2(hidden)
        y = self.norm2(x)
        pooled = functional.max_pool2d(functional.relu(y), 2)
        return self.classify(pooled.flatten(1)), x, y


def capture(seed: int) -> dict[str, Any]:
    """Train, take one more step, and return its arrays."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    pixels, labels = load_digits(return_X_y=True)
    images = torch.tensor(pixels.reshape(-1, 1, 8, 8) / 16, dtype=torch.float32)
    targets = torch.tensor(labels)
    net = DigitsNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=0.9)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            functional.cross_entropy(net(images[batch])[0], targets[batch]).backward()
            optimizer.step()

    batch = torch.randperm(len(images))[:BATCH]
    optimizer.zero_grad()
    logits, x, y = net(images[batch])
    x.retain_grad()
    y.retain_grad()
    loss = functional.cross_entropy(logits, targets[batch])
    loss.backward()
    norm = net.norm2
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
