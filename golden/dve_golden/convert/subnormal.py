"""Flush to zero, on the patterns of any float format (isa_common.md 2.5)."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.isa.enums import Dtype

EXPONENT: dict[Dtype, int] = {
    Dtype.FP32: 0x7F80_0000,
    Dtype.FP32R: 0x7F80_0000,
    Dtype.FP16: 0x7C00,
    Dtype.BF16: 0x7F80,
    Dtype.FP8_EXP3: 0x70,
    Dtype.FP8_EXP4: 0x78,
    Dtype.FP8_EXP5: 0x7C,
}
"""Where the exponent lies in an element; a subnormal number has zero there."""


def flush(patterns: NDArray[np.unsignedinteger], dtype: Dtype) -> NDArray[np.unsignedinteger]:
    """Patterns with zero of the same sign for each subnormal number; integers as they are."""
    if dtype not in EXPONENT:
        return patterns
    word = patterns.dtype.type
    sign = word(1 << 8 * patterns.itemsize - 1)
    return np.where(patterns & word(EXPONENT[dtype]), patterns, patterns & sign)
