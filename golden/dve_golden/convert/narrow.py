"""From the hub format binary32 to a storage format (isa_common.md 2.5).

All roundings are to nearest even with gradual underflow; a result beyond the largest finite
becomes infinity (sis = 0) and NaN the format's canonical one (sns = 0).
"""

import numpy as np
from numpy.typing import NDArray

from dve_golden.fp32.arithmetic import canonicalize
from dve_golden.isa.enums import Dtype

BF16_DROPPED = 16
"""Significand bits that BF16 (1/8/7) lacks against binary32."""

FP32R_DROPPED = 10
"""The same for FP32R (1/8/13), whose container keeps them as zeros."""


@np.errstate(over="ignore")  # FP16 overflow is defined: infinity
def narrow(values: NDArray[np.float32], dtype: Dtype) -> NDArray[np.unsignedinteger]:
    """Convert binary32 results to elements.

    Parameters
    ----------
    values
        Any shape.
    dtype
        Format of the elements.

    Returns
    -------
    Bit patterns in a new array of the same shape: little-endian unsigned integers of the
    element's size.

    Raises
    ------
    ValueError
        If the engine does not write this format.
    """
    canonical = canonicalize(values.copy())
    bits = canonical.view(np.uint32)
    match dtype:
        case Dtype.FP32:
            return bits.astype("<u4", copy=False)
        case Dtype.FP32R:
            return _round_to_even(bits, FP32R_DROPPED).astype("<u4", copy=False)
        case Dtype.BF16:
            return (_round_to_even(bits, BF16_DROPPED) >> BF16_DROPPED).astype("<u2")
        case Dtype.FP16:
            return canonical.astype("<f2").view("<u2")
        case _:
            raise ValueError(f"{dtype.name} is not a result format")


def _round_to_even(bits: NDArray[np.uint32], dropped: int) -> NDArray[np.uint32]:
    """Clear the lowest ``dropped`` bits, rounding the magnitude to nearest even.

    Exponent and significand are one integer here: a carry out of the significand lands in the
    exponent, and out of the largest finite in the pattern of infinity. Infinity and the canonical
    NaN have zeros in the dropped bits, so they pass unchanged and nothing can overflow 32 bits.
    """
    below_half = (1 << (dropped - 1)) - 1
    last_kept = bits >> dropped & 1
    rounded: NDArray[np.uint32] = np.add(bits, below_half + last_kept)
    return rounded & np.uint32(0xFFFF_FFFF << dropped & 0xFFFF_FFFF)
