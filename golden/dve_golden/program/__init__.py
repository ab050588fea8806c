"""Programs written with named tensors: allocation, access patterns, instructions, text."""

from dve_golden.program.allocation import AllocationError
from dve_golden.program.builder import ProgramBuilder, ProgramError
from dve_golden.program.tensor import Tensor, View
from dve_golden.program.waits import Update, Wait

__all__ = [
    "AllocationError",
    "ProgramBuilder",
    "ProgramError",
    "Tensor",
    "Update",
    "View",
    "Wait",
]
