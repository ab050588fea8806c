"""From a storage format to the hub format binary32 (isa_common.md 2.5)."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.fp32.arithmetic import canonicalize
from dve_golden.isa.enums import Dtype


@np.errstate(invalid="ignore")  # a signalling NaN is an operand like any other
def widen(raw: NDArray[np.unsignedinteger], dtype: Dtype) -> NDArray[np.float32]:
    """Convert elements to binary32.

    FP32, FP16 and BF16 are exact, INT32 rounds to nearest even. Every NaN becomes the canonical
    one, FP32 included (batchnorm.md section 5); subnormals and signed zeros are kept.

    Parameters
    ----------
    raw
        Bit patterns, any shape, little-endian unsigned integers of the element's size.
    dtype
        What the patterns mean.

    Returns
    -------
    A new array of the same shape.

    Raises
    ------
    ValueError
        If the engine does not read this format.
    """
    match dtype:
        case Dtype.FP32:
            values = raw.view("<f4").astype(np.float32)
        case Dtype.FP16:
            values = raw.view("<f2").astype(np.float32)
        case Dtype.BF16:
            values = (raw.astype(np.uint32) << 16).view(np.float32)
        case Dtype.INT32:
            return raw.view("<i4").astype(np.float32)
        case _:
            raise ValueError(f"{dtype.name} is not a source format")
    return canonicalize(values)
