"""Mean and variance of a batch, by the forward statistics of an engine (batchnorm.md 10, 11).

Stats2 describes tiles of 512 elements of a channel by two sets of numbers, Aggregate all sets
together. The host places elements and counts, and computes nothing.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dve_golden.batchnorm.engine import Engine, choose_engine
from dve_golden.batchnorm.layer import activation, channel_major, storage_dtype
from dve_golden.batchnorm.layout import TILE_MULTIPLE, Image, tiles
from dve_golden.batchnorm.placement import extent, place, read
from dve_golden.batchnorm.step import Step
from dve_golden.isa.enums import DTYPE_BYTES, MAX_CHANNELS, STATISTICS, Dtype
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import WORD_BYTES, Region
from dve_golden.program.builder import ProgramBuilder

STATS2_TILE = 512
"""Elements of a channel that one Stats2 takes."""

MAX_ELEMENTS = 1 << 24
"""Of a channel: up to here the sum of the counts is exact in binary32."""

_TUPLE_BYTES = STATISTICS * DTYPE_BYTES[Dtype.FP32]
_HALVES = 2


class Statistics(NamedTuple):
    """Of each channel, float32 [C]: mean, and the biased variance that normalises a batch."""

    mean: NDArray[np.float32]
    var: NDArray[np.float32]


def statistics(
    x: ArrayLike,
    *,
    backend: str | Engine = "golden",
    dtype: str = "fp32",
    generation: Generation | str | None = None,
    **engine_options: Any,
) -> Statistics:
    """Mean and variance over all axes but the second, computed by instructions of the engine.

    Where the sets of a channel do not all fit in memory, Aggregate makes one of them now and then;
    so a different memory size may change the last bits. Lanes and latencies change none.

    Parameters
    ----------
    x : array [N, C, ...]
        Input of a layer, rank 2 to 5, at most 2^24 elements per channel. Rounded to binary32, then
        to ``dtype``. Infinities and NaN propagate.
    backend, generation, **engine_options
        As of `dve_golden.batchnorm.backward`.
    dtype : "fp32", "bf16" or "fp16"
        Storage format of x. Sums and results are binary32.

    Raises
    ------
    ValueError
        If x is no such array, the dtype, the backend or the generation is unknown, or a partition
        holds no tile.
    TypeError
        If options are given for an engine that exists already.
    RuntimeError
        If the engine rejects an instruction.
    """
    storage = storage_dtype(dtype)
    rows = channel_major(activation(x, storage))
    if rows.shape[1] > MAX_ELEMENTS:
        raise ValueError(f"x has {rows.shape[1]} elements per channel, at most {MAX_ELEMENTS}")
    engine = choose_engine(backend, generation, engine_options)
    memory = _Memory.fit(storage, rows.shape[1], engine.sbuf_bytes)
    results = [
        _ChannelTile(rows[channels], storage, memory, engine).run()
        for channels in tiles(len(rows), MAX_CHANNELS)
    ]
    mean, var = np.concatenate(results).T
    return Statistics(np.ascontiguousarray(mean), np.ascontiguousarray(var))


@dataclass(frozen=True)
class _Memory:
    """How a partition is used.

    Parameters
    ----------
    buffer : int
        Elements of each of the two buffers that take turns, so that the host can place the next
        elements while the engine works on the present ones.
    sets : int
        How many are kept; a buffer's and one more at least.
    """

    buffer: int
    sets: int

    @classmethod
    def fit(cls, storage: Dtype, elements: int, sbuf_bytes: int) -> "_Memory":
        """At most a quarter is for sets, what is left for the buffers."""
        # Count, result, and what is lost because five tensors start on words.
        single = 3 * DTYPE_BYTES[Dtype.FP32] + 5 * WORD_BYTES
        most = (sbuf_bytes - sbuf_bytes // 4 - single) // (2 * DTYPE_BYTES[storage])
        most -= most % TILE_MULTIPLE
        if most < TILE_MULTIPLE:
            raise ValueError(f"a partition of {sbuf_bytes} bytes is too small for a tile")
        buffer = min(most, elements)
        each = _HALVES * -(-buffer // STATS2_TILE)
        return cls(buffer, min(-(-elements // buffer) * each, sbuf_bytes // 4 // _TUPLE_BYTES))


class _ChannelTile:
    """Up to 128 channels: a step for each buffer of elements.

    Parameters
    ----------
    rows : float32 [channels, elements]
        Values that the storage format holds exactly.
    storage : Dtype
    memory : _Memory
    engine : Engine
    """

    def __init__(
        self, rows: NDArray[np.float32], storage: Dtype, memory: _Memory, engine: Engine
    ) -> None:
        channels = len(rows)
        self._rows = rows
        self._engine = engine
        self._width = memory.buffer
        b = ProgramBuilder(generation=engine.generation, sbuf_bytes=engine.sbuf_bytes)
        self._program = b
        self._sets = b.sbuf("sets", channels, (memory.sets, STATISTICS))
        self._count = b.sbuf("count", channels, 1)
        self._result = b.sbuf("result", channels, 2)
        self._buffers = [b.sbuf(name, channels, memory.buffer, storage) for name in ("x0", "x1")]
        self._filled = 0

    def run(self) -> NDArray[np.float32]:
        """Mean and variance, [channels, 2]."""
        b, elements = self._program, self._rows.shape[1]
        for turn, part in enumerate(tiles(elements, self._width)):
            start = len(b)
            x = self._buffers[turn % 2][: part.stop - part.start]
            images = [place(b, x, self._rows[:, part]), *self._make_room(part.start)]
            for tile in tiles(part.stop - part.start, STATS2_TILE):
                b.stats2(self._sets[self._filled : self._filled + _HALVES], x[tile])
                self._filled += _HALVES
            if part.stop == elements:
                b.aggregate(self._result, self._sets[: self._filled])
            step = Step(
                tuple(images),
                b.encode(start),
                len(self._rows) * (part.stop - part.start),
                b.footprint(Region.SBUF, start),
                (extent(self._result),) if part.stop == elements else (),
                b.footprint(Region.SBUF, start, written=True),
            )
            sbuf = self._engine.execute(step)
        return read(sbuf, self._result)

    def _make_room(self, done: int) -> list[Image]:
        """If the sets of another buffer do not fit, make one of all, of ``done`` elements."""
        coming = _HALVES * -(-self._width // STATS2_TILE)
        if self._filled + coming <= self._sets.shape[0]:
            return []
        b, first = self._program, self._sets[0]
        count = np.full((len(self._rows), 1), done, np.float32)
        image = place(b, self._count, count)
        b.aggregate(first[1:], self._sets[: self._filled])
        b.tensor_tensor(first[2:], first[2:], self._count, op="mult")  # nvar of the variance
        b.tensor_tensor(first[:1], self._count, self._count, op="bypass")
        self._filled = 1
        return [image]
