"""From the hub format binary32 to a storage format (isa_common.md 2.5).

Floats round to nearest even with gradual underflow. What becomes of overflow and NaN, and how
integers round, is up to the control values.
"""

import numpy as np
from numpy.typing import NDArray

from dve_golden.convert.fp8 import format_of, narrow_fp8
from dve_golden.convert.integer import INTEGERS, to_integers
from dve_golden.convert.subnormal import EXPONENT, flush
from dve_golden.fp32.arithmetic import canonicalize
from dve_golden.isa.control import RESET_CONTROL, Control
from dve_golden.isa.enums import Dtype
from dve_golden.isa.generations import Generation

BF16_DROPPED = 16
"""Significand bits that BF16 (1/8/7) lacks against binary32."""

FP32R_DROPPED = 10
"""The same for FP32R (1/8/13), whose container keeps them as zeros."""


@np.errstate(over="ignore", invalid="ignore")  # overflow is defined, and so is every NaN
def narrow(
    values: NDArray[np.float32],
    dtype: Dtype,
    control: Control = RESET_CONTROL[Generation.CAYMAN],
) -> NDArray[np.unsignedinteger]:
    """Convert binary32 results to elements.

    Parameters
    ----------
    values
        Any shape but a scalar.
    dtype
        Format of the elements.
    control
        Control values of the engine; by default those of the default generation after reset.

    Returns
    -------
    Bit patterns in a new array of the same shape: little-endian unsigned integers of the
    element's size. A NaN is the format's canonical one.

    Raises
    ------
    ValueError
        If no converter writes this format.
    """
    patterns = _narrow(values, dtype, control)
    return flush(patterns, dtype) if control.flush_to_zero else patterns


def _narrow(
    values: NDArray[np.float32], dtype: Dtype, control: Control
) -> NDArray[np.unsignedinteger]:
    """Without flushing; the same parameters and errors."""
    match dtype:
        case Dtype.FP32:
            return _canonical_bits(values).astype("<u4", copy=False)
        case Dtype.FP32R:
            return _round_to_even(_canonical_bits(values), FP32R_DROPPED).astype("<u4", copy=False)
        case Dtype.BF16:
            rounded = _round_to_even(_canonical_bits(values), BF16_DROPPED)
            narrowed = (rounded >> BF16_DROPPED).astype("<u2")
        case Dtype.FP16:
            narrowed = _canonical_bits(values).view(np.float32).astype("<f2").view("<u2")
        case _:
            return _narrow_integer_or_fp8(values, dtype, control)
    if control.sis or control.sns:
        _saturate(narrowed, EXPONENT[dtype], control)
    return narrowed


def _narrow_integer_or_fp8(
    values: NDArray[np.float32], dtype: Dtype, control: Control
) -> NDArray[np.unsignedinteger]:
    """Types that make any NaN the same without help."""
    if dtype in INTEGERS:
        return to_integers(values, dtype, control.integer_rounding)
    form = format_of(dtype, control)
    if form is None:
        raise ValueError(f"{dtype.name} is not a result format")
    return narrow_fp8(values, form)


def _canonical_bits(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Patterns in a new array."""
    return canonicalize(values.copy()).view(np.uint32)


def _saturate(patterns: NDArray[np.uint16], infinity: int, control: Control) -> None:
    """Replace infinity (``sis``) and NaN (``sns``) by the largest finite, in place."""
    magnitude = patterns & 0x7FFF
    if control.sis:
        # The pattern before infinity is the largest finite, whatever the sign.
        patterns[magnitude == infinity] -= 1
    if control.sns:
        patterns[magnitude > infinity] = infinity - 1


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
