"""What is summed: terms of a real layer, larger ones made of it, and terms made to be hard.

Every array is float32 [sums, n] and follows from a seed alone: it is formed by correctly rounded
operations, not by exponentials or logarithms of arrays, whose last bit depends on the processor.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from dve_golden.batchnorm.digits import digits_layer
from dve_golden.batchnorm.layer import Layer, channel_major
from dve_golden.fp32.arithmetic import Floats, normalize

from dve_studies.summation.exact import exact_sums, nearest, to_units

IMAGE = 64
"""Elements of a channel that one image of the digits layer has: 8 x 8."""

CHANNEL = 32 * IMAGE
"""Elements of a whole channel of it."""

FACTORS = (0.5, 2.0)
"""Range of the factor on the gradients of a drawn image."""

MOST_RUNS = 512
"""Sums of one length that are taken from the digits layer."""

SUMS = 16
"""Sums of every set that is not the real layer's."""


class Terms(NamedTuple):
    """What GradAccumulate sums, float32 [channels, n] (batchnorm.md section 8).

    Members
    -------
    dy
        Sums to d_beta.
    product
        dy * xn, rounded; sums to d_gamma.
    xn
        Normalised activation; sums to S, which vanishes for an exact mean.
    """

    dy: Floats
    product: Floats
    xn: Floats


def digits(dtype: str = "fp32") -> Layer:
    """The shipped layer of a trained network, 16 channels of 2,048 elements."""
    arrays: dict[str, Any] = digits_layer()
    names = ("dy", "x", "mean", "gamma", "inv_std")
    return Layer.from_arrays(**{name: arrays[name] for name in names}, dtype=dtype)


