"""binary32 to the integer types (isa_common.md 2.5)."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.fp32.arithmetic import Floats
from dve_golden.isa.control import IntegerRounding
from dve_golden.isa.enums import Dtype

INTEGERS: dict[Dtype, np.dtype[np.integer]] = {
    Dtype.INT8: np.dtype("i1"),
    Dtype.UINT8: np.dtype("u1"),
    Dtype.INT16: np.dtype("<i2"),
    Dtype.UINT16: np.dtype("<u2"),
    Dtype.INT32: np.dtype("<i4"),
    Dtype.UINT32: np.dtype("<u4"),
}
"""The integer types that a converter knows."""


def to_integers(
    values: Floats, dtype: Dtype, rounding: IntegerRounding
) -> NDArray[np.unsignedinteger]:
    """Round, then saturate to the range of the type; NaN gives 0.

    Parameters
    ----------
    values
        Any shape; infinities saturate like other numbers.
    dtype
        One of `INTEGERS`.

    Returns
    -------
    Two's complement patterns of the type's size.
    """
    integer = INTEGERS[dtype]
    limits = np.iinfo(integer)
    # The bounds of a 32-bit type have more bits than a binary32, which holds no number between
    # `highest` and the bound that is not the bound itself or more.
    highest = np.float32(limits.max)
    if int(highest) > limits.max:
        highest = np.nextafter(highest, np.float32(0))
    rounded = np.rint(values) if rounding is IntegerRounding.NEAREST_EVEN else values
    held = np.clip(rounded, np.float32(limits.min), highest)
    nan = np.isnan(held)
    if nan.any():
        held[nan] = 0
    integers = held.astype(integer)  # cuts off the fraction
    np.copyto(integers, limits.max, where=rounded > highest)
    return integers.view(f"<u{integer.itemsize}")
