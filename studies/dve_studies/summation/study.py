"""All measurements of the page, as plain numbers that JSON holds.

Each function measures one section and takes what makes it large, so that tests repeat it small.
Seeds are fixed: the same code gives the same numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from dve_golden.batchnorm.layout import Layout
from dve_golden.fp32.arithmetic import Floats
from dve_golden.isa.enums import Dtype

from dve_studies.summation.data import (
    CHANNEL,
    HARD,
    Terms,
    digits,
    drawn,
    ill_conditioned,
    real_terms,
)
from dve_studies.summation.errors import Errors, Exact, measure
from dve_studies.summation.layers import gradient_errors, storage_errors
from dve_studies.summation.schemes import FOLD, SCHEMES

Progress = Callable[[str, int, int], None]
"""Called with the name of a section, the steps done, and all its steps."""

SMALLEST, LARGEST = 8, 1 << 20
"""Terms of the shortest and the longest sum of `growth`."""

PARTITION_KIB = (64, 256)
"""SBUF per partition: the default of `dve_golden.batchnorm.backward`, and the largest."""

TYPICAL = 1 << 14
"""Terms where one length must do; within `TILES`."""

TILES = tuple(Layout.fit(Dtype.FP32, LARGEST, kib * 1024).tile_elements for kib in PARTITION_KIB)
"""Most elements that one instruction sums in fp32, for each partition."""

TILE = TILES[0]

TILED = f"{FOLD.name}, tiles of {TILE:,}"
"""The fold as `backward` uses it: the host adds the fp32 sums of the tiles in binary64."""

STORAGE = "binary64, from bf16"
"""No error but that of storing x and dy in bf16."""

LABELS = {"dy": "dy", "product": "dy * xn", "xn": "xn"}
"""How `Terms` are called here."""

PERMUTATIONS = 1000
CONDITIONS = tuple(2.0**exponent for exponent in range(0, 49, 2))
LAYER_SIZES = tuple(1 << exponent for exponent in range(11, 18))
_TERMS_AT_ONCE = 1 << 21
"""What one call of a scheme gets, since schemes make a few copies of it."""


@dataclass(frozen=True)
class Summary:
    """Errors of one scheme on a set of sums; see `dve_studies.summation.errors.Errors`.

    Members
    -------
    rms, worst : float
        Relative to sum|x|: root mean square, and largest.
    median_ulp, worst_ulp : float
        In ulp of the exact sum.
    correct : float
        Share of sums that are correctly rounded.
    """

    rms: float
    worst: float
    median_ulp: float
    worst_ulp: float
    correct: float

    @classmethod
    def of(cls, errors: Errors) -> "Summary":
        return cls(
            errors.rms,
            errors.worst,
            float(np.median(errors.ulps)),
            float(errors.ulps.max()),
            float(errors.correct.mean()),
        )


@dataclass(frozen=True)
class Case:
    """Errors of every scheme on one set of sums.

    Members
    -------
    terms : str
        What is summed.
    n, sums : int
        Terms of a sum, and how many sums.
    condition : float
        Median condition number, sum|x| / |sum x|; infinite if most sums are 0.
    errors : dict of str to Summary
        By the name of the scheme.
    """

    terms: str
    n: int
    sums: int
    condition: float
    errors: dict[str, Summary]


@dataclass(frozen=True)
class Order:
    """How much the order of its terms changes one sum.

    Members
    -------
    terms : str
    n, permutations : int
    distinct : dict of str to int
        Different results of each scheme.
    spread : dict of str to float
        Largest less smallest result, relative to sum|x|.
    """

    terms: str
    n: int
    permutations: int
    distinct: dict[str, int]
    spread: dict[str, float]


@dataclass(frozen=True)
class LayerErrors:
    """Largest errors of a layer's gradients, relative to the scale of their terms.

    Members
    -------
    computed : str
        How its sums are formed: a scheme, `TILED` or `STORAGE`.
    n : int
        Elements of a channel.
    d_x, d_gamma, d_beta : float
    """

    computed: str
    n: int
    d_x: float
    d_gamma: float
    d_beta: float


@dataclass(frozen=True)
class Study:
    """Everything that is measured; one list per section."""

    growth: list[Case]
    layout: list[Case]
    hard: list[Case]
    conditioned: list[Case]
    order: list[Order]
    layers: list[LayerErrors]


def quiet(step: str, done: int, total: int) -> None:
    """A `Progress` that shows nothing."""


def run(largest: int = LARGEST, progress: Progress = quiet) -> Study:
    """Measure everything.

    Parameters
    ----------
    largest
        Terms of the longest sum of `growth`, and of the largest layer; at least 2,048.
    progress
        Told of every step.
    """
    return Study(
        growth=growth(largest, progress),
        layout=layout(TYPICAL, progress),
        hard=hard(TYPICAL, progress),
        conditioned=conditioned(2048, CONDITIONS, progress),
        order=order(PERMUTATIONS, progress),
        layers=layers([n for n in LAYER_SIZES if n <= largest], progress),
    )


def case(terms: str, values: Floats) -> Case:
    """Measure every scheme on the rows of ``values``, [sums, n], a few rows at a time."""
    sums, n = values.shape
    step = max(_TERMS_AT_ONCE // n, 1)
    parts = [values[at : at + step] for at in range(0, sums, step)]
    references = [Exact.of(part) for part in parts]
    measured = [measure(*pair) for pair in zip(parts, references, strict=True)]
    return Case(
        terms,
        n,
        sums,
        float(np.median(np.concatenate([each.conditions for each in references]))),
        {s.name: Summary.of(Errors.join(m[s.name] for m in measured)) for s in SCHEMES},
    )


GROWTH: dict[str, tuple[str, Callable[[Terms], Floats]]] = {
    "dy, fp32": ("fp32", lambda terms: terms.dy),
    "dy, bf16": ("bf16", lambda terms: terms.dy),
    "dy * xn": ("fp32", lambda terms: terms.product),
    "xn": ("fp32", lambda terms: terms.xn),
}
"""What `growth` sums: name to storage format of the layer, and choice of its terms."""


def growth(largest: int, progress: Progress = quiet) -> list[Case]:
    """Real terms, n = 8, 16, ... ``largest``."""
    lengths = _powers(SMALLEST, largest)
    cases = []
    for done, n in enumerate(lengths):
        progress("lengths", done, len(lengths))
        for dtype in ("fp32", "bf16"):
            terms = real_terms(n, dtype)
            cases += [
                case(name, choose(terms)) for name, (d, choose) in GROWTH.items() if d == dtype
            ]
    progress("lengths", len(lengths), len(lengths))
    return cases


def layout(n: int, progress: Progress = quiet) -> list[Case]:
    """Real terms in the order of the layer, and the same in random order."""
    shuffled = np.random.default_rng(0).permutation(n)
    cases = []
    terms = real_terms(n)._asdict()
    for done, (name, values) in enumerate(terms.items()):
        progress("layout", done, len(terms))
        cases.append(case(f"{LABELS[name]}, as laid out", values))
        cases.append(case(f"{LABELS[name]}, shuffled", np.ascontiguousarray(values[:, shuffled])))
    progress("layout", len(terms), len(terms))
    return cases


def hard(n: int, progress: Progress = quiet) -> list[Case]:
    """Terms made to be hard."""
    cases = []
    for done, (name, make) in enumerate(HARD.items()):
        progress("hard", done, len(HARD))
        cases.append(case(name, make(n, np.random.default_rng(1))))
    progress("hard", len(HARD), len(HARD))
    return cases


def conditioned(n: int, conditions: Sequence[float], progress: Progress = quiet) -> list[Case]:
    """Sums of prescribed condition numbers."""
    cases = []
    for done, condition in enumerate(conditions):
        progress("condition", done, len(conditions))
        rng = np.random.default_rng(2)
        cases.append(case("ill-conditioned", ill_conditioned(n, condition, rng)))
    progress("condition", len(conditions), len(conditions))
    return cases


def order(permutations: int, progress: Progress = quiet) -> list[Order]:
    """The first channel of the digits layer in many random orders."""
    rng = np.random.default_rng(3)
    results = []
    terms = real_terms(2048)._asdict()
    for done, (name, values) in enumerate(terms.items()):
        progress("order", done, len(terms))
        row = values[0]
        rows = rng.permuted(np.tile(row, (permutations, 1)), axis=1)
        sums = {scheme.name: scheme.sums(rows).astype(np.float64) for scheme in SCHEMES}
        magnitude = float(np.abs(row.astype(np.float64)).sum())
        results.append(
            Order(
                LABELS[name],
                len(row),
                permutations,
                {scheme: len(np.unique(each)) for scheme, each in sums.items()},
                {scheme: float(np.ptp(each)) / magnitude for scheme, each in sums.items()},
            )
        )
    progress("order", len(terms), len(terms))
    return results


def layers(sizes: Sequence[int], progress: Progress = quiet) -> list[LayerErrors]:
    """Gradients of real layers of several sizes, sums formed in every way."""
    results = []
    for done, n in enumerate(sizes):
        progress("gradients", done, len(sizes))
        layer, stored = (
            digits(dtype) if n == CHANNEL else drawn(n, n, dtype) for dtype in ("fp32", "bf16")
        )
        found = {scheme.name: gradient_errors(layer, scheme) for scheme in SCHEMES}
        found[TILED] = gradient_errors(layer, FOLD, TILE)
        found[STORAGE] = storage_errors(stored, layer)
        results += [LayerErrors(computed, n, *errors) for computed, errors in found.items()]
    progress("gradients", len(sizes), len(sizes))
    return results


def _powers(first: int, last: int) -> list[int]:
    """``first`` and its doubles up to ``last``."""
    return [n for n in (first << k for k in range(last.bit_length())) if n <= last]
