"""What an engine runs without the host looking in between."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dve_golden.batchnorm.layout import Image


@dataclass(frozen=True)
class Step:
    """Place ``images`` in order, then run ``program``.

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
    """

    images: tuple[Image, ...]
    program: bytes
    elements: int
    uses: tuple[range, ...] = ()

    def disturbs(self, earlier: "Step") -> bool:
        """Whether its images, placed before ``earlier`` runs, would change what that finds."""
        spans = [image.span for image in earlier.images] + list(earlier.uses)
        return any(
            image.span.start < span.stop and span.start < image.span.stop
            for image in self.images
            for span in spans
        )


def join(*steps: Step) -> Step:
    """Several steps as one. All images come first: none may lie where an earlier program reads."""
    return Step(
        tuple(image for step in steps for image in step.images),
        b"".join(step.program for step in steps),
        sum(step.elements for step in steps),
        tuple(span for step in steps for span in step.uses),
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
