"""The tables of the page and of the terminal: headings and rows, all text."""

from collections.abc import Callable
from typing import NamedTuple

from dve_cosim.figures import power

from dve_studies.backward.cases import DEVIATIONS
from dve_studies.backward.study import Measured

CASE = "case"


class Table(NamedTuple):
    """Headings, and rows of as many cells."""

    headings: list[str]
    rows: list[list[str]]


def errors(found: list[Measured]) -> Table:
    """Every case; errors relative to the scale of the terms."""
    return Table(
        [
            *(CASE, "d_x: OpenDVE", "bf16 intermediates"),
            *("d_gamma: OpenDVE", "bf16 intermediates", "and bf16 product"),
            *("d_beta: OpenDVE", "bf16 intermediates"),
        ],
        [
            [
                case.case,
                *(power(case.engine.d_x), power(case.narrow.d_x)),
                *(power(case.engine.d_gamma), power(case.narrow.d_gamma)),
                power(case.narrow_product.d_gamma),
                *(power(case.engine.d_beta), power(case.narrow.d_beta)),
            ]
            for case in found
        ],
    )


def own(found: list[Measured]) -> Table:
    """d_gamma relative to itself, by how far the mean is from zero."""
    by_name = {case.case: case for case in found}
    rows = []
    for deviations in DEVIATIONS:
        case = by_name[f"mean/std {deviations:,}"]
        ways = (case.engine, case.narrow, case.narrow_product)
        rows.append([f"{deviations:,}", *(f"{way.own_d_gamma:.2g}" for way in ways)])
    return Table(["mean/std", "OpenDVE", "bf16 intermediates", "and bf16 product"], rows)


TABLES: dict[str, Callable[[list[Measured]], Table]] = {
    function.__name__: function for function in (errors, own)
}

TITLES = {
    "errors": "largest error against binary64, relative to the scale of the terms",
    "own": "median error of d_gamma relative to d_gamma itself",
}
