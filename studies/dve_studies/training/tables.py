"""The tables of the page and of the terminal: headings and rows, all text."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from dve_cosim.figures import power

from dve_studies.training.results import Study

WAY = "way"


class Table(NamedTuple):
    """Headings, and rows of as many cells."""

    headings: list[str]
    rows: list[list[str]]


def errors(study: Study) -> Table:
    """d_x and d_gamma of every way, by how far the mean was moved."""
    by_way: dict[str, list[str]] = {}
    moved: dict[float, None] = {}
    for each in study.errors:
        moved[each.deviations] = None
        by_way.setdefault(each.way, []).extend((power(each.d_x), power(each.d_gamma)))
    headings = [f"{name}, +{far:g}" for far in moved for name in ("d_x", "d_gamma")]
    return Table([WAY, *headings], [[way, *cells] for way, cells in by_way.items()])


def orders(study: Study) -> Table:
    """Errors over orders of the elements."""
    return Table(
        ["gradient", "orders", "least error", "median", "largest"],
        [
            [each.gradient, str(each.orders), *map(power, (each.least, each.median, each.most))]
            for each in study.orders
        ],
    )


def training(study: Study) -> Table:
    """Every way of training."""
    return Table(
        [
            *("bias", "mean/std", WAY, "deviation, step 1"),
            *("last step", "loss of last epoch", "recognised", "least to most"),
        ],
        [
            [
                f"{each.bias:g}",
                f"{each.deviations:.3g}",
                each.way,
                f"{each.deviation[0]:.1e}",
                f"{each.deviation[-1]:.1e}",
                f"{each.last_loss:.4f}",
                f"{np.mean(each.accuracy):.1%}",
                f"{min(each.accuracy):.1%} to {max(each.accuracy):.1%}",
            ]
            for each in study.training
        ],
    )


TABLES: dict[str, Callable[[Study], Table]] = {
    function.__name__: function for function in (errors, orders, training)
}

TITLES = {
    "errors": "largest error relative to the scale of the terms; mean moved by so many deviations",
    "orders": "the same errors in fp32, elements of each channel in many orders",
    "training": "deviation of parameters from the run in float64; digits recognised at the end",
}
