"""Control values: the parameters of the converters (isa_common.md 2.5, 2.6).

The device keeps them in registers that are programmed when a model is loaded, not by an
instruction. Their names are documented in part, their positions in a register not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

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

    @property
    def words(self) -> NDArray[np.uint32]:
        """One word per field, in order, in a new array: `emax_e4m3` as it is, the rest 0 or 1."""
        return np.array([int(getattr(self, name)) for name in CONTROL_WORDS], np.uint32)

    @classmethod
    def from_words(cls, words: Sequence[int] | NDArray[np.uint32]) -> Control:
        """The values that `words` gives.

        Raises
        ------
        ValueError
            If there are not as many words as fields, or one is no value of its field.
        """
        if len(words) != len(CONTROL_WORDS):
            raise ValueError(f"control has {len(CONTROL_WORDS)} words, got {len(words)}")
        values = dict(zip(CONTROL_WORDS, map(int, words), strict=True))
        for name, value in values.items():
            if name != "emax_e4m3" and value not in (0, 1):
                raise ValueError(f"{name} is 0 or 1, got {value}")
        return cls(
            emax_e4m3=values.pop("emax_e4m3"),
            integer_rounding=IntegerRounding(values.pop("integer_rounding")),
            **{name: bool(value) for name, value in values.items()},
        )


CONTROL_WORDS: tuple[str, ...] = tuple(field.name for field in fields(Control))
"""Names of the words that hold the control values, in the order in which state files have them."""


RESET_CONTROL: dict[Generation, Control] = {
    Generation.SUNDA: Control(),
    Generation.CAYMAN: Control(),
    Generation.MARIANA: Control(emax_e4m3=OCP_EMAX_E4M3),
    Generation.MAVERICK: Control(emax_e4m3=OCP_EMAX_E4M3),
}
"""Control values after reset. The one of MAVERICK is not documented; it follows MARIANA."""
