"""What is proven, in one table."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Property:
    """One statement about one unit, for all operands.

    Parameters
    ----------
    name : str
        Its module in the unit's Verilog file, if it has one.
    unit : str
        A key of `dve_cosim.arith.units.UNITS`.
    statement : str
        What holds, in one line.
    within : str
        To which operands the proof restricts itself if the whole takes too long; the module has
        an output of this name then. Empty if there is no such restriction.
    structural : bool
        Follows from the shape of the netlist, without a solver.
    """

    name: str
    unit: str
    statement: str
    within: str = ""
    structural: bool = False


def _pipeline(unit: str) -> Property:
    return Property(
        name=f"{unit}_pipeline",
        unit=unit,
        statement="every path from an operand to the result has exactly `latency` registers",
        structural=True,
    )


COARSE = "fractions of 11 bits"

FP8 = ("FP8_EXP3", "FP8_EXP4", "FP8_EXP5")

INTEGERS = ("INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32")

PROPERTIES = (
    _pipeline("adder"),
    Property(
        name="add_is_ieee",
        unit="adder",
        statement="a + b and a - b are IEEE 754's, for all 2^65 operands",
        within=COARSE,
    ),
    Property(name="add_commutes", unit="adder", statement="a + b = b + a", within=COARSE),
    Property(
        name="subtract_self",
        unit="adder",
        statement="a - a = +0 if a is finite, else the canonical NaN",
    ),
    Property(name="subtract_is_add", unit="adder", statement="a - b = a + (-b)"),
    Property(
        name="add_special",
        unit="adder",
        statement="NaN and infinities by the table; of finite operands never NaN",
    ),
    Property(
        name="add_zero",
        unit="adder",
        statement="a + 0 = a if a is finite and not 0; of zeros -0 only if both are",
    ),
    Property(
        name="add_negates",
        unit="adder",
        statement="(-a) + (-b) = -(a + b), a NaN and an exact zero of opposite signs apart",
    ),
    _pipeline("multiplier"),
    Property(
        name="multiply_is_ieee",
        unit="multiplier",
        statement="a * b is IEEE 754's, for all 2^64 operands",
        within=COARSE,
    ),
    Property(name="multiply_commutes", unit="multiplier", statement="a * b = b * a", within=COARSE),
    Property(
        name="multiply_sign",
        unit="multiplier",
        statement="the sign is that of a times that of b, and changes nothing else",
    ),
    Property(
        name="multiply_special",
        unit="multiplier",
        statement="NaN, infinities and zeros by the table; else never NaN",
    ),
    Property(name="multiply_one", unit="multiplier", statement="a * 1 = 1 * a = a"),
    _pipeline("widen"),
    Property(name="widen_fp32", unit="widen", statement="FP32 passes, NaN canonical"),
    *(
        Property(
            name=f"widen_{form.lower()}",
            unit="widen",
            statement=f"every {form} element has its value, NaN canonical",
        )
        for form in ("FP16", "BF16", *FP8)
    ),
    *(
        Property(
            name=f"widen_{form.lower()}",
            unit="widen",
            statement=f"the binary32 number nearest to each {form}, ties to even",
        )
        for form in INTEGERS
    ),
    _pipeline("narrow"),
    Property(name="narrow_fp32", unit="narrow", statement="FP32 passes, NaN canonical"),
    *(
        Property(
            name=f"narrow_{form.lower()}",
            unit="narrow",
            statement=f"the {form} number nearest to each of the 2^32 patterns, ties to even",
        )
        for form in ("FP16", "BF16", "FP32R", *FP8)
    ),
    *(
        Property(
            name=f"narrow_{form.lower()}",
            unit="narrow",
            statement=f"each of the 2^32 patterns as {form}, rounded, saturated, 0 of NaN",
        )
        for form in INTEGERS
    ),
)
"""Of the converters all hold for every value of every control value that has a part in them."""
