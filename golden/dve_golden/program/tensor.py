"""Named tensors in a memory, and views of them that become access patterns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import index as as_integer
from types import EllipsisType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_golden.memory.address import Region
from dve_golden.program.allocation import Block


class Dim(NamedTuple):
    """One dimension of a view: how many elements, and how far apart, in elements."""

    count: int
    step: int


Index = int | slice | EllipsisType | None


class Tensor:
    """``channels`` partitions with ``shape`` elements each, one after the other in row order.

    `ProgramBuilder.sbuf` and `ProgramBuilder.psum` make them.

    Parameters
    ----------
    name : str
    region : Region
    partition : int
        First partition: 0, 32, 64 or 96.
    channels : int
        Partitions, 1 to 128.
    shape : tuple of int
        Elements of a partition, outermost dimension first.
    dtype : Dtype
    block : Block
        Where they lie.

    Members
    -------
    live : bool
        False once the tensor is freed.
    """

    def __init__(
        self,
        name: str,
        region: Region,
        partition: int,
        channels: int,
        shape: tuple[int, ...],
        dtype: Dtype,
        block: Block,
    ) -> None:
        self.name = name
        self.region = region
        self.partition = partition
        self.channels = channels
        self.shape = shape
        self.dtype = dtype
        self.block = block
        self.live = True
        # Channels, counted from the first one, in which an element holds a value.
        self._written = np.zeros(int(np.prod(shape)), np.int16)

    @property
    def offset(self) -> int:
        """First byte in each partition."""
        return self.block.offset

    @property
    def size(self) -> int:
        """Elements of a partition."""
        return self._written.size

    @property
    def view(self) -> "View":
        """All of the tensor."""
        dims, step = [], 1
        for count in reversed(self.shape):
            dims.append(Dim(count, step))
            step *= count
        return View(self, self.channels, 0, tuple(reversed(dims)))

    def __getitem__(self, index: Index | tuple[Index, ...]) -> "View":
        return self.view[index]

    def on(self, channels: int) -> "View":
        """The first ``channels`` partitions; see `View.on`."""
        return self.view.on(channels)

    def mark_written(self, elements: NDArray[np.intp] | slice, channels: int) -> None:
        """Record that these elements hold values in the first ``channels`` partitions."""
        self._written[elements] = np.maximum(self._written[elements], channels)

    def holds(self, elements: NDArray[np.intp] | slice, channels: int) -> bool:
        """Whether all these elements hold values in the first ``channels`` partitions."""
        return bool(self._written[elements].min() >= channels)


@dataclass(frozen=True, eq=False)
class View:
    """Some elements of a tensor, in an order of their own.

    Parameters
    ----------
    tensor : Tensor
    channels : int
        Partitions, from the tensor's first one on.
    start : int
        Element of the partition at which the walk begins.
    dims : tuple of Dim
        Outermost first, as numpy orders them.
    """

    tensor: Tensor
    channels: int
    start: int
    dims: tuple[Dim, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(dim.count for dim in self.dims)

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def dtype(self) -> Dtype:
        return self.tensor.dtype

    @property
    def byte(self) -> int:
        """First byte in each partition."""
        return self.tensor.offset + self.start * DTYPE_BYTES[self.dtype]

    def __getitem__(self, index: Index | tuple[Index, ...]) -> "View":
        """Basic numpy indexing: integers, slices, ``...``, and None for a dimension of count 1.

        Raises
        ------
        IndexError
            If there are more indices than dimensions, an integer is out of range, a slice
            selects nothing, or an index is something else.
        """
        start, dims, rest = self.start, [], list(self.dims)
        for item in self._without_ellipsis(index if isinstance(index, tuple) else (index,)):
            if item is None:
                dims.append(Dim(1, 0))
                continue
            if not rest:
                raise IndexError(f"{self.name} has {len(self.dims)} dimensions, got {index}")
            count, step = rest.pop(0)
            if isinstance(item, slice):
                chosen = range(count)[item]
                if not chosen:
                    raise IndexError(f"{self.name}: {item} selects nothing of {count} elements")
                start += chosen.start * step
                dims.append(Dim(len(chosen), chosen.step * step))
                continue
            chosen = self._integer(item)
            if not -count <= chosen < count:
                raise IndexError(f"{self.name}: index {item} is out of range for {count} elements")
            start += chosen % count * step
        return replace(self, start=start, dims=(*dims, *rest))

    def _without_ellipsis(self, items: tuple[Index, ...]) -> list[Index]:
        """Whole slices in its place, as many as the dimensions that the other items leave."""
        at = [position for position, item in enumerate(items) if item is Ellipsis]
        if len(at) > 1:
            raise IndexError(f"{self.name}: an index has at most one ..., got {len(at)}")
        if not at:
            return list(items)
        taken = sum(item is not None and item is not Ellipsis for item in items)
        whole_dims = [slice(None)] * (len(self.dims) - taken)
        return [*items[: at[0]], *whole_dims, *items[at[0] + 1 :]]

    def _integer(self, item: object) -> int:
        try:
            if not isinstance(item, bool | np.bool_):  # numpy takes these for masks
                return as_integer(item)  # pyright: ignore[reportArgumentType]
        except TypeError:
            pass
        raise IndexError(f"{self.name}: an index is an integer, a slice, ... or None, got {item!r}")

    def on(self, channels: int) -> "View":
        """The same elements in the first ``channels`` partitions only.

        Raises
        ------
        ValueError
            If the tensor has not so many.
        """
        if not 1 <= channels <= self.tensor.channels:
            raise ValueError(f"{self.name} has {self.tensor.channels} channels, not {channels}")
        return replace(self, channels=channels)

    def broadcast_to(self, shape: Sequence[int]) -> "View":
        """Repeat dimensions of count 1, and new outer ones, by step 0, as numpy does.

        Raises
        ------
        ValueError
            If the shapes do not match.
        """
        missing = len(shape) - len(self.dims)
        dims = (Dim(1, 0),) * missing + self.dims
        if missing < 0 or any(
            dim.count not in (1, count) for dim, count in zip(dims, shape, strict=True)
        ):
            raise ValueError(f"{self.name}: shape {self.shape} does not broadcast to {shape}")
        repeated = (
            dim if dim.count == count else Dim(count, 0)
            for dim, count in zip(dims, shape, strict=True)
        )
        return replace(self, dims=tuple(repeated))

    def walk(self) -> tuple[Dim, ...]:
        """The fewest dimensions that visit the same elements in the same order, innermost first."""
        merged: list[Dim] = []
        for count, step in reversed(self.dims):
            if count == 1:
                continue
            if merged and step == merged[-1].step * merged[-1].count:
                merged[-1] = Dim(merged[-1].count * count, merged[-1].step)
            else:
                merged.append(Dim(count, step))
        return tuple(merged) or (Dim(1, 1),)

    def elements(self) -> NDArray[np.intp] | slice:
        """Indices into the tensor's elements, a slice where one step is between all of them."""
        walk = self.walk()
        if len(walk) == 1 and walk[0].step > 0:
            count, step = walk[0]
            return slice(self.start, self.start + (count - 1) * step + 1, step)
        return _offsets(walk) + self.start


def _offsets(walk: Iterable[Dim]) -> NDArray[np.intp]:
    offsets = np.zeros(1, np.intp)
    for count, step in walk:
        offsets = (np.arange(count)[:, None] * step + offsets).ravel()
    return offsets


def whole(operand: Tensor | View) -> View:
    """A view, whether of a whole tensor or of a part."""
    return operand.view if isinstance(operand, Tensor) else operand
