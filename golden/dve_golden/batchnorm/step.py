"""What an engine runs without the host looking in between."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dve_golden.batchnorm.layout import Image


class OverlapError(ValueError):
    """Steps whose transfers cannot run beside each other's programs."""


@dataclass(frozen=True)
class Extent:
    """Bytes ``span`` of partitions 0 to ``partitions`` - 1."""

    partitions: int
    span: range

    def of(self, sbuf: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Its part of ``sbuf``, uint8 [partitions, bytes]."""
        return sbuf[: self.partitions, self.span.start : self.span.stop]


@dataclass(frozen=True)
class Step:
    """Place ``images`` in order, run ``program``, then read ``results``.

    Parameters
    ----------
    images : tuple of Image
        What changes in SBUF; the rest of the state stays as the previous step left it.
    program : bytes
        64-byte records.
    elements : int
        Elements that pass through the datapath: channels times count, for each GradAccum and
        each BackProp.
    uses : tuple of range
        Bytes of a partition that the program needs beyond its images, because an earlier step
        placed or wrote them, or a later one reads them.
    results : tuple of Extent
        What the host reads afterwards.
    writes : tuple of range
        Bytes of a partition that the program may write.
    """

    images: tuple[Image, ...]
    program: bytes
    elements: int
    uses: tuple[range, ...] = ()
    results: tuple[Extent, ...] = ()
    writes: tuple[range, ...] = ()

    def disturbs(self, earlier: "Step") -> bool:
        """Whether its images, placed before ``earlier`` runs, would change what that finds."""
        return _shared(self.placed, earlier.needed) is not None

    @property
    def placed(self) -> list[range]:
        """Bytes of a partition that its images fill."""
        return [image.span for image in self.images]

    @property
    def needed(self) -> list[range]:
        """Bytes of a partition that nobody else may write until it is done."""
        return [*self.placed, *self.uses, *self.writes, *self.read]

    @property
    def read(self) -> list[range]:
        """Bytes of a partition that hold its results."""
        return [extent.span for extent in self.results]


def require_apart(steps: Sequence[Step]) -> None:
    """Check that the host may work beside the engine.

    While a step executes, the host reads the results of the step before it and then places the
    images of the step after it.

    Raises
    ------
    OverlapError
        If an image lies on bytes that the executing step needs, or that step writes bytes that the
        host still reads.
    """
    for number, (earlier, later) in enumerate(pairwise(steps)):
        if shared := _shared(later.placed, earlier.needed):
            raise OverlapError(
                f"step {number + 1} is placed on bytes {shared.start} to {shared.stop - 1} of a "
                f"partition, which step {number} needs while that happens"
            )
        if shared := _shared(later.writes, earlier.read):
            raise OverlapError(
                f"step {number + 1} writes bytes {shared.start} to {shared.stop - 1} of a "
                f"partition, which hold results of step {number} that are read meanwhile"
            )


def _shared(some: Iterable[range], others: Sequence[range]) -> range | None:
    """The first bytes found in both."""
    for one in some:
        for other in others:
            start, stop = max(one.start, other.start), min(one.stop, other.stop)
            if start < stop:
                return range(start, stop)
    return None


def join(*steps: Step) -> Step:
    """Several steps as one. All images come first: none may lie where an earlier program reads."""
    return Step(
        tuple(image for step in steps for image in step.images),
        b"".join(step.program for step in steps),
        sum(step.elements for step in steps),
        tuple(span for step in steps for span in step.uses),
        tuple(extent for step in steps for extent in step.results),
        tuple(span for step in steps for span in step.writes),
    )


def merge(steps: Iterable[Step]) -> Iterator[Step]:
    """Join neighbours wherever the later one's images lie apart, so that fewer runs do the same."""
    joined: Step | None = None
    for step in steps:
        if joined is None:
            joined = step
        elif step.disturbs(joined):
            yield joined
            joined = step
        else:
            joined = join(joined, step)
    if joined is not None:
        yield joined
