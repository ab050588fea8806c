"""How sources meet the destination: the classes by hand, and walks made to fall in each."""

from itertools import product

import numpy as np
import pytest
from dve_cosim.aliasing import Alias, Footprint, alias_of
from dve_cosim.lattice import PAIR_SLOT, aliased_walks, most_elements
from dve_cosim.places import Place

FOUR = Footprint(Place(False, 0, 16), 4, (1,), (4,))
"""Bytes 16 to 31."""


def moved(by, **changes):
    """The walk of `FOUR` so many bytes further."""
    return Footprint(**{**vars(FOUR), "start": Place(False, 0, 16 + by), **changes})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (moved(0), Alias.IN_PLACE),
        (moved(16), Alias.APART),
        (moved(-16), Alias.APART),
        (moved(0, start=Place(True, 0, 16)), Alias.APART),
        (moved(0, start=Place(False, 32, 16)), Alias.APART),
        (moved(4), Alias.OVERLAPS),  # reads what the next element writes
        (moved(-4), Alias.FEEDS),  # reads what the element before has written
        (moved(12), Alias.OVERLAPS),
        (moved(-12), Alias.FEEDS),
        (moved(12, steps=(-1,)), Alias.FEEDS),  # the last one reads what the first one wrote
        (moved(0, counts=(1,)), Alias.OVERLAPS),  # another walk, if not of other bytes
        (moved(0, size=2, steps=(2,)), Alias.OVERLAPS),  # the low halves, each in its turn
        (moved(0, size=2), Alias.FEEDS),  # 16 to 23; the second half after the first word
        (moved(8, size=2), Alias.OVERLAPS),  # 24 to 31; no half after its word
        (moved(0, steps=(0,)), Alias.FEEDS),
    ],
)
def test_classes(source, expected):
    assert alias_of(source, FOUR, elementwise=True) is expected
    apart = Alias.APART if expected is Alias.APART else Alias.OVERLAPS
    assert alias_of(source, FOUR, elementwise=False) is apart


def test_ranges_that_meet_without_a_common_byte():
    even = Footprint(Place(False, 0, 0), 4, (2,), (4,))
    odd = Footprint(Place(False, 0, 4), 4, (2,), (4,))
    assert alias_of(odd, even, elementwise=True) is Alias.INTERLEAVED
    assert alias_of(odd, even, elementwise=False) is Alias.INTERLEAVED


def test_one_walk_that_comes_back_feeds():
    again = Footprint(Place(False, 0, 16), 4, (1, 0), (4, 2))
    assert alias_of(again, again, elementwise=True) is Alias.FEEDS


def test_touched_bytes_follow_the_nested_walk():
    walk = Footprint(Place(False, 0, 100), 2, (1, -10, 0), (2, 2, 2))
    starts = [100, 102, 80, 82] * 2
    assert walk.touched().tolist() == [[start, start + 1] for start in starts]


@pytest.mark.parametrize("room", [512, 1024])
@pytest.mark.parametrize("sizes", list(product((1, 2, 4), repeat=3)))
@pytest.mark.parametrize("sums", [False, True])
def test_walks_fall_in_the_wanted_class(room, sizes, sums):
    rng = np.random.default_rng(7)
    operands: list[str] = ["dst", "src0", "src1"]
    sizes = dict(zip(operands, sizes, strict=True))
    wanted = (Alias.APART, Alias.INTERLEAVED, Alias.OVERLAPS) if sums else tuple(Alias)
    for wishes in product(wanted, repeat=2):
        for counts in ((2, 1, 1), (3, 1, 2), (most_elements(room), 1, 1)):
            result_counts = (3,) if sums else counts
            names = dict(zip(operands[1:], wishes, strict=True))
            walks = aliased_walks(rng, counts, result_counts, sizes, names, room)
            places = {
                name: Footprint(
                    Place(False, 0, walk.offset),
                    sizes[name],
                    walk.steps,
                    result_counts if name == "dst" else counts,
                )
                for name, walk in walks.items()
            }
            for place in places.values():
                assert place.touched().min() >= 0
                assert place.touched().max() < room
                assert place.start.offset % place.size == 0
            for name, wish in names.items():
                found = alias_of(places[name], places["dst"], elementwise=not sums)
                if wish is Alias.IN_PLACE and sizes[name] != sizes["dst"]:
                    wish = Alias.OVERLAPS
                assert found is wish, (wishes, counts)


@pytest.mark.parametrize("result_bytes", [1, 2, 4])
def test_pairs_fall_in_the_wanted_class(result_bytes):
    rng = np.random.default_rng(8)
    sizes = {"dst": result_bytes, "src0": 2, "src1": 2}
    for wishes in product(Alias, repeat=2):
        for cells in ((2, 1), (3, 2), (most_elements(1024, PAIR_SLOT), 1)):
            names = {"src0": wishes[0], "src1": wishes[1]}
            pair_sizes = {name: 2 * size for name, size in sizes.items()}
            walks = aliased_walks(rng, cells, cells, pair_sizes, names, 1024, PAIR_SLOT)
            places = {
                name: Footprint(
                    Place(False, 0, walk.offset),
                    sizes[name],
                    (1, *(2 * step for step in walk.steps)),
                    (2, *cells),
                )
                for name, walk in walks.items()
            }
            for name, wish in names.items():
                assert 0 <= places[name].touched().min() <= places[name].touched().max() < 1024
                assert places[name].start.offset % 4 == 0 or name == "dst"
                found = alias_of(places[name], places["dst"], elementwise=True)
                if wish is Alias.IN_PLACE and result_bytes != 2:
                    # A first result of four bytes is read again, as the second element.
                    wish = Alias.OVERLAPS if result_bytes == 1 else Alias.FEEDS
                assert found is wish, (wishes, cells)
