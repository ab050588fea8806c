"""Element sizes, looked up in the table of the instruction set (isa_common.md 2.4)."""

from amaranth import *
from amaranth.utils import exact_log2
from dve_golden.isa.enums import DTYPE_BYTES, Dtype


def log2_bytes(dtype: Value) -> Value:
    """Log2 of the element size of the type in the low nibble of ``dtype``, 0 to 3; 0 for INVALID.

    Behind the validator it is 0 to 2: no instruction executes with a 64-bit type.
    """
    table = [exact_log2(DTYPE_BYTES.get(Dtype(code), 1)) for code in range(16)]
    return Array(Const(entry, 2) for entry in table)[dtype[:4]]
