"""Control values: the parameters of the converters (isa_common.md 2.5, 2.6).

The device keeps them in registers that are programmed when a model is loaded, not by an
instruction. Their names are documented in part, their positions in a register not at all.
"""

from dataclasses import dataclass
from enum import IntEnum

from dve_golden.isa.generations import Generation

IEEE_EMAX_E4M3 = 7
"""Largest exponent of FP8_EXP4 if its last one is kept for infinity and NaN, as in IEEE 754."""

OCP_EMAX_E4M3 = 8
"""The same if it holds numbers too, as in the OCP format: no infinity, one NaN."""


class IntegerRounding(IntEnum):
    """How a result becomes an integer; the documentation infers truncation."""

    TOWARD_ZERO = 0
    NEAREST_EVEN = 1


@dataclass(frozen=True, kw_only=True)
class Control:
    """The control values of one engine; the defaults are those of `Generation.CAYMAN`.

    Parameters
    ----------
    emax_e4m3
        Largest exponent of FP8_EXP4: 7, with infinity and NaN, or 8, with NaN only.
    range_extension
        The last exponent of FP8_EXP3 holds numbers: up to 30 instead of 15.5, no infinity.
    ocp_sat
        FP8: infinity and overflow become the largest finite of the same sign.
    sis
        FP16 and BF16: the same.
    sns
        FP16 and BF16: NaN becomes the positive largest finite.
    integer_rounding
        Of a result that is stored as an integer.
    flush_to_zero
        Subnormal elements are read as, and subnormal results stored as, zero of the same sign.

    Raises
    ------
    ValueError
        If ``emax_e4m3`` is neither 7 nor 8.
    """

    emax_e4m3: int = IEEE_EMAX_E4M3
    range_extension: bool = False
    ocp_sat: bool = False
    sis: bool = False
    sns: bool = False
    integer_rounding: IntegerRounding = IntegerRounding.TOWARD_ZERO
    flush_to_zero: bool = False

    def __post_init__(self) -> None:
        if self.emax_e4m3 not in (IEEE_EMAX_E4M3, OCP_EMAX_E4M3):
            raise ValueError(f"emax_e4m3 is 7 or 8, got {self.emax_e4m3}")


RESET_CONTROL: dict[Generation, Control] = {
    Generation.SUNDA: Control(),
    Generation.CAYMAN: Control(),
    Generation.MARIANA: Control(emax_e4m3=OCP_EMAX_E4M3),
    Generation.MAVERICK: Control(emax_e4m3=OCP_EMAX_E4M3),
}
"""Control values after reset. The one of MAVERICK is not documented; it follows MARIANA."""
