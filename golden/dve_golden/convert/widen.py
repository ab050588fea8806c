"""From a storage format to the hub format binary32 (isa_common.md 2.5)."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.convert.fp8 import format_of, widen_fp8
from dve_golden.convert.integer import INTEGERS
from dve_golden.convert.subnormal import flush
from dve_golden.fp32.arithmetic import canonicalize
from dve_golden.isa.control import RESET_CONTROL, Control
from dve_golden.isa.enums import Dtype
from dve_golden.isa.generations import Generation


@np.errstate(invalid="ignore")  # a signalling NaN is an operand like any other
def widen(
    raw: NDArray[np.unsignedinteger],
    dtype: Dtype,
    control: Control = RESET_CONTROL[Generation.CAYMAN],
) -> NDArray[np.float32]:
    """Convert elements to binary32.

    All types are exact but INT32 and UINT32, which round to nearest even. Every NaN becomes the
    canonical one, FP32 included (batchnorm.md section 5); signed zeros are kept, and subnormals
    unless they are flushed.

    Parameters
    ----------
    raw
        Bit patterns, any shape but a scalar, little-endian unsigned integers of the element's size.
    dtype
        What the patterns mean.
    control
        Control values of the engine; by default those of the default generation after reset.

    Returns
    -------
    A new array of the same shape.

    Raises
    ------
    ValueError
        If no converter reads this format.
    """
    if control.flush_to_zero:
        raw = flush(raw, dtype)
    match dtype:
        case Dtype.FP32:
            values = raw.view("<f4").astype(np.float32)
        case Dtype.FP16:
            values = raw.view("<f2").astype(np.float32)
        case Dtype.BF16:
            values = (raw.astype(np.uint32) << 16).view(np.float32)
        case _:
            return _widen_integer_or_fp8(raw, dtype, control)
    return canonicalize(values)


def _widen_integer_or_fp8(
    raw: NDArray[np.unsignedinteger], dtype: Dtype, control: Control
) -> NDArray[np.float32]:
    """Integers and 8-bit floats, which have no NaN but the canonical one."""
    if dtype in INTEGERS:
        return raw.view(INTEGERS[dtype]).astype(np.float32)
    form = format_of(dtype, control)
    if form is None:
        raise ValueError(f"{dtype.name} is not a source format")
    return widen_fp8(raw, form)
