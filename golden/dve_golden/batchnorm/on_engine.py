"""The backward pass as a program of the engine alone: no arithmetic on the host.

The host places operands and reads results. Sums of tiles, coefficients and rectifier are
instructions (batchnorm.md sections 9 and 11).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dve_golden.batchnorm.columns import (
    GIVEN,
    SUMS,
    Row,
    b_and_c,
    d_gamma_row,
    form_a,
    form_coefficients,
)
from dve_golden.batchnorm.engine import Engine
from dve_golden.batchnorm.layer import Gradients, Layer, batch_major, channel_major
from dve_golden.batchnorm.layout import Image, tiles
from dve_golden.batchnorm.partials import Partials
from dve_golden.batchnorm.placement import extent, place, read
from dve_golden.batchnorm.plan import Plan
from dve_golden.batchnorm.rectifier import Scratch, form_mask
from dve_golden.batchnorm.step import Step
from dve_golden.batchnorm.tile import Buffer, Tile
from dve_golden.fp32.reciprocal import reciprocal
from dve_golden.isa.enums import MAX_CHANNELS
from dve_golden.memory.address import Region
from dve_golden.program.builder import ProgramBuilder
from dve_golden.program.tensor import Tensor, View


@dataclass(frozen=True)
class _Group:
    """Channel tiles whose coefficients are formed together.

    Parameters
    ----------
    channels : list of slice
        Of each channel tile.
    columns : Tensor
        What there is once per channel; see `dve_golden.batchnorm.columns`.
    partials : Partials, optional
        Sums of element tiles, if there are several.
    buffers : dict
        By the key of their tile; none if they take turns.
    owned : list of Tensor
        To be freed with the group.
    """

    channels: list[slice]
    columns: Tensor
    partials: Partials | None
    owned: list[Tensor]
    buffers: dict[tuple[int, int], Buffer] = field(default_factory=dict)


class EngineBackward:
    """One backward pass, composed as it runs.

    A group of channel tiles has three phases: the sums of every tile; coefficients; d_x of every
    tile. Each tile of a phase is a step.

    Parameters
    ----------
    layer : Layer
    engine : Engine
    mean_coupling : bool
        Correct for the rounding of the mean (batchnorm.md section 8).

    Members
    -------
    plan : Plan
    program : ProgramBuilder
        Every instruction so far.

    Raises
    ------
    ValueError
        If a partition of the engine holds no tile.
    """

    def __init__(self, layer: Layer, engine: Engine, *, mean_coupling: bool = True) -> None:
        self.plan = Plan.fit(layer, engine.sbuf_bytes)
        self.program = ProgramBuilder(generation=engine.generation, sbuf_bytes=engine.sbuf_bytes)
        self._layer = layer
        self._engine = engine
        self._mean_coupling = mean_coupling
        self._x, self._dy = channel_major(layer.x), channel_major(layer.dy)
        relu = layer.relu
        self._mask = None if relu is None or relu.mask is None else channel_major(relu.mask)
        self._gradient = self._dy if relu is None else np.empty_like(self._dy)
        self._d_x = np.empty_like(self._dy)
        self._d_gamma, self._d_beta = np.empty_like(layer.gamma), np.empty_like(layer.gamma)
        self._element_tiles = list(tiles(layer.elements, self.plan.tile_elements))
        most = min(layer.channels, MAX_CHANNELS)
        self._scratch = (
            Scratch.allocate(self.program, most, self.plan.tile_elements)
            if relu is not None and relu.mask is None
            else None
        )
        self._streamed = (
            ()
            if self.plan.resident
            else tuple(self._allocate(f"_{turn}", most) for turn in ("even", "odd"))
        )
        self._executed = 0
        self._turn = 0

    def run(self) -> Gradients:
        """Execute all steps.

        Raises
        ------
        RuntimeError
            If the engine rejects an instruction.
        """
        channel_tiles = list(tiles(self._layer.channels, MAX_CHANNELS))
        previous: list[Tensor] = []
        for chosen in tiles(len(channel_tiles), self.plan.group):
            group = self._begin(chosen.start, channel_tiles[chosen])
            self._sum(group)
            self._form_coefficients(group)
            self._apply(group)
            # One group stays while the host places the next one, so that neither waits.
            self.program.free(*previous)
            previous = group.owned
        d_x = batch_major(self._d_x, self._layer.x.shape)
        return Gradients(d_x, self._d_gamma, self._d_beta)

    # --- phases ------------------------------------------------------------------------------

    def _begin(self, number: int, channels: list[slice]) -> _Group:
        b, most = self.program, _height(channels[0])
        columns = b.sbuf(f"columns{number}", most, (len(Row), len(channels)))
        if not self.plan.partials:
            return _Group(channels, columns, None, [columns])
        partials = Partials(b, f"partials{number}", most, self.plan.partials, len(channels))
        return _Group(channels, columns, partials, [columns, partials.tensor])

    def _sum(self, group: _Group) -> None:
        """d_beta, d_gamma and S of all channels, added over the element tiles."""
        images = list(self._parameters(group))
        if self._scratch is not None:
            form_a(self.program, group.columns)
        for elements in self._element_tiles:
            for column, channels in enumerate(group.channels):
                self._sum_tile(group, Tile(column, channels, elements), images)
                images = []
            if group.partials is not None and elements is not self._element_tiles[-1]:
                group.partials.next_element_tile()

    def _sum_tile(self, group: _Group, tile: Tile, images: list[Image]) -> None:
        b, buffer = self.program, self._buffer(group, tile)
        x, gradient = tile.of(buffer.x), tile.of(buffer.gradient)
        images = [*images, place(b, x, self._x[tile.index])]
        images.append(place(b, tile.of(buffer.dy), self._dy[tile.index]))
        if self._layer.relu is not None:
            images.append(place(b, gradient, np.zeros((tile.height, tile.width), np.float32)))
            if buffer.mask is not None:
                assert self._mask is not None
                passes = tile.of(buffer.mask)
                images.append(place(b, passes, self._mask[tile.index]))
            else:
                assert self._scratch is not None
                passes = form_mask(b, self._scratch, x, group.columns, tile.column)
            b.copy_predicated(gradient, passes, tile.of(buffer.dy))
        sums = (
            group.columns[SUMS, tile.column]
            if group.partials is None
            else group.partials.place_of(tile.column)
        )
        mean, inv_std = (group.columns[row, tile.column] for row in (Row.MEAN, Row.INV_STD))
        b.grad_accumulate(
            sums.on(tile.height), x, gradient, mean.on(tile.height), inv_std.on(tile.height)
        )
        if self._layer.relu is None or self.plan.resident:
            self._execute(images, tile.size)
        else:
            sbuf = self._execute(images, tile.size, gradient)
            self._gradient[tile.index] = read(sbuf, gradient)

    def _form_coefficients(self, group: _Group) -> None:
        b, columns = self.program, group.columns
        if group.partials is not None:
            group.partials.finish(columns[SUMS])
        form_coefficients(b, columns, mean_coupling=self._mean_coupling)
        values = read(self._execute([], 0, columns.view), columns)
        d_gamma = d_gamma_row(mean_coupling=self._mean_coupling)
        for column, channels in enumerate(group.channels):
            self._d_gamma[channels] = values[: _height(channels), d_gamma, column]
            self._d_beta[channels] = values[: _height(channels), Row.D_BETA, column]

    def _apply(self, group: _Group) -> None:
        """d_x of all channels."""
        b, columns = self.program, group.columns
        for column, channels in enumerate(group.channels):
            height = _height(channels)
            b.param_load(
                b_and_c(columns, column, mean_coupling=self._mean_coupling).on(height),
                columns[Row.A, column].on(height),
                columns[Row.MEAN, column].on(height),
                self._layer.elements,
            )
            for elements in self._element_tiles:
                self._apply_tile(group, Tile(column, channels, elements))

    def _apply_tile(self, group: _Group, tile: Tile) -> None:
        b, images = self.program, []
        if self.plan.resident:
            buffer = group.buffers[tile.key]
        else:
            buffer = self._buffer(group, tile)
            images.append(place(b, tile.of(buffer.x), self._x[tile.index]))
            images.append(place(b, tile.of(buffer.gradient), self._gradient[tile.index]))
        gradient = tile.of(buffer.gradient)
        b.back_prop(gradient, tile.of(buffer.x), gradient)
        self._d_x[tile.index] = read(self._execute(images, tile.size, gradient), gradient)

    # --- memory and execution ----------------------------------------------------------------

    def _allocate(self, suffix: str, channels: int) -> Buffer:
        return Buffer.allocate(self.program, self._layer, suffix, channels, self.plan.tile_elements)

    def _buffer(self, group: _Group, tile: Tile) -> Buffer:
        """Where the next tile goes."""
        if not self.plan.resident:
            self._turn += 1
            return self._streamed[self._turn % 2]
        suffix = f"_{tile.channels.start}_{tile.elements.start}"
        buffer = group.buffers[tile.key] = self._allocate(suffix, tile.height)
        group.owned.extend(buffer.tensors)
        return buffer

    def _parameters(self, group: _Group) -> Iterator[Image]:
        """What the host knows of each channel, and zeros in channels that the last tile lacks."""
        b, layer, most = self.program, self._layer, _height(group.channels[0])
        if _height(group.channels[-1]) < most:
            yield place(b, group.columns, np.zeros((most, group.columns.size), np.float32))
            if group.partials is not None:
                empty = np.zeros((most, group.partials.tensor.size), np.float32)
                yield place(b, group.partials.tensor, empty)
        relu = layer.relu
        beta = None if relu is None else relu.beta
        given = np.zeros((most, GIVEN.stop - GIVEN.start, len(group.channels)), np.float32)
        for column, channels in enumerate(group.channels):
            rows = given[: _height(channels), :, column].T
            rows[Row.GAMMA - GIVEN.start] = layer.gamma[channels]
            rows[Row.RECIPROCAL - GIVEN.start] = reciprocal(np.array([layer.elements], np.float32))
            rows[Row.INV_STD - GIVEN.start] = layer.inv_std[channels]
            rows[Row.MEAN - GIVEN.start] = layer.mean[channels]
            rows[Row.BETA - GIVEN.start] = 0 if beta is None else beta[channels]
        yield place(b, group.columns[GIVEN], given)

    def _execute(self, images: list[Image], elements: int, *results: View) -> NDArray[np.uint8]:
        """Run what the program has gained since the last step; SBUF, for ``results`` alone."""
        start, self._executed = self._executed, len(self.program)
        step = Step(
            tuple(images),
            self.program.encode(start),
            elements,
            self.program.footprint(Region.SBUF, start),
            tuple(extent(result) for result in results),
            self.program.footprint(Region.SBUF, start, written=True),
        )
        return self._engine.execute(step)


def _height(channels: slice) -> int:
    return channels.stop - channels.start
