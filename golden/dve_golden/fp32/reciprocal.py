"""1/N: the Parameter RAM for small integers, otherwise correctly rounded (batchnorm.md 7, 9)."""

import numpy as np

from dve_golden.fp32.arithmetic import Floats, canonicalize
from dve_golden.isa.enums import PARAMETER_RAM_ENTRIES


def reciprocal(values: Floats) -> Floats:
    """1/x rounded once to nearest even, subnormal results included.

    IEEE binary32 division is that by definition, whatever seed and refinement the engine uses.
    1/±0 is infinity and 1/±infinity zero, both with the operand's sign; NaN gives the canonical
    NaN.
    """
    return canonicalize(np.float32(1) / values)


def engine_reciprocal(n: Floats, parameter_ram: Floats) -> Floats:
    """recip(N): entry N of the Parameter RAM as loaded if N is an integer in 1..255.

    Parameters
    ----------
    n
        Element counts, any shape.
    parameter_ram
        [256]; entry 0 is never read.
    """
    tabulated = (n >= 1) & (n < PARAMETER_RAM_ENTRIES) & (n == np.floor(n))
    entry = np.where(tabulated, n, 1).astype(np.intp)
    return np.where(tabulated, parameter_ram[entry], reciprocal(n))


def reset_parameter_ram() -> Floats:
    """Content after reset: entry n is 1/n, entry 0 is 1."""
    n = np.arange(PARAMETER_RAM_ENTRIES, dtype=np.float32)
    n[0] = 1
    return reciprocal(n)
