"""The instructions of one tile where the host forms the coefficients.

Source: batchnorm.md sections 3, 5 and 11; isa_common.md 5.6. Every engine gets exactly the same
steps.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dve_golden.batchnorm import layout as at
from dve_golden.batchnorm.coefficients import Coefficients
from dve_golden.batchnorm.layout import Image, Layout, as_bytes
from dve_golden.batchnorm.step import Extent, Step
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.codec import Fields, encode
from dve_golden.isa.enums import DTYPE_BYTES, Dtype, ImmSrc, Opcode


@dataclass(frozen=True, eq=False)
class Tile:
    """Up to 128 channels by up to ``layout.tile_elements`` elements.

    Parameters
    ----------
    layout : Layout
    x, dy : float32 [channels, n]
        Values that the storage format holds exactly.
    """

    layout: Layout
    x: NDArray[np.float32]
    dy: NDArray[np.float32]

    @property
    def channels(self) -> int:
        return self.x.shape[0]

    @property
    def count(self) -> int:
        return self.x.shape[1]

    def images(self) -> tuple[Image, ...]:
        """x and dy in the storage format."""
        return (
            Image(self.layout.x, as_bytes(narrow(self.x, self.layout.dtype))),
            Image(self.layout.dy, as_bytes(narrow(self.dy, self.layout.dtype))),
        )


def grad_accumulate(tile: Tile, mean: NDArray[np.float32], inv_std: NDArray[np.float32]) -> Step:
    """The three sums of a tile. ``mean`` and ``inv_std`` are float32 [channels]."""
    dtype = int(tile.layout.dtype)
    instruction = encode(
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2,
        _walk("src0", tile.layout.x, tile.count, 3)
        | _walk("src1", tile.layout.dy, tile.count, 3)
        | _walk("dst", at.SUMS, 3, 1)
        | {
            "imm0": at.MEAN,
            "imm1": at.INV_STD,
            "imm0_imm1_src.lo": ImmSrc.POINTER,
            "imm0_imm1_src.hi": ImmSrc.POINTER,
            "in0_in1_dtype.lo": dtype,
            "in0_in1_dtype.hi": dtype,
            "immediate_out_dtype.lo": Dtype.FP32,
            "immediate_out_dtype.hi": Dtype.FP32,
            "num_active_channels": tile.channels,
        },
    )
    statistics = (_parameter(at.MEAN, mean), _parameter(at.INV_STD, inv_std))
    sums = _extent(at.SUMS, tile.channels, 3, Dtype.FP32)
    return Step(
        statistics + tile.images(),
        instruction,
        tile.channels * tile.count,
        results=(sums,),
        writes=(sums.span,),
    )


def read_sums(sbuf: NDArray[np.uint8], channels: int) -> NDArray[np.float32]:
    """The sums that `grad_accumulate` left, float32 [channels, 3]: d_beta, d_gamma, sum of xn."""
    return _read(sbuf, _extent(at.SUMS, channels, 3, Dtype.FP32), Dtype.FP32)


def param_load(channels: int, count: int, coefficients: Coefficients) -> Step:
    """Load N = ``count``, the mean that is still in memory, and A, B, C into the lane state."""
    instruction = encode(
        Opcode.BATCH_NORM_PARAM_LOAD2,
        _walk("src", at.B, 2, 2)
        | {
            "element_count": int(np.float32(count).view(np.uint32)),
            "src_dtype": Dtype.FP32,
            "immediate_dtype": Dtype.FP32,
            "imm0": at.MEAN,
            "imm1": at.A,
            "imm0_src": ImmSrc.POINTER,
            "imm1_src": ImmSrc.POINTER,
            "num_active_channels": channels,
        },
    )
    images = (
        _parameter(at.B, coefficients.b),
        _parameter(at.C, coefficients.c),
        _parameter(at.A, coefficients.a),
    )
    return Step(images, instruction, 0)


def back_prop(tile: Tile, *, in_place: bool = False) -> Step:
    """d_x of a tile, with the lane state that `param_load` left.

    ``in_place`` says that x and dy still lie where `grad_accumulate` had them.
    """
    dtype = tile.layout.dtype
    instruction = encode(
        Opcode.BATCH_NORM_BACK_PROP,
        _walk("src0", tile.layout.x, tile.count, 3)
        | _walk("src1", tile.layout.dy, tile.count, 3)
        | _walk("dst", tile.layout.d_x, tile.count, 3)
        | {
            "in0_in1_dtype.lo": dtype,
            "in0_in1_dtype.hi": dtype,
            "out_dtype": dtype,
            "num_active_channels": tile.channels,
        },
    )
    images = () if in_place else tile.images()
    d_x = _d_x(tile)
    return Step(images, instruction, tile.channels * tile.count, results=(d_x,), writes=(d_x.span,))


def read_d_x(sbuf: NDArray[np.uint8], tile: Tile) -> NDArray[np.float32]:
    """The d_x that `back_prop` left, float32 [channels, n]."""
    return _read(sbuf, _d_x(tile), tile.layout.dtype)


def _d_x(tile: Tile) -> Extent:
    return _extent(tile.layout.d_x, tile.channels, tile.count, tile.layout.dtype)


def _walk(operand: str, start: int, count: int, rank: int) -> Fields:
    """A contiguous walk from byte ``start`` of partition 0 in SBUF: the address is the byte."""
    rest = (1,) * (rank - 1)
    return {
        f"{operand}.start_addr": start,
        f"{operand}.step_elem": (1, *rest),
        f"{operand}.num_elem": (count, *rest),
    }


def _parameter(offset: int, values: NDArray[np.float32]) -> Image:
    return Image(offset, as_bytes(values.astype("<f4").reshape(-1, 1)))


def _extent(start: int, channels: int, count: int, dtype: Dtype) -> Extent:
    return Extent(channels, range(start, start + DTYPE_BYTES[dtype] * count))


def _read(sbuf: NDArray[np.uint8], extent: Extent, dtype: Dtype) -> NDArray[np.float32]:
    raw = np.ascontiguousarray(extent.of(sbuf))
    return widen(raw.view(f"<u{DTYPE_BYTES[dtype]}"), dtype)
