"""The measurements as a file: JSON, where null stands for infinity."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dve_studies.summation.study import Case, LayerErrors, Order, Study, Summary

PAGE_FOLDER = Path(__file__).parents[3] / "docs" / "studies"
"""Where the page is, with its figures and the measurements that they show."""

FILE = "summation.json"

_DIGITS = 6
"""Significant digits that are kept."""


def dumps(study: Study) -> bytes:
    """The measurements as JSON, a case per line."""
    sections = (
        f'"{name}": [\n' + ",\n".join(json.dumps(_packed(entry)) for entry in entries) + "\n]"
        for name, entries in asdict(study).items()
    )
    return ("{\n" + ",\n".join(sections) + "\n}\n").encode()


def loads(text: bytes) -> Study:
    """The inverse of `dumps`, up to the digits that it dropped."""
    sections = _unpacked(json.loads(text))
    return Study(
        *(
            [
                Case(**entry | {"errors": {k: Summary(**v) for k, v in entry["errors"].items()}})
                for entry in sections[name]
            ]
            for name in ("growth", "layout", "hard", "conditioned")
        ),
        order=[Order(**entry) for entry in sections["order"]],
        layers=[LayerErrors(**entry) for entry in sections["layers"]],
    )


def published() -> Study:
    """The measurements that the page shows."""
    return loads((PAGE_FOLDER / FILE).read_bytes())


def rounded(study: Study) -> Study:
    """The measurements as a file keeps them."""
    return loads(dumps(study))


def _packed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _packed(each) for key, each in value.items()}
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unpacked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    return math.inf if value is None else value