def drawn(elements: int, seed: int, dtype: str = "fp32") -> Layer:
    """A larger layer with the statistics of `digits`, of images drawn from it with replacement.

    Whole images are drawn, so that neighbours stay correlated and zeros, which a rectifier and a
    maximum leave, stay together. A factor that varies from image to image keeps the gradients from
    repeating; mean and inv_std are those of the drawn activations.

    Parameters
    ----------
    elements
        Of a channel; a multiple of 64.
    seed
        Of the drawing.
    dtype
        Storage format, "fp32", "bf16" or "fp16".
    """
    layer, rng = digits(), np.random.default_rng(seed)
    images = rng.integers(len(layer.x), size=elements // IMAGE)
    factors = rng.uniform(*FACTORS, len(images))
    x = layer.x[images]
    dy = (layer.dy[images] * factors[:, np.newaxis, np.newaxis, np.newaxis]).astype(np.float32)
    axes = (0, 2, 3)
    return Layer.from_arrays(
        dy,
        x,
        x.mean(axes, dtype=np.float64),
        layer.gamma,
        var=x.var(axes, dtype=np.float64),
        eps=float(digits_layer()["eps"]),
        dtype=dtype,
    )


def terms(layer: Layer) -> Terms:
    """The terms of the three sums, as the engine rounds them."""
    dy = channel_major(layer.dy)
    xn = normalize(channel_major(layer.x), layer.mean, layer.inv_std)
    return Terms(dy, np.multiply(dy, xn), xn)


def real_terms(n: int, dtype: str = "fp32") -> Terms:
    """Terms for sums of ``n``, a power of two.

    Up to 2,048 they are runs of consecutive elements of the digits layer, at most 512 of them,
    evenly spread; beyond, whole channels of a `drawn` layer.
    """
    whole = digits(dtype) if n <= CHANNEL else drawn(n, n, dtype)
    runs = (values.reshape(-1, n) for values in terms(whole))
    return Terms(*(each[:: max(len(each) // MOST_RUNS, 1)] for each in runs))


# --- hard cases -------------------------------------------------------------------------------


def normal(n: int, rng: np.random.Generator) -> Floats:
    """Standard normal numbers."""
    return rng.standard_normal((SUMS, n)).astype(np.float32)


def positive(n: int, rng: np.random.Generator) -> Floats:
    """Uniform in [0, 1): no cancellation, and a running sum that outgrows its terms."""
    return rng.random((SUMS, n), np.float32)


def offset(n: int, rng: np.random.Generator) -> Floats:
    """A mean of 1,000 deviations."""
    return (1000 + rng.standard_normal((SUMS, n))).astype(np.float32)


def ascending(n: int, rng: np.random.Generator) -> Floats:
    """Positive terms over sixteen binades, the smallest first."""
    exponent = rng.integers(-8, 8, (SUMS, n))
    return np.sort(np.ldexp(rng.uniform(1, 2, (SUMS, n)), exponent).astype(np.float32), axis=1)


def descending(n: int, rng: np.random.Generator) -> Floats:
    """The same, the largest first."""
    return np.ascontiguousarray(ascending(n, rng)[:, ::-1])


def stagnating(n: int, rng: np.random.Generator) -> Floats:
    """A first term of 1, and all others below half an ulp of it."""
    values = rng.uniform(0.5, 1, (SUMS, n)) * 2.0**-24
    values[:, 0] = 1
    return values.astype(np.float32)


def alternating(n: int, rng: np.random.Generator) -> Floats:
    """Large terms, each followed by nearly its negative: they cancel at once in a serial sum.

    In the fold the two are always in different partials, which grow until the end.
    """
    large = 1 + rng.random((SUMS, n // 2))
    small = 2.0**-12 * rng.standard_normal((SUMS, n // 2))
    return np.stack([large, small - large], axis=2).reshape(SUMS, n).astype(np.float32)


def halves(n: int, rng: np.random.Generator) -> Floats:
    """The same, but all the large terms come before all their near negatives."""
    pairs = alternating(n, rng).reshape(SUMS, -1, 2)
    return np.ascontiguousarray(pairs.transpose(0, 2, 1)).reshape(SUMS, n)


def wide(n: int, rng: np.random.Generator) -> Floats:
    """Random signs, exponents from -40 to 40."""
    exponent = rng.integers(-40, 41, (SUMS, n))
    return np.ldexp(rng.uniform(-1, 1, (SUMS, n)), exponent).astype(np.float32)


def subnormal(n: int, rng: np.random.Generator) -> Floats:
    """Below the smallest normal number: with gradual underflow every such addition is exact."""
    largest = (1 << 23) // n  # so that no sum leaves the range
    units = rng.integers(-largest, largest, (SUMS, n), endpoint=True)
    return np.ldexp(units.astype(np.float64), -149).astype(np.float32)


def overflowing(n: int, rng: np.random.Generator) -> Floats:
    """Near the largest number, half of the row positive, then nearly the same terms negative."""
    largest = float(np.finfo(np.float32).max)
    first = rng.uniform(0.7, 0.8, (SUMS, n // 2)) * largest
    second = -rng.permuted(first, axis=1) * rng.uniform(1 - 2 / n, 1, first.shape)
    # Of each of n/2 pairs remains 0.75 / n of the range, on average: the sum itself is finite.
    return np.concatenate([first, second], axis=1).astype(np.float32)


HARD: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "normal": normal,
    "positive, uniform": positive,
    "mean 1,000 deviations": offset,
    "ascending": ascending,
    "descending": descending,
    "1, then tiny terms": stagnating,
    "cancel with next": alternating,
    "cancel half a row later": halves,
    "exponents -40 to 40": wide,
    "subnormal": subnormal,
    "overflow on the way": overflowing,
}
"""Cases by name; each is a function of the row length and a generator."""


EXPONENTS = 10
"""Binades over which the terms of an ill-conditioned sum spread."""

CORRECTIONS = 4
"""Terms that set such a sum exactly enough: each leaves 2^-24 of what was wrong before it."""


def ill_conditioned(n: int, condition: float, rng: np.random.Generator) -> Floats:
    """Rows of a prescribed condition number sum|x| / |sum x|, in random order.

    In the manner of the generator of Ogita, Rump and Oishi (2005) for dot products: a first half of
    random terms, a second half that cancels it down to the wanted remainder, and last terms that
    are computed from the exact sum so far.

    Parameters
    ----------
    n
        Terms, even.
    condition
        At least 1.
    rng
        Source of the terms.
    """
    shape = (SUMS, (n - CORRECTIONS) // 2)
    exponent = rng.integers(EXPONENTS, size=shape)
    first = np.ldexp(rng.uniform(1, 2, shape), exponent).astype(np.float32)
    # (1 + c) / (1 - c) = condition
    cancelled = (condition - 1) / (condition + 1)
    second = (-cancelled * first.astype(np.float64)).astype(np.float32)
    rows = []
    for terms in np.concatenate([first, second], axis=1):
        target = int(exact_sums(np.abs(terms)[np.newaxis])[0] / condition)
        (wrong,) = exact_sums(terms[np.newaxis])
        wrong -= target
        corrections = []
        for _ in range(CORRECTIONS):
            corrections.append(nearest(-wrong))
            wrong += to_units(corrections[-1])
        rows.append(rng.permutation(np.concatenate([terms, corrections]).astype(np.float32)))
    return np.stack(rows)
