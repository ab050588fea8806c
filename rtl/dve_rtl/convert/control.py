"""Control values of the converters, as the engine holds them (isa_common.md 2.5, 2.6)."""

from amaranth.lib import data
from dve_golden.isa.control import OCP_EMAX_E4M3, RESET_CONTROL, Control, IntegerRounding
from dve_golden.isa.generations import Generation


class ConverterControl(data.Struct):
    """One bit for each control value, in the order of `dve_golden.isa.control.Control`.

    They are not delayed with the elements: every stage of a converter reads them when an element
    is there. So they may change only while the converters are empty.
    """

    emax_e4m3_is_8: 1  # FP8_EXP4 has numbers up to 448, no infinity, one NaN; else it ends at 240
    range_extension: 1  # FP8_EXP3 has numbers up to 30, no infinity, one NaN; else it ends at 15.5
    ocp_sat: 1  # FP8: infinity and overflow become the largest finite
    sis: 1  # FP16 and BF16: the same
    sns: 1  # FP16 and BF16: NaN becomes the positive largest finite
    nearest_even: 1  # rounding of results that are integers; else toward zero
    flush_to_zero: 1  # subnormal elements and results become zeros of the same sign


def encoded(control: Control) -> dict[str, int]:
    """The fields of a `ConverterControl` that hold these values."""
    return {
        "emax_e4m3_is_8": int(control.emax_e4m3 == OCP_EMAX_E4M3),
        "range_extension": int(control.range_extension),
        "ocp_sat": int(control.ocp_sat),
        "sis": int(control.sis),
        "sns": int(control.sns),
        "nearest_even": int(control.integer_rounding == IntegerRounding.NEAREST_EVEN),
        "flush_to_zero": int(control.flush_to_zero),
    }


def reset_values(generation: Generation) -> dict[str, int]:
    """What a `ConverterControl` of ``generation`` holds until the host writes another value."""
    return encoded(RESET_CONTROL[generation])
