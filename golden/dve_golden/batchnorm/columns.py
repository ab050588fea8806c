"""One fp32 element per channel and channel tile: parameters, sums and coefficients, as rows.

A row is one quantity of all channel tiles of a group, side by side; so one instruction forms it for
all of them. The order of the rows puts what one instruction pairs at one distance, and no source
between the first and the last row of its destination, where the engine would have to take elements
one by one. Each line of batchnorm.md section 9, "Engine", multiplies or subtracts rows.
"""

from enum import IntEnum

from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_golden.program.builder import ProgramBuilder
from dve_golden.program.tensor import Tensor, View


class Row(IntEnum):
    """Place of each quantity."""

    D_BETA = 0
    RAW_D_GAMMA = 1
    COUPLING = 2
    """The three sums of GradAccum, added over the tiles; the third is S."""
    GAMMA = 3
    RECIPROCAL = 4
    INV_STD = 5
    MEAN = 6
    BETA = 7
    SHIFT = 8
    """s = S * recip(N), by how much the given mean shifts the normalised values."""
    A = 9
    D_GAMMA = 10
    PRODUCT = 11
    """What is subtracted from a sum to correct it."""
    B = 12
    C = 13


SUMS = slice(Row.D_BETA, Row.COUPLING + 1)
GIVEN = slice(Row.GAMMA, Row.BETA + 1)
"""What the host places."""

BYTES = len(Row) * DTYPE_BYTES[Dtype.FP32]
"""Of one channel tile."""


def form_a(b: ProgramBuilder, columns: Tensor) -> None:
    """A = gamma * inv_std, ahead of the other coefficients."""
    b.tensor_tensor(columns[Row.A], columns[Row.GAMMA], columns[Row.INV_STD], op="mult")


def form_coefficients(b: ProgramBuilder, columns: Tensor, *, mean_coupling: bool) -> None:
    """A, B, C and d_gamma from the sums: five instructions, or one without the coupling.

    Each line is rounded once: s = S * recip(N), D = d_gamma - s * d_beta, B = d_beta - D * s,
    C = D * inv_std, A = gamma * inv_std.
    """
    row = columns.view
    if not mean_coupling:
        pair = row[Row.RAW_D_GAMMA : Row.GAMMA + 1 : Row.GAMMA - Row.RAW_D_GAMMA]
        c_and_a = row[Row.C : Row.A - 1 : Row.A - Row.C]
        b.tensor_tensor(c_and_a, pair, row[Row.INV_STD][None], op="mult")
        return
    b.tensor_tensor(
        row[Row.SHIFT : Row.A + 1],
        row[Row.COUPLING : Row.GAMMA + 1],
        row[Row.RECIPROCAL : Row.INV_STD + 1],
        op="mult",
    )
    b.tensor_tensor(row[Row.PRODUCT], row[Row.SHIFT], row[Row.D_BETA], op="mult")
    b.tensor_tensor(row[Row.D_GAMMA], row[Row.RAW_D_GAMMA], row[Row.PRODUCT], op="subtract")
    b.tensor_tensor(
        row[Row.PRODUCT : Row.C + 1 : Row.C - Row.PRODUCT],
        row[Row.D_GAMMA][None],
        row[Row.SHIFT : Row.INV_STD - 1 : Row.INV_STD - Row.SHIFT],
        op="mult",
    )
    b.tensor_tensor(row[Row.B], row[Row.D_BETA], row[Row.PRODUCT], op="subtract")


def b_and_c(columns: Tensor, tile: int, *, mean_coupling: bool) -> View:
    """The two elements that ParamLoad2 reads as one pattern; B is d_beta without the coupling."""
    first = Row.B if mean_coupling else Row.D_BETA
    return columns[first : Row.C + 1 : Row.C - first, tile]


def d_gamma_row(*, mean_coupling: bool) -> Row:
    """Where the d_gamma for the user is."""
    return Row.D_GAMMA if mean_coupling else Row.RAW_D_GAMMA
