"""Tensors of a program as images that the host places, and as arrays that it reads."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.batchnorm.layout import Image, as_bytes
from dve_golden.batchnorm.step import Extent
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_golden.program.builder import Operand, ProgramBuilder
from dve_golden.program.tensor import Dim, View, whole


def place(b: ProgramBuilder, operand: Operand, values: NDArray) -> Image:
    """The image that puts ``values`` into a contiguous part of a tensor at partition 0.

    Parameters
    ----------
    values : array [channels, ...]
        float32 that the tensor's dtype holds exactly, or uint8 for a tensor of UINT8.
    """
    view = whole(operand)
    rows = values.reshape(view.channels, -1)
    _require_run(view, rows.shape[1])
    b.written_by_host(view)
    return Image(
        view.byte, as_bytes(rows if view.dtype is Dtype.UINT8 else narrow(rows, view.dtype))
    )


def read(sbuf: NDArray[np.uint8], operand: Operand) -> NDArray[np.float32]:
    """The values of a contiguous part of a tensor at partition 0, float32 [channels, ...]."""
    view = whole(operand)
    raw = np.ascontiguousarray(extent(view).of(sbuf)).view(f"<u{DTYPE_BYTES[view.dtype]}")
    return widen(raw, view.dtype).reshape(view.channels, *view.shape)


def extent(operand: Operand) -> Extent:
    """The bytes of a contiguous part of a tensor at partition 0."""
    view = whole(operand)
    count = int(np.prod(view.shape))
    _require_run(view, count)
    return Extent(view.channels, range(view.byte, view.byte + DTYPE_BYTES[view.dtype] * count))


def _require_run(view: View, count: int) -> None:
    assert view.tensor.partition == 0, view.name
    assert view.walk() == (Dim(count, 1),), view.name
