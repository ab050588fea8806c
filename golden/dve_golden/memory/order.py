"""Where vectorised execution may not run ahead of the sequential order (isa_common.md 4.3).

Architecturally, element e of a channel reads its sources and writes its destination before
element e + 1 reads anything. Reading a run of elements first and writing it afterwards gives the
same bits if no element of the run reads a byte that an earlier one of the run writes.
"""

from collections.abc import Iterator, Sequence

from dve_golden.memory.walk import Walk

BLOCK_ELEMENTS = 31 * 1024
"""Elements, over all channels, that are worked on at a time.

A handful of fp32 arrays of this size fit a second-level cache. With 128 channels it makes rows of
248 elements; rows a power of two apart would share cache sets and slow a transposition down.
"""

_SCAN = 4096


def blocks(first: int, last: int, channels: int) -> Iterator[tuple[int, int]]:
    """Cut ordinals ``first`` to ``last - 1`` into pieces of bounded working set."""
    length = BLOCK_ELEMENTS // channels
    for begin in range(first, last, length):
        yield begin, min(begin + length, last)


def independent_runs(sources: Sequence[Walk], destination: Walk) -> Iterator[tuple[int, int]]:
    """Cut all ordinals, in order, into the longest runs that may read first and write then.

    Parameters
    ----------
    sources, destination
        Walks of equal count. Channels never alias each other (isa_common.md 5.8), so the walk of
        one channel decides for all.
    """
    if all(_evidently_independent(source, destination) for source in sources):
        yield 0, destination.count
    else:
        yield from _scan(sources, destination)


def _evidently_independent(source: Walk, destination: Walk) -> bool:
    apart = (
        _rows(source) != _rows(destination)
        or source.span.start >= destination.span.stop
        or destination.span.start >= source.span.stop
    )
    # Each element then reads exactly the bytes that it is the only one to write.
    return apart or (source == destination and destination.injective)


def _rows(walk: Walk) -> tuple[object, int]:
    return walk.start.region, walk.start.partition


def _scan(sources: Sequence[Walk], destination: Walk) -> Iterator[tuple[int, int]]:
    """Follow the walks one element at a time; only the addresses matter."""
    sources = [source for source in sources if _rows(source) == _rows(destination)]
    # Element sizes are powers of two and addresses are aligned, so two elements overlap if and
    # only if they share a unit of the smallest size.
    unit = min(walk.size for walk in (*sources, destination))
    writer: dict[int, int] = {}  # unit -> last ordinal that wrote it
    first = 0
    for begin in range(0, destination.count, _SCAN):
        end = min(begin + _SCAN, destination.count)
        reads = zip(*(_units(source, unit, begin, end) for source in sources), strict=True)
        writes = _units(destination, unit, begin, end)
        for ordinal, (read, written) in enumerate(zip(reads, writes, strict=True), begin):
            if any(writer.get(u, -1) >= first for units in read for u in units):
                yield first, ordinal
                first = ordinal
            writer.update(dict.fromkeys(written, ordinal))
    yield first, destination.count


def _units(walk: Walk, unit: int, first: int, last: int) -> list[range]:
    """The units of each element, as ranges."""
    length = walk.size // unit
    return [range(at, at + length) for at in (walk.offsets(first, last) // unit).tolist()]
