"""Training the network on the digits, every step kept, so that runs can be laid side by side."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dve_torch.backends import Backend
from dve_torch.convert import convert
from dve_torch.digits import Digits, DigitsNet, digits

BATCH = 32
TRAINED = 1500
"""Digits that are trained on, the first ones of the file; the other 297 are held out."""

LEARNING_RATE = 0.05
MOMENTUM = 0.9

Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many."""


@dataclass(frozen=True, eq=False)
class Run:
    """A training run.

    Members
    -------
    loss : float32 [steps]
        Cross entropy of each step's batch, before the step.
    accuracy : float64 [steps]
        Share of the held-out digits that are recognised after each step.
    parameters : float32 [steps, parameters]
        All of them after each step, in the order of the model.
    seconds : float
        Wall time.
    """

    loss: NDArray[np.float32]
    accuracy: NDArray[np.float64]
    parameters: NDArray[np.float32]
    seconds: float

    @property
    def steps(self) -> int:
        return len(self.loss)


def train(
    steps: int,
    *,
    seed: int = 0,
    backend: Backend | None = None,
    make: Callable[[], nn.Module] = DigitsNet,
    progress: Progress = lambda done, total: None,
) -> Run:
    """Train a network on the digits by SGD with momentum.

    With the same seed, first parameters and batches are the same, whatever computes. Everything is
    computed on one thread, by algorithms that give the same bits in every run on a machine.

    Parameters
    ----------
    steps : int
        At least 1.
    seed : int
    backend : Backend, optional
        Of batch norm; PyTorch's own if not given.
    make : callable
        The network, from images [N, 1, 8, 8] to logits [N, 10].
    progress : callable

    Raises
    ------
    CosimError
        If a simulator is behind the backend and cannot be built or fails.
    """
    start = time.perf_counter()
    with _reproducible(seed):
        net = make()
        if backend is not None:
            convert(net, backend=backend)
        data = digits()
        known, held_out = (
            Digits(data.images[part], data.labels[part])
            for part in (slice(TRAINED), slice(TRAINED, None))
        )
        optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
        losses, accuracies, parameters = [], [], []
        for done, batch in enumerate(islice(_batches(TRAINED), steps)):
            progress(done, steps)
            optimizer.zero_grad()
            loss = functional.cross_entropy(net(known.images[batch]), known.labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            accuracies.append(_accuracy(net, held_out))
            parameters.append(nn.utils.parameters_to_vector(net.parameters()).detach().numpy())
        progress(steps, steps)
    return Run(
        np.array(losses, np.float32),
        np.array(accuracies),
        np.array(parameters),
        time.perf_counter() - start,
    )


def _batches(size: int) -> Iterator[Tensor]:
    """Indices of whole batches, in a new order each time that all were taken."""
    while True:
        yield from torch.randperm(size)[: size - size % BATCH].split(BATCH)


def _accuracy(net: nn.Module, data: Digits) -> float:
    net.eval()
    with torch.no_grad():
        right = net(data.images).argmax(1) == data.labels
    net.train()
    return float(right.double().mean())


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """One thread, deterministic algorithms and the seed; afterwards all is as before."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(strict)
            torch.set_num_threads(threads)
