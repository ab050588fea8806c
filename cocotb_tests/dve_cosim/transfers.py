"""What the host moves around the program of a step, as words of the host port and as a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from dve_golden.batchnorm.layout import Image
from dve_golden.batchnorm.step import Extent, Step
from dve_rtl.config import WORD_BYTES
from numpy.typing import NDArray


class Place(NamedTuple):
    """A word of every lane in a row of partitions."""

    row: int
    word: int


@dataclass(frozen=True)
class Transfers:
    """Images to write to SBUF before a program, and extents to read after it."""

    images: tuple[Image, ...]
    results: tuple[Extent, ...]

    @classmethod
    def of(cls, step: Step) -> "Transfers":
        """Those of a step."""
        return cls(step.images, step.results)

    def clocks(self, lanes: int) -> int:
        """Of the host port, at one written word per clock and one read in two."""
        written = sum(len(list(image_words(image, lanes))) for image in self.images)
        return written + 2 * sum(len(extent_places(each, lanes)) for each in self.results)

    def save(self, path: Path) -> None:
        """Write a file."""
        np.savez(
            path,
            offsets=np.array([image.offset for image in self.images], np.int64),
            results=np.array(
                [(each.partitions, each.span.start, each.span.stop) for each in self.results],
                np.int64,
            ).reshape(-1, 3),
            allow_pickle=False,
            **{f"image_{at}": image.data for at, image in enumerate(self.images)},
        )

    @classmethod
    def load(cls, path: Path) -> "Transfers":
        """Read a file."""
        with np.load(path) as file:
            offsets = file["offsets"].tolist()
            images = [Image(offset, file[f"image_{at}"]) for at, offset in enumerate(offsets)]
            results = [Extent(n, range(a, b)) for n, a, b in file["results"].tolist()]
        return cls(tuple(images), tuple(results))


def image_words(image: Image, lanes: int) -> Iterator[tuple[Place, bytes, int]]:
    """Place, data and byte enables of every word that an image touches."""
    channels, size = image.data.shape
    span = range(image.offset, image.offset + size)
    places, padding = _places(channels, span, lanes)
    data = np.zeros((padding.rows * lanes, padding.words * WORD_BYTES), np.uint8)
    enable = np.zeros_like(data)
    inside = slice(padding.before, padding.before + size)
    data[:channels, inside], enable[:channels, inside] = image.data, 1
    bits = np.packbits(_by_word(enable, padding, lanes), axis=-1, bitorder="little")
    for place, word, mask in zip(places, _by_word(data, padding, lanes), bits, strict=True):
        yield place, word.tobytes(), int.from_bytes(mask.tobytes(), "little")


def extent_places(extent: Extent, lanes: int) -> list[Place]:
    """Every word that has a byte of an extent."""
    places, _ = _places(extent.partitions, extent.span, lanes)
    return places


def extent_bytes(extent: Extent, lanes: int, words: Sequence[bytes]) -> NDArray[np.uint8]:
    """The bytes of an extent, from the words at `extent_places`: uint8 [partitions, bytes]."""
    _, padding = _places(extent.partitions, extent.span, lanes)
    raw = np.frombuffer(b"".join(words), np.uint8)
    rows = raw.reshape(padding.rows, padding.words, lanes, WORD_BYTES).transpose(0, 2, 1, 3)
    memory = rows.reshape(padding.rows * lanes, padding.words * WORD_BYTES)
    return memory[: extent.partitions, padding.before : padding.before + len(extent.span)]


class _Padding(NamedTuple):
    """The rectangle of whole words around some bytes."""

    rows: int
    words: int
    before: int


def _places(channels: int, span: range, lanes: int) -> tuple[list[Place], _Padding]:
    rows = -(-channels // lanes)
    first, last = span.start // WORD_BYTES, -(-span.stop // WORD_BYTES)
    places = [Place(row, word) for row in range(rows) for word in range(first, last)]
    return places, _Padding(rows, last - first, span.start - first * WORD_BYTES)


def _by_word(memory: NDArray[np.uint8], padding: _Padding, lanes: int) -> NDArray[np.uint8]:
    """[rows * lanes, words * 8] as [rows * words, lanes * 8], in the order of the places."""
    words = memory.reshape(padding.rows, lanes, padding.words, WORD_BYTES).transpose(0, 2, 1, 3)
    return words.reshape(-1, lanes * WORD_BYTES)
