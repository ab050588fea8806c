"""The tables of the page and of the terminal: headings and rows, all text."""

from collections.abc import Callable
from typing import NamedTuple

from dve_cosim.figures import power, short

from dve_studies.summation.cost import COSTS, LANES
from dve_studies.summation.data import CHANNEL
from dve_studies.summation.schemes import SCHEMES
from dve_studies.summation.study import STORAGE, TILED, TYPICAL, Order, Study

UNKNOWN = "-"

SCHEME, SUMS, UNIT, LANE = "scheme", "sums formed by", "what was measured", "arithmetic of a lane"
WORDS = (SCHEME, SUMS, UNIT, LANE)
"""Headings of columns that hold words; the others hold figures."""


class Table(NamedTuple):
    """Headings, and rows of as many cells."""

    headings: list[str]
    rows: list[list[str]]


def real(study: Study) -> Table:
    """Every scheme on the channels of the digits layer."""
    cases = {case.terms: case for case in study.growth if case.n == CHANNEL}

    def cells(scheme: str, terms: str) -> tuple[str, str, str]:
        errors = cases[terms].errors[scheme]
        return power(errors.worst), short(errors.median_ulp), f"{errors.correct:.0%}"

    figures = ("largest", "median ulp", "correctly rounded")
    shown = ("dy, fp32", "dy * xn")
    return Table(
        [SCHEME, *(f"{terms}: {figure}" for terms in shown for figure in figures), "xn: largest"],
        [
            [
                scheme.name,
                *(cell for terms in shown for cell in cells(scheme.name, terms)),
                cells(scheme.name, "xn")[0],
            ]
            for scheme in SCHEMES
        ],
    )


def layout(study: Study) -> Table:
    """The order of the layer against a random one."""
    return Table(
        [SCHEME, *(case.terms for case in study.layout)],
        [
            [scheme.name, *(power(case.errors[scheme.name].rms) for case in study.layout)]
            for scheme in SCHEMES
        ],
    )


def order(study: Study) -> Table:
    """Results of one sum in many orders."""

    def cells(scheme: str, each: Order) -> tuple[str, str]:
        return f"{each.distinct[scheme]}", power(each.spread[scheme])

    figures = ("results", "spread")
    return Table(
        [SCHEME, *(f"{each.terms}: {figure}" for each in study.order for figure in figures)],
        [
            [scheme.name, *(cell for each in study.order for cell in cells(scheme.name, each))]
            for scheme in SCHEMES
        ],
    )


def gradients(study: Study) -> Table:
    """Errors of the smallest and the largest layer."""
    sizes = sorted({row.n for row in study.layers})
    shown = dict.fromkeys((sizes[0], sizes[-1]))
    names = ("d_beta", "d_gamma", "d_x")
    rows = {(row.computed, row.n): row for row in study.layers}
    return Table(
        [SUMS, *(f"{name}, N = {n:,}" for n in shown for name in names)],
        [
            [how, *(power(getattr(rows[how, n], name)) for n in shown for name in names)]
            for how in (*(scheme.name for scheme in SCHEMES), TILED, STORAGE)
        ],
    )


def cost(_: Study) -> Table:
    """What one sum costs."""
    headings = (
        *(SCHEME, "adders", f"clocks, n = {CHANNEL:,}", f"n = {TYPICAL:,}"),
        *("state bits", "LUT4", "FF", "MHz", UNIT),
    )
    rows = []
    for each in COSTS:
        unit = each.unit
        clocks = (each.clocks(n) for n in (CHANNEL, TYPICAL))
        rows.append(
            [
                each.scheme.name,
                f"{each.adders}",
                *(UNKNOWN if count is None else f"{count:,}" for count in clocks),
                f"{each.state_bits(TYPICAL):,}",
                *(
                    (UNKNOWN,) * 3
                    if unit is None
                    else (f"{unit.lut4:,}", f"{unit.ff:,}", f"{unit.mhz:.0f}")
                ),
                each.remark,
            ]
        )
    return Table(list(headings), rows)


def lane(_: Study) -> Table:
    """What the sums of a lane cost."""
    first = LANES[0]
    return Table(
        [LANE, "LUT4", "FF", "LUT4 against the first"],
        [
            [each.name, f"{each.lut4:,}", f"{each.ff:,}", f"{each.lut4 / first.lut4:.2f}"]
            for each in LANES
        ],
    )


TABLES: dict[str, Callable[[Study], Table]] = {
    function.__name__: function for function in (real, layout, order, gradients, cost, lane)
}

TITLES = {
    "real": f"real sums of {CHANNEL:,}; largest error relative to sum|x|",
    "layout": f"order of the layer or random, n = {TYPICAL:,}; error relative to sum|x|, rms",
    "order": f"one channel, n = {CHANNEL:,}, in many orders; spread relative to sum|x|",
    "gradients": "gradients against binary64, largest error relative to the scale of their terms",
    "cost": "one sum in hardware",
    "lane": "a lane in hardware, without harness",
}
