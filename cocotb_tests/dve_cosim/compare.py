"""Where two states differ."""

from dataclasses import dataclass

import numpy as np

from dve_cosim.state import HasState

NAMES = (
    "sbuf",
    "psum",
    "registers",
    "parameter_ram",
    "lane_state",
    "semaphores",
    "events",
    "control",
)


@dataclass(frozen=True)
class Difference:
    """One element that differs.

    Parameters
    ----------
    array : str
        Name of the array.
    index : tuple of int
        Position of the element.
    got, expected : int
        Bit patterns.
    digits : int
        Hexadecimal digits of the element.
    """

    array: str
    index: tuple[int, ...]
    got: int
    expected: int
    digits: int

    @property
    def bits(self) -> int:
        """Number of bits that differ."""
        return (self.got ^ self.expected).bit_count()

    def __str__(self) -> str:
        place = ", ".join(map(str, self.index))
        return (
            f"{self.array}[{place}]: got {self.got:#0{self.digits + 2}x}, "
            f"expected {self.expected:#0{self.digits + 2}x}"
        )


def differences(got: HasState, expected: HasState, *, limit: int | None = None) -> list[Difference]:
    """Elements whose bit patterns differ, in the order of ``NAMES`` and of the index.

    Parameters
    ----------
    got, expected : HasState
        States of the same sizes.
    limit : int, optional
        Report no more than this many.

    Raises
    ------
    ValueError
        If an array's shape or dtype differs.
    """
    found: list[Difference] = []
    for name in NAMES:
        left, right = _patterns(got, name), _patterns(expected, name)
        if left.shape != right.shape or left.dtype != right.dtype:
            raise ValueError(
                f"{name}: {left.dtype} {left.shape} against {right.dtype} {right.shape}"
            )
        places = np.argwhere(left != right)
        for place in places if limit is None else places[: limit - len(found)]:
            index = tuple(int(i) for i in place)
            found.append(
                Difference(
                    name, index, int(left[index]), int(right[index]), 2 * left.dtype.itemsize
                )
            )
    return found


def differing_bits(got: HasState, expected: HasState) -> int:
    """Number of differing bits in the whole state; sizes must agree as in ``differences``."""
    return sum(
        int(np.bitwise_count(_patterns(got, name) ^ _patterns(expected, name)).sum())
        for name in NAMES
    )


def _patterns(state: HasState, name: str) -> np.ndarray:
    array = getattr(state, name)
    return array.view(f"u{array.dtype.itemsize}")
