"""Operands of one and two binary32 numbers, in the manner of TestFloat's levels 1 and 2.

TestFloat (J. R. Hauser, Berkeley TestFloat 3e) combines boundary exponents with fractions that
are empty, full, or change once or twice between zeros and ones; every combination meets every
other, and between them come weighted random numbers. The sets below are built by these rules, so
the numbers of cases are the same: 6 x 88^2 = 46,464 pairs on level 1 and 2 x 1936^2 = 7,496,192
on level 2. The random numbers are our own, and so are the `related` pairs and the `binades`, which
TestFloat lacks.

All randomness follows from seeds, block by block: any block can be made again alone.
"""

from collections.abc import Iterator

import numpy as np

from dve_cosim.arith.ieee import BINARY32, Patterns

BLOCK = 1 << 17
"""Cases made at a time; their arrays stay in a processor's cache."""

FRACTION_BITS = BINARY32.fraction_bits
FULL = (1 << FRACTION_BITS) - 1
SIGN = BINARY32.sign

_BIAS = BINARY32.bias
_MIDDLE = tuple(_BIAS + exponent for exponent in (-24, -2, -1, 0, 1, 2, 24))
EXPONENT_FIELDS = {False: (0, 1, *_MIDDLE, 254, 255), True: (0, 1, *_MIDDLE, 253, 255)}
"""By sign. Only positive numbers have the largest exponent, only negative ones the next."""

FRACTIONS_1 = (0, 1, FULL, FULL - 1)

FRACTIONS_2 = tuple(
    {
        0: None,
        **{1 << bit: None for bit in range(FRACTION_BITS)},
        **{FULL ^ (1 << length) - 1: None for length in range(FRACTION_BITS)},  # ones above
        **{FULL ^ 1 << bit: None for bit in range(FRACTION_BITS)},
        **{(1 << length) - 1: None for length in range(FRACTION_BITS)},  # ones below
    }
)
"""One-hot, one-cold, ones above zeros, zeros above ones: 88."""


def operands(level: int) -> Patterns:
    """The fixed operands of a level: 88, or 1,936."""
    fractions = {1: FRACTIONS_1, 2: FRACTIONS_2}[level]
    return np.array(
        [
            negative * SIGN | field << FRACTION_BITS | fraction
            for negative, fields in EXPONENT_FIELDS.items()
            for field in fields
            for fraction in fractions
        ],
        np.uint32,
    )


def pair_count(level: int) -> int:
    """Pairs that `pairs` gives."""
    return {1: 6, 2: 2}[level] * len(operands(level)) ** 2


def pairs(level: int, seed: int) -> Iterator[tuple[Patterns, Patterns]]:
    """The pairs of a level in blocks.

    Level 2: all fixed pairs, and as many random ones. Level 1: for every fixed pair also either
    operand with a random one, and three random pairs.
    """
    fixed = operands(level)
    count = len(fixed) ** 2
    for block, start in enumerate(range(0, count, BLOCK)):
        rng = np.random.default_rng((seed, level, block))
        first, second = np.divmod(np.arange(start, min(start + BLOCK, count)), len(fixed))
        a, b = fixed[first], fixed[second]
        yield a, b
        for _ in range({1: 3, 2: 1}[level]):
            yield weighted(rng, len(a)), weighted(rng, len(a))
        if level == 1:
            yield a, weighted(rng, len(a))
            yield weighted(rng, len(a)), b


def binades() -> Iterator[tuple[Patterns, Patterns]]:
    """Pairs of numbers around the same power of two, for every exponent field, in blocks.

    Of a power's pattern and those 2^0 to 2^22 above and below, every one meets every one, with
    equal and with opposite signs. So cancellation of every length occurs at every exponent, with
    both operands in one binade and in two. Some of these sums have one pair of magnitudes alone,
    as has half an ulp of a power of two: random pairs need not find them.
    """
    steps = np.array([1 << bit for bit in range(FRACTION_BITS)])
    steps = np.concatenate([[0], steps, -steps])
    first, second = (side.ravel() for side in np.meshgrid(steps, steps))
    fields = BLOCK // len(first)
    for start in range(1, 255, fields):
        powers = np.arange(start, min(start + fields, 255))[:, None] << FRACTION_BITS
        a, b = ((powers + side).ravel().astype(np.uint32) for side in (first, second))
        yield a, b
        yield a, b | np.uint32(SIGN)


def random_pairs(count: int, seed: int) -> Iterator[tuple[Patterns, Patterns]]:
    """Any number of pairs: of three blocks one uniform, one weighted, one `related`."""
    for block, start in enumerate(range(0, count, BLOCK)):
        rng = np.random.default_rng((seed, 3, block))
        size = min(BLOCK, count - start)
        match block % 3:
            case 0:
                yield uniform(rng, size), uniform(rng, size)
            case 1:
                yield weighted(rng, size), weighted(rng, size)
            case _:
                yield related(rng, size)


