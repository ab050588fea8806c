"""Tables of the converters: what each storage format holds, and what control values do."""

from collections.abc import Callable, Iterator
from dataclasses import fields

import numpy as np
from dve_golden.convert.integer import INTEGERS
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.control import RESET_CONTROL, Control
from dve_golden.isa.enums import DTYPE_BYTES, Dtype

Table = tuple[tuple[str, ...], list[tuple[object, ...]]]
"""Headings and rows."""

FLOATS: tuple[tuple[Dtype, int, int, Control, str], ...] = (
    (Dtype.FP32, 8, 23, Control(), ""),
    (Dtype.FP32R, 8, 13, Control(), ""),
    (Dtype.BF16, 8, 7, Control(), ""),
    (Dtype.BF16, 8, 7, Control(sis=True, sns=True), "`sis`, `sns`"),
    (Dtype.FP16, 5, 10, Control(), ""),
    (Dtype.FP16, 5, 10, Control(sis=True, sns=True), "`sis`, `sns`"),
    (Dtype.FP8_EXP5, 5, 2, Control(), ""),
    (Dtype.FP8_EXP5, 5, 2, Control(ocp_sat=True), "`ocp_sat`"),
    (Dtype.FP8_EXP4, 4, 3, Control(emax_e4m3=7), "`emax_e4m3` 7"),
    (Dtype.FP8_EXP4, 4, 3, Control(emax_e4m3=7, ocp_sat=True), "7, `ocp_sat`"),
    (Dtype.FP8_EXP4, 4, 3, Control(emax_e4m3=8), "8"),
    (Dtype.FP8_EXP4, 4, 3, Control(emax_e4m3=8, ocp_sat=True), "8, `ocp_sat`"),
    (Dtype.FP8_EXP3, 3, 4, Control(), ""),
    (Dtype.FP8_EXP3, 3, 4, Control(ocp_sat=True), "`ocp_sat`"),
    (Dtype.FP8_EXP3, 3, 4, Control(range_extension=True), "`range_extension`"),
    (
        *(Dtype.FP8_EXP3, 3, 4, Control(range_extension=True, ocp_sat=True)),
        "`range_extension`, `ocp_sat`",
    ),
)
"""Type, exponent bits, fraction bits, control values, and how the table calls these."""

CONTROL_EFFECTS = {
    "emax_e4m3": "7 or 8: the largest exponent of FP8_EXP4. At 8 there is no infinity and one NaN",
    "range_extension": "the last exponent of FP8_EXP3 holds numbers; no infinity and one NaN",
    "ocp_sat": "FP8: infinity and overflow become the largest finite of the same sign",
    "sis": "FP16, BF16: the same",
    "sns": "FP16, BF16: NaN becomes the positive largest finite",
    "integer_rounding": "of results stored as integers: toward zero, or to nearest even",
    "flush_to_zero": "all floats: subnormal elements are read as, and results that are subnormal "
    "after rounding stored as, zero of the same sign",
}


def _numbers(dtype: Dtype, exponent_bits: int, fraction_bits: int, control: Control):
    """The positive finite numbers of a format, as the converters have them, in order."""
    if DTYPE_BYTES[dtype] < 4:
        codes = np.arange(1 << exponent_bits + fraction_bits, dtype=f"<u{DTYPE_BYTES[dtype]}")
        values = widen(codes, dtype, control)
    else:  # the ends of the range of a binary32, as far as the format keeps them
        bits = np.array([0, 1, 0x0080_0000, 0x7F7F_FFFF], np.uint32)
        dropped = (1 << 23 - fraction_bits) - 1
        bits[1] = dropped + 1
        bits[3] ^= dropped
        values = bits.view(np.float32)
        kept = narrow(values, dtype, control)
        assert np.array_equal(kept, bits)
    return values[np.isfinite(values)][1:]


def _number(value: float) -> str:
    """Exactly, as an integer or a power of two where it is short."""
    mantissa, exponent = np.frexp(value)
    if mantissa == 0.5 and not 1 <= value < 1e6:
        return f"2^{exponent - 1}"
    if value < 1e6:
        return f"{value:g}"
    bits = next(n for n in range(30) if (mantissa * 2**n).is_integer())
    return f"(2 - 2^-{bits - 1}) 2^{exponent - 1}"


def floats() -> Table:
    """What each float format holds and what it makes of the rest."""

    def code(value: float, dtype: Dtype, control: Control) -> str:
        digits = 2 * DTYPE_BYTES[dtype]
        return f"0x{int(narrow(np.array([value], np.float32), dtype, control)[0]):0{digits}X}"

    def rows() -> Iterator[tuple[object, ...]]:
        for dtype, exponent_bits, fraction_bits, control, label in FLOATS:
            values = _numbers(dtype, exponent_bits, fraction_bits, control)
            emin = 2 - (1 << exponent_bits - 1)
            normal = values[values >= np.float32(2.0**emin)][0]
            yield (
                dtype.name,
                f"1/{exponent_bits}/{fraction_bits}",
                label,
                _number(float(values[-1])),
                code(np.inf, dtype, control),
                code(-np.inf, dtype, control),
                code(np.nan, dtype, control),
                _number(float(normal)),
                _number(float(values[0])),
            )

    headings = (
        *("type", "bits", "control values", "largest finite", "+infinity, overflow becomes"),
        *("-infinity, overflow becomes", "NaN becomes", "smallest normal", "smallest subnormal"),
    )
    return headings, list(rows())


def integers() -> Table:
    """Range of each integer type, and how far fp32 reaches it."""
    rows: list[tuple[object, ...]] = []
    for dtype in INTEGERS:
        low, high, nan = (
            int(narrow(np.array([value], np.float32), dtype).view(INTEGERS[dtype])[0])
            for value in (-np.inf, np.inf, np.nan)
        )
        exact = max(-low, high) <= 1 << 24
        to_fp32 = "exact" if exact else "rounded to nearest even; exact up to 2^24"
        rows.append((dtype.name, to_fp32, f"{low:,} to {high:,}", nan))
    return ("type", "to fp32", "from fp32: saturates to", "NaN becomes"), rows


def control() -> Table:
    """The control values, with their defaults."""

    def shown(value: object) -> str:
        if isinstance(value, bool):
            return "on" if value else "off"
        return getattr(value, "name", str(value))

    rows: list[tuple[object, ...]] = []
    for field in fields(Control):
        by_value: dict[str, list[str]] = {}
        for generation, values in RESET_CONTROL.items():
            by_value.setdefault(shown(getattr(values, field.name)), []).append(generation.value)
        if len(by_value) == 1:
            default = next(iter(by_value))
        else:
            default = "; ".join(f"{value} on {', '.join(g)}" for value, g in by_value.items())
        rows.append((f"`{field.name}`", CONTROL_EFFECTS[field.name], default))
    return ("control value", "effect", "default"), rows


TABLES: dict[str, Callable[[], Table]] = {
    function.__name__: function for function in (floats, integers, control)
}
