"""The measurements as a file: JSON, where null stands for infinity."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dve_studies.backward.study import Errors, Measured

PAGE_FOLDER = Path(__file__).parents[3] / "docs" / "studies"
"""Where the page is, with the measurements that it shows."""

FILE = "backward.json"

_DIGITS = 4
"""Significant digits that are kept."""

_WAYS = ("engine", "host", "narrow", "narrow_product")


def dumps(found: list[Measured]) -> bytes:
    """The measurements as JSON, a case per line."""
    lines = (json.dumps(_packed(asdict(case)), allow_nan=False) for case in found)
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


def loads(text: bytes) -> list[Measured]:
    """The inverse of `dumps`, up to the digits that it dropped."""
    return [
        Measured(**entry | {way: Errors(**_unpacked(entry[way])) for way in _WAYS})
        for entry in json.loads(text)
    ]


def published() -> list[Measured]:
    """The measurements that the page shows."""
    return loads((PAGE_FOLDER / FILE).read_bytes())


def _packed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _packed(each) for key, each in value.items()}
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def _unpacked(errors: dict[str, float | None]) -> dict[str, float]:
    return {key: math.inf if value is None else value for key, value in errors.items()}
