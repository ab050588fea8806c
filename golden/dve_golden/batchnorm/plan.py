"""How a layer is cut into tiles, and which tiles are in SBUF at one time."""

from dataclasses import dataclass

from dve_golden.batchnorm import columns
from dve_golden.batchnorm.layer import Layer
from dve_golden.batchnorm.layout import TILE_MULTIPLE
from dve_golden.isa.enums import DTYPE_BYTES, MAX_CHANNELS, Dtype
from dve_golden.memory.address import WORD_BYTES

MAX_TILE_ELEMENTS = 8192
"""Elements of a channel that one instruction takes."""

MAX_PARTIALS = 32
"""Partial sums of a channel that wait to be added; a chain of more is begun anew."""

MAX_GROUP = 1024
"""Channel tiles of a group: steps between their rows, and counts over them, stay in 16 bits."""

_SUMS_BYTES = 3 * DTYPE_BYTES[Dtype.FP32]
_LOST = 2 * WORD_BYTES
"""No more than that is lost because the two tensors of columns start on words."""

_SCRATCH_BYTES = DTYPE_BYTES[Dtype.FP32] + DTYPE_BYTES[Dtype.UINT8]


@dataclass(frozen=True)
class Plan:
    """Tiles of a layer in the memory of an engine.

    A buffer holds one tile of x and dy, and what a rectifier needs. Where the buffers of all
    element tiles of a channel tile fit, they stay in SBUF from the sums to d_x; otherwise two
    buffers take turns, and the tiles are placed twice.

    Parameters
    ----------
    channel_tiles : int
        Tiles of up to 128 channels.
    element_tiles : int
        Tiles of the elements of a channel.
    tile_elements : int
        Elements of a buffer, a multiple of eight.
    group : int
        Channel tiles whose coefficients are formed together.
    resident : bool
        Whether tiles stay in SBUF between the two passes.
    partials : int
        Partial sums of a channel that memory is kept for; 0 if there is one element tile.
    """

    channel_tiles: int
    element_tiles: int
    tile_elements: int
    group: int
    resident: bool
    partials: int

    @classmethod
    def fit(cls, layer: Layer, sbuf_bytes: int) -> "Plan":
        """The plan with the fewest instructions that a partition of ``sbuf_bytes`` bytes holds.

        If not all channel tiles fit at once, half of SBUF is for the present group and half for
        the next one, which the host places meanwhile. The plan depends on the layer and the
        memory only, so results do not depend on the number of lanes.

        Raises
        ------
        ValueError
            If there is no room for two tiles of eight elements.
        """
        across = -(-layer.channels // MAX_CHANNELS)
        recomputed = layer.relu is not None and layer.relu.mask is None
        scratch = _SCRATCH_BYTES if recomputed else 0
        per_element = buffer_bytes(layer)

        count, size = _equal_tiles(layer.elements, MAX_TILE_ELEMENTS)
        partials = count if count > 1 else 0
        per_channel_tile = columns.BYTES + _SUMS_BYTES * partials + count * size * per_element
        for space in (sbuf_bytes, sbuf_bytes // 2):
            room = space - size * scratch - _LOST
            group = min(across, room // per_channel_tile, MAX_GROUP)
            if group == across or (group >= 1 and space < sbuf_bytes):
                return cls(across, count, size, group, True, partials)

        group, partials = _streamed_columns(across, sbuf_bytes)
        groups_held = 1 if group == across else 2
        per_group = group * (columns.BYTES + _SUMS_BYTES * partials) + _LOST
        room = sbuf_bytes - groups_held * per_group
        most = room // (2 * per_element + scratch)
        most = min(most - most % TILE_MULTIPLE, MAX_TILE_ELEMENTS)
        if most < TILE_MULTIPLE:
            raise ValueError(f"a partition of {sbuf_bytes} bytes is too small for a tile")
        count, size = _equal_tiles(layer.elements, most)
        return cls(across, count, size, group, False, min(partials, count) if count > 1 else 0)

    @property
    def steps(self) -> int:
        """Steps that an engine is handed."""
        groups = -(-self.channel_tiles // self.group)
        sums = self.channel_tiles * self.element_tiles
        results = self.channel_tiles if self.resident else sums
        return sums + groups + results


def buffer_bytes(layer: Layer) -> int:
    """Bytes of a buffer per element of its tile."""
    size = DTYPE_BYTES[layer.dtype]
    if layer.relu is None:
        return 2 * size
    return 3 * size + (0 if layer.relu.mask is None else DTYPE_BYTES[Dtype.UINT8])


def _equal_tiles(elements: int, most: int) -> tuple[int, int]:
    """Fewest tiles of at most ``most`` elements, and their size if all are about equal."""
    count = -(-elements // most)
    size = -(-elements // count)
    return count, size + -size % TILE_MULTIPLE


def _streamed_columns(across: int, sbuf_bytes: int) -> tuple[int, int]:
    """Channel tiles of a group and partial sums of each, in no more than an eighth of SBUF."""
    for partials in (MAX_PARTIALS, 8, 2):
        group = (sbuf_bytes // 8) // (columns.BYTES + _SUMS_BYTES * partials)
        if group >= 1:
            return min(group, across, MAX_GROUP), partials
    return 1, 2
