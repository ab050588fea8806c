"""A small convolutional network and the handwritten digits that it learns."""

from typing import NamedTuple

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional

CHANNELS = 16
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

    def forward(self, images: Tensor) -> Tensor:
        """Logits [N, 10] of images [N, 1, 8, 8]."""
        hidden = functional.relu(self.norm1(self.conv1(images)))
        normal = self.norm2(self.conv2(hidden))
        return self.classify(functional.max_pool2d(functional.relu(normal), 2).flatten(1))


class Digits(NamedTuple):
    """Images [N, 1, 8, 8], float32 from 0 to 1, and labels [N], int64."""

    images: Tensor
    labels: Tensor


def digits() -> Digits:
    """scikit-learn's copy of the UCI handwritten digits: 1,797, in the order of the file."""
    pixels, labels = load_digits(return_X_y=True)
    images = torch.tensor(pixels.reshape(-1, 1, 8, 8) / 16, dtype=torch.float32)
    return Digits(images, torch.tensor(labels))
