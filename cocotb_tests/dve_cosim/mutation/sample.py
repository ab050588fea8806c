"""Which mutants a campaign takes: every module its share, the rest by a hash, all by seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from dve_cosim.mutation.sites import Mutant, Site

LEAST = 2
"""Mutants of a module that has so many sites, however small it is."""


def sample(sites: Mapping[str, Sequence[Site]], *, count: int, seed: int) -> list[Mutant]:
    """Mutants of different sites, at most ``count``, in the order of the modules.

    A module gets `LEAST` mutants and of the remaining ones a share in proportion to its sites. At
    each chosen site the operator is drawn first, then the change, so that the many stuck bits of a
    wide value do not crowd out the rest. What is drawn in one module depends on nothing in another.

    Parameters
    ----------
    sites : mapping of str to sequence of Site
        By module.
    count, seed : int
    """
    quotas = shares({module: len(inside) for module, inside in sites.items()}, count)
    chosen = []
    for module, inside in sites.items():
        ranked = sorted(inside, key=lambda site: _rank(seed, site.identity))
        chosen += [_draw(site, seed) for site in sorted(ranked[: quotas[module]], key=_place)]
    return chosen


def shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """How many of ``count`` each gets: its minimum, then by size, to the largest remainders."""
    got = {name: min(LEAST, size) for name, size in sizes.items()}
    left = count - sum(got.values())
    if left < 0:  # not even the minimum for all: one for each, the largest first, then the next
        order = sorted(sizes, key=lambda name: (-sizes[name], name))
        turns = [name for lap in range(LEAST) for name in order if sizes[name] > lap]
        return {name: turns[:count].count(name) for name in sizes}
    room = {name: size - got[name] for name, size in sizes.items()}
    total = sum(room.values())
    left = min(left, total)
    exact = {name: left * free / total if total else 0.0 for name, free in room.items()}
    for name, share in exact.items():
        got[name] += int(share)
    rest = left - sum(int(share) for share in exact.values())
    by_remainder = sorted(exact, key=lambda name: (int(exact[name]) - exact[name], name))
    for name in by_remainder[:rest]:
        got[name] += 1
    return got


def _draw(site: Site, seed: int) -> Mutant:
    mutants = [Mutant(site, change) for change in site.changes]
    operators = sorted({mutant.change.operator for mutant in mutants})
    operator = min(operators, key=lambda name: _rank(seed, f"{site.identity}\n{name}"))
    of_it = [mutant for mutant in mutants if mutant.change.operator == operator]
    return min(of_it, key=lambda mutant: _rank(seed, mutant.id))


def _rank(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{text}".encode()).digest()


def _place(site: Site) -> int:
    return site.statement.start
