"""Walks, loads and stores against the address formula, one element at a time."""

from itertools import pairwise

import numpy as np
import pytest
from dve_golden.memory.address import Location, Region
from dve_golden.memory.load import load
from dve_golden.memory.order import blocks, independent_runs
from dve_golden.memory.store import store
from dve_golden.memory.walk import Walk
from hypothesis import given, settings
from hypothesis import strategies as st

ACTIVE = 256


def formula(walk):
    """Byte offset of every element (isa_common.md 4.3)."""
    offsets = []
    for e in range(walk.count):
        ordinal, elements = e, 0
        for step, count in zip(walk.steps, walk.counts, strict=True):
            elements += ordinal % count * step
            ordinal //= count
        offsets.append(walk.start.offset + walk.size * elements)
    return offsets


def walk(offset, size, steps, counts, partition=0, region=Region.SBUF):
    return Walk(Location(region, partition, offset), size, tuple(steps), tuple(counts))


@st.composite
def walks(draw, total=None):
    """Walks that stay in a partition of ACTIVE bytes, with zero and negative steps."""
    size = draw(st.sampled_from([2, 4]))
    if total is None:
        counts = draw(st.lists(st.integers(1, 4), min_size=3, max_size=3))
    else:
        counts = draw(
            st.sampled_from(
                [
                    (a, b, total // a // b)
                    for a in range(1, total + 1)
                    for b in range(1, total + 1)
                    if total % (a * b) == 0
                ]
            )
        )
    steps = draw(st.lists(st.integers(-5, 5), min_size=3, max_size=3))
    reach = [(n - 1) * s for s, n in zip(steps, counts, strict=True)]
    low = -sum(min(0, r) for r in reach)
    high = ACTIVE // size - 1 - sum(max(0, r) for r in reach)
    return walk(size * draw(st.integers(low, high)), size, steps, counts)


@given(walks(), st.data())
@settings(derandomize=True, max_examples=80, deadline=None)
def test_offsets_span_and_properties(w, data):
    want = formula(w)
    first = data.draw(st.integers(0, w.count))
    last = data.draw(st.integers(first, w.count))
    assert w.offsets(first, last).tolist() == want[first:last]
    assert w.span == range(min(want), max(want) + w.size)
    assert w.contiguous == all(b - a == w.size for a, b in pairwise(want))
    if w.injective:
        assert len(set(want)) == w.count


@pytest.mark.parametrize(
    ("steps", "counts", "contiguous", "injective"),
    [
        ((1, 1, 1), (7, 1, 1), True, True),
        ((1, 7, 14), (7, 2, 3), True, True),
        ((9, 1, 0), (1, 5, 1), True, True),  # dimensions of count 1 do not move
        ((2, 1, 1), (4, 2, 1), False, True),
        ((-1, 1, 1), (7, 1, 1), False, True),
        ((8, -1, 40), (5, 8, 2), False, True),
        ((1, 3, 1), (4, 2, 1), False, False),
        ((0, 1, 1), (2, 1, 1), False, False),
        ((1, 0, 1), (4, 2, 1), False, False),
    ],
)
def test_contiguous_and_injective(steps, counts, contiguous, injective):
    w = walk(0, 4, steps, counts)
    assert (w.contiguous, w.injective) == (contiguous, injective)


def test_widest_walk_is_not_materialised():
    w = walk(0, 4, (0, 0, 0), (65535, 65535, 1))
    assert w.count == 65535**2
    assert w.offsets(w.count - 2, w.count).tolist() == [0, 0]
    assert w.span == range(4)


def memory(seed=0, active=ACTIVE):
    return np.random.default_rng(seed).integers(0, 256, (128, active), np.uint8)


@given(walks(), st.integers(1, 3), st.data())
@settings(derandomize=True, max_examples=80, deadline=None)
def test_load_and_store_one_element_at_a_time(w, channels, data):
    w = Walk(Location(Region.SBUF, 32, w.start.offset), w.size, w.steps, w.counts)
    first = data.draw(st.integers(0, w.count - 1))
    last = data.draw(st.integers(first + 1, w.count))
    before = memory()
    got = load(before, w, channels, first, last)
    want = before.copy()
    new = np.random.default_rng(1).integers(0, 1 << 8 * w.size, got.shape, f"<u{w.size}")
    for k in range(channels):
        for e, offset in enumerate(formula(w)[first:last]):
            raw = before[32 + k, offset : offset + w.size].tobytes()
            assert got[k, e] == int.from_bytes(raw, "little")
            want[32 + k, offset : offset + w.size] = list(int(new[k, e]).to_bytes(w.size, "little"))
    after = before.copy()
    store(after, w, first, new)
    np.testing.assert_array_equal(after, want)


@given(walks(), st.integers(1, 3), st.data())
@settings(derandomize=True, max_examples=80, deadline=None)
def test_of_a_store_with_holes_the_last_write_of_each_channel_counts(w, channels, data):
    w = Walk(Location(Region.SBUF, 32, w.start.offset), w.size, w.steps, w.counts)
    first = data.draw(st.integers(0, w.count - 1))
    last = data.draw(st.integers(first + 1, w.count))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    shape = channels, last - first
    new = rng.integers(0, 1 << 8 * w.size, shape, f"<u{w.size}")
    where = rng.random(shape) < data.draw(st.sampled_from([0, 0.2, 0.5, 1]))
    before = memory()
    want = before.copy()
    for k in range(channels):
        for e, offset in enumerate(formula(w)[first:last]):
            if where[k, e]:
                element = list(int(new[k, e]).to_bytes(w.size, "little"))
                want[32 + k, offset : offset + w.size] = element
    store(before, w, first, new, where)
    np.testing.assert_array_equal(before, want)


def test_odd_partition_size():
    """The last bytes of a partition may be no whole element."""
    mem = memory(active=11)
    w = walk(8, 4, (-1,), (3,))
    with pytest.raises(IndexError):
        load(mem, w, 2, 0, 3)  # bytes 8 to 11: one past the end
    w = walk(4, 4, (-1,), (2,), partition=1)
    got = load(mem, w, 2, 0, 2)
    assert got[1].tobytes() == mem[2, 4:8].tobytes() + mem[2, 0:4].tobytes()


def sequential(sources, destination, rows):
    """A toy program in strict element order: d[e] = (3 * s0[e] + s1[e] + e) mod 2^16."""
    for e in range(destination.count):
        value = np.full(len(rows), e)
        for weight, source in zip((3, 1), sources, strict=True):
            value = value + weight * load(rows, source, len(rows), e, e + 1)[:, 0].astype(int)
        raw = (value % (1 << 16)).astype(f"<u{destination.size}")
        store(rows, destination, e, raw[:, np.newaxis])


def in_runs(sources, destination, rows):
    """The same program, each run read as a whole and then written; returns the runs."""
    runs = list(independent_runs(sources, destination))
    for first, last in runs:
        value = np.arange(first, last)
        for weight, source in zip((3, 1), sources, strict=True):
            value = value + weight * load(rows, source, len(rows), first, last).astype(int)
        store(rows, destination, first, (value % (1 << 16)).astype(f"<u{destination.size}"))
    return runs


@given(st.sampled_from([4, 6, 12]).flatmap(lambda n: st.tuples(*[walks(n)] * 3)))
@settings(derandomize=True, max_examples=150, deadline=None)
def test_runs_cannot_be_told_apart_from_sequential_order(triple):
    *sources, destination = triple
    want, got = memory(2), memory(2)
    sequential(sources, destination, want)
    runs = in_runs(sources, destination, got)
    np.testing.assert_array_equal(got, want)
    assert [first for first, _ in runs] == [0, *(last for _, last in runs[:-1])]
    assert runs[-1][1] == destination.count


def test_runs_are_no_shorter_than_needed():
    line = walk(0, 4, (1,), (10,))
    for free in (
        line,  # in place
        walk(40, 4, (1,), (10,)),  # behind it
        walk(4, 4, (1,), (10,), partition=32),
        walk(4, 4, (1,), (10,), region=Region.PSUM),
        walk(0, 2, (1,), (10,)),  # narrower in place: always behind the reader
    ):
        assert list(independent_runs([line], free)) == [(0, 10)]
    ahead = walk(12, 4, (1,), (10,))  # element e is read again as e + 3
    assert list(independent_runs([line], ahead)) == [(0, 3), (3, 6), (6, 9), (9, 10)]
    backward = walk(36, 4, (-1,), (10,))
    assert list(independent_runs([line], backward)) == [(0, 5), (5, 10)]
    repeated = walk(0, 4, (0,), (3,))
    assert list(independent_runs([repeated], repeated)) == [(0, 1), (1, 2), (2, 3)]


def test_runs_of_interleaved_walks_across_scan_borders():
    even, odd = walk(0, 4, (2,), (10_000,)), walk(4, 4, (2,), (10_000,))
    assert list(independent_runs([even, even], odd)) == [(0, 10_000)]
    ahead = walk(4 * 5000, 4, (1,), (10_000,))
    line = walk(0, 4, (1,), (10_000,))
    assert list(independent_runs([line], ahead)) == [(0, 5000), (5000, 10_000)]


def test_blocks_cover_in_order_and_are_bounded():
    for channels in (1, 3, 128):
        pieces = list(blocks(5, 100_000, channels))
        assert pieces[0][0] == 5
        assert pieces[-1][1] == 100_000
        assert all(a[1] == b[0] for a, b in pairwise(pieces))
        assert max(last - first for first, last in pieces) * channels <= 32 * 1024
