"""Tiles of a layer and the tensors that hold them while the engine works on them."""

from dataclasses import dataclass

from dve_golden.batchnorm.layer import Layer
from dve_golden.isa.enums import Dtype
from dve_golden.program.builder import ProgramBuilder
from dve_golden.program.tensor import Tensor, View


@dataclass(frozen=True)
class Tile:
    """Place of a tile in the channel-major arrays.

    Parameters
    ----------
    column : int
        Which channel tile of its group.
    channels, elements : slice
        Rows and columns of the arrays.
    """

    column: int
    channels: slice
    elements: slice

    @property
    def index(self) -> tuple[slice, slice]:
        return self.channels, self.elements

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from the other tiles of its group."""
        return self.column, self.elements.start

    @property
    def height(self) -> int:
        return self.channels.stop - self.channels.start

    @property
    def width(self) -> int:
        return self.elements.stop - self.elements.start

    @property
    def size(self) -> int:
        return self.height * self.width

    def of(self, tensor: Tensor) -> View:
        """The part of a buffer's tensor that the tile fills."""
        return tensor[: self.width].on(self.height)


@dataclass(frozen=True)
class Buffer:
    """Tensors of one tile.

    Members
    -------
    x, dy : Tensor
    gradient : Tensor
        dy itself, or what a rectifier leaves of it; d_x replaces it.
    mask : Tensor, optional
        Of a rectifier, as the forward pass saved it.
    """

    x: Tensor
    dy: Tensor
    gradient: Tensor
    mask: Tensor | None

    @classmethod
    def allocate(
        cls, b: ProgramBuilder, layer: Layer, suffix: str, channels: int, elements: int
    ) -> "Buffer":
        """Tensors for a tile of ``layer``; ``suffix`` makes their names unique."""

        def tensor(name: str, dtype: Dtype) -> Tensor:
            return b.sbuf(f"{name}{suffix}", channels, elements, dtype)

        x, dy = tensor("x", layer.dtype), tensor("dy", layer.dtype)
        if layer.relu is None:
            return cls(x, dy, dy, None)
        mask = None if layer.relu.mask is None else tensor("mask", Dtype.UINT8)
        return cls(x, dy, tensor("gradient", layer.dtype), mask)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        every = (self.x, self.dy, self.gradient, self.mask)
        return tuple({tensor: None for tensor in every if tensor is not None})
