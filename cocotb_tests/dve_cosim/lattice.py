"""Walks on a common grid of bytes, so that sources alias the destination in a wanted way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dve_cosim.aliasing import Alias

SLOT = 4
"""Bytes of a cell of the grid: room for any element."""

PAIR_SLOT = 2 * SLOT
"""The same for pairs of elements, which move as one."""

MARGIN = 3
"""Periods that the shifted walks reach beyond the destination's, on either side."""


@dataclass(frozen=True)
class GridWalk:
    """A walk of an operand: the byte of its first element, and its steps in elements."""

    offset: int
    steps: tuple[int, ...]


def most_elements(room: int, slot: int = SLOT) -> int:
    """Elements per operand for which `aliased_walks` finds place in ``room`` bytes."""
    return (room // (2 * slot) - 2 * MARGIN) // 2


def aliased_walks(
    rng: np.random.Generator,
    counts: tuple[int, ...],
    result_counts: tuple[int, ...],
    sizes: Mapping[str, int],
    wishes: Mapping[str, Alias],
    room: int,
    slot: int = SLOT,
) -> dict[str, GridWalk]:
    """Walks of the destination and of the sources in its memory.

    Element e of an operand lies at its first byte plus e periods. A source that is some periods
    ahead of the destination is overwritten behind its back only after it has been read, one that
    is behind is fed.

    Parameters
    ----------
    rng : numpy.random.Generator
    counts, result_counts : tuple of int
        Shape of the sources, of at least two and at most `most_elements` elements, and of the
        destination.
    sizes : mapping of str to int
        Bytes of an element of ``dst`` and of each source.
    wishes : mapping of str to Alias
        By source. Elements of another size than the destination's are not done in place: the
        source overlaps then.
    room : int
        Bytes of a partition.
    slot : int
        `SLOT`; `PAIR_SLOT` if elements here are pairs of such, which are read and written one after
        the other.
    """
    # Two slots for what lies between the destination's elements.
    slots = (-2, 2) if Alias.INTERLEAVED in wishes.values() else (-2, -1, 1, 2)
    period = slot * int(rng.choice(slots))
    span = abs(period) * max(int(np.prod(counts)), int(np.prod(result_counts)))
    margin = MARGIN * abs(period)
    # Two blocks: the destination with all that meets it, and what is apart from it.
    cells = (room - 2 * span - 2 * margin) // slot
    slack = slot * int(rng.integers(cells + 1))
    core, apart = margin, 2 * margin + span
    if rng.random() < 0.5:
        core, apart = span + margin, 0
    first = {"core": core + slack, "apart": apart + slack}
    if period < 0:  # the last element is the lowest
        first = {name: at + span + period for name, at in first.items()}
    ahead = period * int(rng.integers(1, min(MARGIN, int(np.prod(counts)))))
    walks = {"dst": GridWalk(first["core"], _steps(result_counts, period // sizes["dst"]))}
    for name, wish in wishes.items():
        # The first result of a pair that is longer than its source covers the second element.
        may_coincide = sizes["dst"] < sizes[name] or (slot == SLOT and sizes["dst"] != sizes[name])
        coincides = may_coincide and rng.random() < 0.5
        at = {
            Alias.APART: first["apart"],
            Alias.INTERLEAVED: first["core"] + slot,
            Alias.IN_PLACE: first["core"],
            Alias.OVERLAPS: first["core"] + (0 if coincides else ahead),
            Alias.FEEDS: first["core"] - ahead,
        }[wish]
        walks[name] = GridWalk(at, _steps(counts, period // sizes[name]))
    return walks


_MOST_RESULTS = 6
"""Of a reduction."""


def reduced_most(room: int) -> int:
    """Elements of the source for which `reduced_walks` finds place in ``room`` bytes."""
    return room // PAIR_SLOT - _MOST_RESULTS


def reduced_walks(
    rng: np.random.Generator,
    counts: tuple[int, ...],
    result_counts: tuple[int, ...],
    sizes: Mapping[str, int],
    wish: Alias,
    room: int,
) -> dict[str, GridWalk]:
    """Walks of the one source and of the few results of a reduction, in one memory.

    Both have an element in `PAIR_SLOT` bytes, forwards or backwards.

    Parameters
    ----------
    rng : numpy.random.Generator
    counts, result_counts : tuple of int
        Shape of the source, of at least two and at most `reduced_most` elements, and of the
        results.
    sizes : mapping of str to int
        Bytes of an element of ``src`` and of ``dst``.
    wish : Alias
        APART, INTERLEAVED or OVERLAPS.
    room : int
        Bytes of a partition.
    """
    total = int(np.prod(counts))
    results = int(np.prod(result_counts))
    if wish is Alias.APART:
        ahead, within = total, 0
    elif wish is Alias.OVERLAPS:
        ahead, within = int(rng.integers(total)), 0
    else:  # one of the results begins before the last element of the source
        ahead, within = int(rng.integers(total - 1)), SLOT
    slots = max(total, ahead + results)
    base = PAIR_SLOT * int(rng.integers(room // PAIR_SLOT - slots + 1))
    walks = {}
    for name, shape, first in (("src", counts, 0), ("dst", result_counts, ahead)):
        period, at = PAIR_SLOT, first
        if rng.random() < 0.3:  # the last element is the lowest
            at += int(np.prod(shape)) - 1
            period = -period
        offset = base + PAIR_SLOT * at + (within if name == "dst" else 0)
        walks[name] = GridWalk(offset, _steps(shape, period // sizes[name]))
    return walks


def _steps(counts: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Steps that make a nested walk one long walk of ``step``."""
    steps = []
    for count in counts:
        steps.append(step)
        step *= count
    return tuple(steps)
