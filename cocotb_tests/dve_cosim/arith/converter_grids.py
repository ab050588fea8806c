"""Operands of the converters: where rounding changes its mind.

Blocks are at most of `BLOCK` elements.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dve_cosim.arith.grids import BLOCK
from dve_cosim.arith.ieee import BINARY32, Format, Integers, Patterns

SIGN = np.uint32(BINARY32.sign)


def integers() -> Patterns:
    """INT32 at its edges: powers of two, and integers beside and at a tie of 24 bits.

    For every length from 25 bits the ties of the least, the greatest and of one-hot and one-cold
    significands, even and odd, with their neighbours; both signs.
    """
    values = {0, 1 << 31}
    for bit in range(32):
        values |= {(1 << bit) + step for step in (-2, -1, 0, 1, 2)}
    significands = {1 << 23, (1 << 24) - 1, (1 << 24) - 2}
    significands |= {1 << 23 | 1 << bit for bit in range(23)}
    significands |= {(1 << 24) - 1 - (1 << bit) for bit in range(23)}
    for dropped in range(1, 8):
        half = 1 << dropped - 1
        values |= {
            (significand << dropped) + half + step
            for significand in significands
            for step in (-1, 0, 1)
        }
    magnitudes = np.array(sorted(value & 0xFFFFFFFF for value in values), np.uint32)
    return np.concatenate([magnitudes, -magnitudes])


def edges_of(form: Format, every: int = 1) -> Iterator[Patterns]:
    """Where the rounding to a format changes: values, midpoints, and the neighbours of both.

    For every finite number v of the format and the next larger one w, which after the largest is
    the one that would follow if the exponent had no end: v, (v + w)/2, and the binary32 numbers
    beside each, with both signs.

    Parameters
    ----------
    form : Format
    every : int
        Take one block of so many; the first and the last are always among them.
    """
    count = form.infinity >> form.below
    size = BLOCK // 32
    blocks = -(-count // size)
    for block in (*range(0, blocks - 1, every), blocks - 1):
        codes = np.arange(block * size, min((block + 1) * size, count))
        values, following = _magnitudes(codes, form), _magnitudes(codes + 1, form)
        # Exact, because every format has fewer bits than binary32, and no greater range.
        centres = np.concatenate([values, (values + following) / 2]).astype(np.float32)
        yield from _with_neighbours(centres.view(np.uint32))


def integer_edges(bits: int, *, whole: bool) -> Iterator[Patterns]:
    """Where the rounding to an integer changes: integers, halves, and the neighbours of both.

    Parameters
    ----------
    bits : int
        Up to a little more than 2^bits, with both signs.
    whole : bool
        All of them; else those up to 2^11, and about every power of two.
    """
    if whole:
        halves = np.arange((2 << bits) + 8)
    else:
        near = np.arange(-64, 65) + (1 << np.arange(12, bits + 3))[:, np.newaxis]
        halves = np.concatenate([np.arange(1 << 12), near.ravel()])
    centres = (halves / 2).astype(np.float32).view(np.uint32)
    for start in range(0, len(centres), BLOCK):
        yield from _with_neighbours(centres[start : start + BLOCK])


def _with_neighbours(magnitudes: Patterns) -> Iterator[Patterns]:
    """Patterns, those beside them, and the same with the other sign."""
    below = np.where(magnitudes == 0, SIGN | np.uint32(1), magnitudes - np.uint32(1))
    for near in (magnitudes, magnitudes + np.uint32(1), below):
        yield near
        yield near ^ SIGN


def _magnitudes(codes: Integers, form: Format) -> NDArray[np.float64]:
    """Values of the patterns of a format without their sign, infinity's as if it were finite."""
    field = codes >> form.fraction_bits
    fraction = codes & (1 << form.fraction_bits) - 1
    normal = field != 0
    units = fraction + (normal.astype(np.int64) << form.fraction_bits)
    return np.ldexp(units.astype(np.float64), field - normal + form.least_quantum)
