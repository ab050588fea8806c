"""Element sizes, looked up in the table of the instruction set (isa_common.md 2.4)."""

from amaranth import *
from amaranth.utils import exact_log2
from dve_golden.isa.enums import DTYPE_BYTES, Dtype


def size_log2(dtype: Value) -> Value:
    """Base-2 logarithm of the element size in bytes, 0 to 2.

    64-bit types and INVALID never pass legality; they read as 0 here.
    """
    sizes = [DTYPE_BYTES.get(Dtype(code), 1) for code in range(1 << len(dtype))]
    return Array(Const(exact_log2(size) if size <= 4 else 0, 2) for size in sizes)[dtype]