def random_numbers(count: int, seed: int) -> Iterator[Patterns]:
    """Any number of patterns, uniform and weighted ones in turn."""
    for block, start in enumerate(range(0, count, BLOCK)):
        rng = np.random.default_rng((seed, 4, block))
        yield (weighted if block % 2 else uniform)(rng, min(BLOCK, count - start))


def uniform(rng: np.random.Generator, count: int) -> Patterns:
    """All patterns alike."""
    return rng.integers(0, 1 << 32, count, np.uint32)


_FRACTION_TABLE = np.array(FRACTIONS_2, np.uint32)
_FIELD_TABLE = np.array([*EXPONENT_FIELDS[False], 2, 123, 124, 130, 131, 253], np.uint32)
_WINDOWS = np.array([255, 127, 63, 31, 15, 7, 3], np.uint32)
_STARTS = np.array([0, 64, 96, 112, 120, 124, 126], np.uint32)


def weighted(rng: np.random.Generator, count: int) -> Patterns:
    """Random patterns that favour the corners.

    The exponent is one of a table, or of a window around 1 whose width is random; the fraction
    has up to four changes between zeros and ones, as a sum of two of `FRACTIONS_2`, or is
    uniform.
    """
    dice = rng.integers(0, 1 << 32, (3, count), np.uint32)
    window = dice[1] >> 8 & np.uint32(7)
    width = _WINDOWS[np.minimum(window, 6)]
    windowed = (dice[1] & width) + _STARTS[np.minimum(window, 6)]
    listed = _FIELD_TABLE[(dice[1] >> 16) % np.uint32(len(_FIELD_TABLE))]
    field = np.where(dice[0] & 1, windowed, listed)
    size = np.uint32(len(_FRACTION_TABLE))
    few = _FRACTION_TABLE[(dice[2] & 0xFFFF) % size] + _FRACTION_TABLE[(dice[2] >> 16) % size]
    fraction = np.where(dice[0] & 6, few, dice[2]) & np.uint32(FULL)
    return (dice[0] & np.uint32(SIGN)) | field << FRACTION_BITS | fraction


def related(rng: np.random.Generator, count: int) -> tuple[Patterns, Patterns]:
    """Pairs whose sum cancels or ties, or whose product lies at an edge of the range.

    A quarter each: magnitudes a few units of some place apart, also across a binade, or exactly
    equal; the second operand about half a unit in the last place of the first; the exponents of a
    product between those of the smallest numbers; the same for the largest.
    """
    a = uniform(rng, count)
    b = uniform(rng, count)
    dice = rng.integers(0, 1 << 32, count, np.uint32)
    quarter = count // 4

    near = slice(0, quarter)
    step = (dice[near] & 15) << (dice[near] >> 8) % np.uint32(21)
    magnitude = np.where(dice[near] >> 31, a[near] + step, a[near] - step)
    b[near] = magnitude & np.uint32(SIGN - 1) | dice[near] << 16 & np.uint32(SIGN)

    tie = slice(quarter, 2 * quarter)
    below = 22 + dice[tie] % np.uint32(5)  # half a unit is 24 binades below
    field = (a[tie] >> FRACTION_BITS & 255) - below & np.uint32(255)
    few = (dice[tie] >> 8 & 3) - np.uint32(1) & np.uint32(FULL)  # a power of two, or beside one
    fraction = np.where(dice[tie] >> 16 & 1, few, b[tie] & np.uint32(FULL))
    b[tie] = b[tie] & np.uint32(SIGN) | field << FRACTION_BITS | fraction
    short = dice[tie] >> 20 & 1  # few bits in the first one: ties are frequent
    a[tie] &= np.where(short, 0xFFF80003, 0xFFFFFFFF).astype(np.uint32)

    for part, total, spread in (
        (slice(2 * quarter, 3 * quarter), 127 - 26, 32),
        (slice(3 * quarter, count), 127 + 250, 8),
    ):
        sums = total + (dice[part] >> 8) % np.uint32(spread)
        field = sums - (a[part] >> FRACTION_BITS & 255) & np.uint32(255)
        b[part] = b[part] & np.uint32(0xFFFFFFFF ^ 255 << FRACTION_BITS) | field << FRACTION_BITS
        few = _FRACTION_TABLE[(dice[part] >> 16) % np.uint32(len(_FRACTION_TABLE))]
        edge = dice[part] & 3 == 0
        b[part] = np.where(edge, b[part] & np.uint32(~FULL & 0xFFFFFFFF) | few, b[part])
    return a, b
