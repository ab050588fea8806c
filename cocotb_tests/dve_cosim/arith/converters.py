"""The converters: a reference, operands and control values for each element type.

A converter's second operand is its control values. They are the same for all of a block, because
the unit takes them as constant while elements are in it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.control import IEEE_EMAX_E4M3, OCP_EMAX_E4M3, Control, IntegerRounding
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_rtl.convert.control import encoded

from dve_cosim.arith import converter_grids, grids, ieee, softfloat
from dve_cosim.arith.ieee import Format, IntegerFormat, Patterns
from dve_cosim.arith.operation import Blocks, Operation

FLOATS: dict[Dtype, Format] = {
    Dtype.FP32: ieee.BINARY32,
    Dtype.FP16: ieee.BINARY16,
    Dtype.BF16: ieee.BFLOAT16,
    Dtype.FP32R: ieee.FP32R,
    Dtype.FP8_EXP3: ieee.E3M4,
    Dtype.FP8_EXP4: ieee.E4M3,
    Dtype.FP8_EXP5: ieee.E5M2,
}

INTEGERS: dict[Dtype, IntegerFormat] = {
    Dtype.INT8: IntegerFormat(bits=8, signed=True),
    Dtype.UINT8: IntegerFormat(bits=8, signed=False),
    Dtype.INT16: IntegerFormat(bits=16, signed=True),
    Dtype.UINT16: IntegerFormat(bits=16, signed=False),
    Dtype.INT32: IntegerFormat(bits=32, signed=True),
    Dtype.UINT32: IntegerFormat(bits=32, signed=False),
}

FP8 = (Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5)

RESET = Control()

FIELDS = tuple(encoded(RESET))
"""Bits of a control word, lowest first: those of `ConverterControl`."""


def control_of(word: int) -> Control:
    """The control values that a converter is given as a word."""
    on = {field: bool(word >> at & 1) for at, field in enumerate(FIELDS)}
    return Control(
        emax_e4m3=OCP_EMAX_E4M3 if on["emax_e4m3_is_8"] else IEEE_EMAX_E4M3,
        range_extension=on["range_extension"],
        ocp_sat=on["ocp_sat"],
        sis=on["sis"],
        sns=on["sns"],
        integer_rounding=IntegerRounding(on["nearest_even"]),
        flush_to_zero=on["flush_to_zero"],
    )


def form_of(dtype: Dtype, control: Control) -> Format:
    """What the type is under these control values (isa_common.md 2.6)."""
    extended = (dtype is Dtype.FP8_EXP3 and control.range_extension) or (
        dtype is Dtype.FP8_EXP4 and control.emax_e4m3 == OCP_EMAX_E4M3
    )
    return replace(FLOATS[dtype], has_infinity=not extended)


def control_words(dtype: Dtype, *, results: bool) -> list[int]:
    """Every combination of the values that have a part in the conversion of a type.

    Without a change all others are at zero and at one in turn; for the first, which is that of
    RESET, both.
    """
    relevant = set()
    if dtype in FLOATS:
        relevant.add("flush_to_zero")
    if dtype is Dtype.FP8_EXP3:
        relevant.add("range_extension")
    if dtype is Dtype.FP8_EXP4:
        relevant.add("emax_e4m3_is_8")
    if results and dtype in FP8:
        relevant.add("ocp_sat")
    if results and dtype in (Dtype.FP16, Dtype.BF16):
        relevant |= {"sis", "sns"}
    if results and dtype in INTEGERS:
        relevant.add("nearest_even")
    mask = sum(1 << at for at, name in enumerate(FIELDS) if name in relevant)
    others = (1 << len(FIELDS)) - 1 - mask
    combinations = sorted({word & mask for word in range(1 << len(FIELDS))})
    alternating = [word | others * (at % 2) for at, word in enumerate(combinations)]
    return [*alternating, others]


def _control(words: Patterns) -> Control:
    """That of a block."""
    (word,) = set(words.tolist())
    return control_of(word)


def _with_control(words: list[int], operands: Callable[[bool], Iterator[Patterns]]) -> Blocks:
    """Operands, in blocks, under each word; ``operands(True)`` for the first of them."""
    for word in words:
        for array in operands(word == words[0]):
            for start in range(0, len(array), grids.BLOCK):
                block = array[start : start + grids.BLOCK]
                yield block, np.full_like(block, word)


def _random(
    words: list[int], make: Callable[[int, int], Iterator[Patterns]], count: int, seed: int
) -> Blocks:
    """Random operands, the next word for each block."""
    for block, array in enumerate(make(count, seed)):
        yield array, np.full_like(array, words[block % len(words)])


def _uniform(count: int, seed: int) -> Iterator[Patterns]:
    for block, start in enumerate(range(0, count, grids.BLOCK)):
        rng = np.random.default_rng((seed, 6, block))
        yield grids.uniform(rng, min(grids.BLOCK, count - start))


# --- widen --------------------------------------------------------------------------------------


def _widened(elements: Patterns, words: Patterns, dtype: Dtype) -> Patterns:
    if dtype in INTEGERS:
        return ieee.from_integers(elements, INTEGERS[dtype])
    control = _control(words)
    return ieee.widened(elements, form_of(dtype, control), flush=control.flush_to_zero)


def _widened_by_golden(elements: Patterns, words: Patterns, dtype: Dtype) -> Patterns:
    raw = elements.astype(f"<u{DTYPE_BYTES[dtype]}")
    return widen(raw, dtype, _control(words)).view(np.uint32)


def _widened_by_softfloat(elements: Patterns, words: Patterns, dtype: Dtype) -> Patterns | None:
    if dtype is Dtype.INT32:
        return softfloat.from_int32(elements)
    if dtype is Dtype.UINT32:
        return softfloat.from_uint32(elements)
    return None if _control(words).flush_to_zero else softfloat.widened(elements, FLOATS[dtype])


def _elements(first: bool, dtype: Dtype) -> Iterator[Patterns]:
    bits = 8 * DTYPE_BYTES[dtype]
    if bits < 32:
        yield np.arange(1 << bits, dtype=np.uint32)
    elif dtype in INTEGERS:
        yield converter_grids.integers()
    else:
        yield grids.operands(2)


def _widen(dtype: Dtype) -> Operation:
    words = control_words(dtype, results=False)

    def more(count: int, seed: int) -> Blocks:
        if DTYPE_BYTES[dtype] < 4:  # there are no more than all of them
            return iter(())
        make = _uniform if dtype in INTEGERS else grids.random_numbers
        return _random(words, make, count, seed)

    with_second = (Dtype.FP16, Dtype.BF16, Dtype.INT32, Dtype.UINT32)
    return Operation(
        name=f"widen {dtype.name.lower()}",
        unit="widen",
        select=dtype,
        exact=partial(_widened, dtype=dtype),
        second=partial(_widened_by_softfloat, dtype=dtype) if dtype in with_second else None,
        golden=partial(_widened_by_golden, dtype=dtype),
        grid=lambda level, seed: _with_control(words, partial(_elements, dtype=dtype)),
        random=more,
    )


# --- narrow -------------------------------------------------------------------------------------


def _narrowed(patterns: Patterns, words: Patterns, dtype: Dtype) -> Patterns:
    control = _control(words)
    if dtype in INTEGERS:
        nearest_even = control.integer_rounding is IntegerRounding.NEAREST_EVEN
        return ieee.to_integers(patterns, INTEGERS[dtype], nearest_even=nearest_even)
    is_short = dtype in (Dtype.FP16, Dtype.BF16)
    return ieee.narrowed(
        patterns,
        form_of(dtype, control),
        saturates=control.sis if is_short else control.ocp_sat and dtype in FP8,
        nan_saturates=control.sns and is_short,
        flush=control.flush_to_zero,
    )


def _narrowed_by_golden(patterns: Patterns, words: Patterns, dtype: Dtype) -> Patterns:
    return narrow(patterns.view(np.float32), dtype, _control(words)).astype(np.uint32)


def _narrowed_by_softfloat(patterns: Patterns, words: Patterns, dtype: Dtype) -> Patterns | None:
    control = _control(words)
    if control.sis or control.sns or control.flush_to_zero:
        return None
    return softfloat.narrowed(patterns, FLOATS[dtype])


def _edges(first: bool, dtype: Dtype, level: int) -> Iterator[Patterns]:
    """Of types longer than 8 bits a part must do on level 1 for all control values but the first.

    FP32R has 64 times the numbers of FP16, so there a part must do for the first, too.
    """
    yield grids.operands(2)
    whole = DTYPE_BYTES[dtype] == 1 or level == 2
    if dtype in INTEGERS:
        bits = INTEGERS[dtype].bits
        yield from converter_grids.integer_edges(bits, whole=whole and bits < 32)
    elif dtype is Dtype.FP32R:
        yield from converter_grids.edges_of(FLOATS[dtype], 1 if whole else 64)
    elif dtype is not Dtype.FP32:
        # Without infinity the last exponent has numbers: edges of both forms of FP8.
        form = replace(FLOATS[dtype], has_infinity=dtype not in FP8)
        yield from converter_grids.edges_of(form, 1 if whole or first else 4)


def _narrow(dtype: Dtype) -> Operation:
    words = control_words(dtype, results=True)
    has_second = dtype in (Dtype.FP16, Dtype.BF16)

    return Operation(
        name=f"narrow {dtype.name.lower()}",
        unit="narrow",
        select=dtype,
        bits=8 * DTYPE_BYTES[dtype],
        exact=partial(_narrowed, dtype=dtype),
        second=partial(_narrowed_by_softfloat, dtype=dtype) if has_second else None,
        golden=partial(_narrowed_by_golden, dtype=dtype),
        grid=lambda level, seed: _with_control(words, partial(_edges, dtype=dtype, level=level)),
        random=partial(_random, words, grids.random_numbers),
    )


CONVERTERS = (
    *(_widen(dtype) for dtype in (*FLOATS, *INTEGERS) if dtype is not Dtype.FP32R),
    *(_narrow(dtype) for dtype in (*FLOATS, *INTEGERS)),
)
