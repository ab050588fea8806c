"""The measurements, and their file: JSON with an entry per line. Nothing here needs PyTorch."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PAGE_FOLDER = Path(__file__).parents[3] / "docs" / "studies"
"""Where the page is, with its figures and the measurements that they show."""

FILE = "training.json"

_DIGITS = 4
"""Significant digits that are kept."""


@dataclass(frozen=True)
class Errors:
    """Largest errors of one way over the channels, relative to the scale of their terms.

    Parameters
    ----------
    way : str
    deviations : float
        By which the layer's mean was moved.
    d_x, d_gamma, d_beta : float
    """

    way: str
    deviations: float
    d_x: float
    d_gamma: float
    d_beta: float


@dataclass(frozen=True)
class Orders:
    """The same error, of one gradient, over many orders of the elements."""

    gradient: str
    orders: int
    least: float
    median: float
    most: float


@dataclass(frozen=True)
class Training:
    """Runs of one way from several seeds.

    Parameters
    ----------
    way : str
    bias : float
        Added to the first biases of the convolutions, which moves the means.
    deviations : float
        |mean| / std that comes of it: median over both layers' channels and the seeds, first step.
    loss : list of float
        Of each step, geometric mean over the seeds.
    last_loss : float
        Arithmetic mean of the last epoch and all seeds.
    accuracy : list of float
        Held-out digits recognised at the end, for each seed.
    deviation : list of float
        Largest difference of a parameter from the run in float64, after each step.
    """

    way: str
    bias: float
    deviations: float
    loss: list[float]
    last_loss: float
    accuracy: list[float]
    deviation: list[float]


@dataclass(frozen=True)
class Study:
    """Everything that is measured."""

    errors: list[Errors]
    orders: list[Orders]
    training: list[Training]


_SECTIONS: dict[str, Any] = {"errors": Errors, "orders": Orders, "training": Training}


def dumps(study: Study) -> bytes:
    """The measurements as JSON."""
    sections = (
        f'"{name}": [\n' + ",\n".join(json.dumps(_short(entry)) for entry in entries) + "\n]"
        for name, entries in asdict(study).items()
    )
    return ("{\n" + ",\n".join(sections) + "\n}\n").encode()


def loads(text: bytes) -> Study:
    """The inverse of `dumps`, up to the digits that it dropped."""
    read = json.loads(text)
    return Study(
        **{name: [kind(**entry) for entry in read[name]] for name, kind in _SECTIONS.items()}
    )


def published() -> Study:
    """The measurements that the page shows."""
    return loads((PAGE_FOLDER / FILE).read_bytes())


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
