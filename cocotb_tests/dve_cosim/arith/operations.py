"""What the units compute, by which references, and on which operands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.fp32.reciprocal import reciprocal as golden_reciprocal
from dve_golden.isa.enums import DTYPE_BYTES, Dtype

from dve_cosim.arith import converter_grids, grids, ieee, softfloat
from dve_cosim.arith.ieee import BFLOAT16, BINARY16, BINARY32, FP32R, Format, Patterns

Block = tuple[Patterns, ...]
"""Operands: ``a``, or ``a`` and ``b``; [n] each."""

Blocks = Iterator[Block]
Function = Callable[..., Patterns]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One function of one unit.

    Parameters
    ----------
    name : str
    unit : str
        A key of `dve_cosim.arith.units.UNITS`.
    select : int
        What the unit is told beside the operands.
    exact : callable
        The reference: operands to results.
    second : callable or None
        The same by SoftFloat, if that has it.
    golden : callable or None
        The same by the golden model, if that has it as a function of its own.
    grid : callable
        ``grid(level, seed)``: the operands of level 1, quick, or 2, thorough.
    random : callable
        ``random(count, seed)``: that many more.
    """

    name: str
    unit: str
    select: int = 0
    exact: Function
    second: Function | None = None
    golden: Function | None = None
    grid: Callable[[int, int], Blocks]
    random: Callable[[int, int], Blocks]


def _single(blocks: Iterator[Patterns]) -> Blocks:
    """Arrays as blocks of one operand, none of them longer than `BLOCK`."""
    for array in blocks:
        for start in range(0, len(array), grids.BLOCK):
            yield (array[start : start + grids.BLOCK],)


def _numbers(count: int, seed: int) -> Blocks:
    return _single(grids.random_numbers(count, seed))


# --- adder --------------------------------------------------------------------------------------


def _sums(level: int, seed: int) -> Blocks:
    """The pair grid; on level 2 also the neighbours of every power of two."""
    yield from grids.pairs(level, seed)
    if level == 2:
        yield from grids.binades()


# --- reciprocal ---------------------------------------------------------------------------------

INTEGERS = 1 << 24
"""The integers that binary32 has without gaps: whatever N a layer can have."""


def every_integer(step: int = 1, seed: int = 0) -> Blocks:
    """Integers from 1 to 2^24: all, or one at a random place of each ``step``."""
    rng = np.random.default_rng((seed, 5))
    for start in range(0, INTEGERS, grids.BLOCK * step):
        integers = np.arange(start + 1, start + grids.BLOCK * step + 1, step)
        integers += rng.integers(0, step, len(integers))
        yield (integers.astype(np.float32).view(np.uint32),)


SUBNORMAL_SIDE = (0, 253, 254)
"""Exponent fields of subnormal operands, and of those with subnormal results."""


def _reciprocal_grid(level: int, seed: int) -> Blocks:
    """Operands of the pair grid, and integers.

    On level 2 every integer, which is every significand with a normal result, and every
    significand of `SUBNORMAL_SIDE`.
    """
    yield from _single(iter([grids.operands(2)]))
    if level == 1:
        yield from every_integer(step=256, seed=seed)
        return
    yield from every_integer()
    for field in SUBNORMAL_SIDE:
        for start in range(0, 1 << 23, grids.BLOCK):
            yield (np.arange(start, start + grids.BLOCK, dtype=np.uint32) | np.uint32(field << 23),)


def _by_golden_reciprocal(a: Patterns) -> Patterns:
    with np.errstate(all="ignore"):
        return golden_reciprocal(a.view(np.float32)).view(np.uint32)


# --- converters ---------------------------------------------------------------------------------


def _widened_by_golden(elements: Patterns, dtype: Dtype) -> Patterns:
    raw = elements.astype(f"<u{DTYPE_BYTES[dtype]}")
    return widen(raw, dtype).view(np.uint32)


def _narrowed_by_golden(patterns: Patterns, dtype: Dtype) -> Patterns:
    return narrow(patterns.view(np.float32), dtype).astype(np.uint32)


def _every_half(level: int, seed: int) -> Blocks:
    return _single(converter_grids.halves())


def _more_halves(count: int, seed: int) -> Blocks:
    """There are no more than all of them."""
    return iter(())


def _classes(level: int, seed: int) -> Blocks:
    return _single(iter([grids.operands(2)]))


def _integers(level: int, seed: int) -> Blocks:
    return _single(iter([converter_grids.integers()]))


def _uniform(count: int, seed: int) -> Blocks:
    for block, start in enumerate(range(0, count, grids.BLOCK)):
        rng = np.random.default_rng((seed, 6, block))
        yield (grids.uniform(rng, min(grids.BLOCK, count - start)),)


def _edges(form: Format, level: int, seed: int) -> Blocks:
    # FP32R has 64 times the numbers of the others: on level 1 a part of them must do.
    every = 64 if level == 1 and form == FP32R else 1
    return _single(chain([grids.operands(2)], converter_grids.edges_of(form, every)))


def _widen(dtype: Dtype, **how: Any) -> Operation:
    return Operation(
        name=f"widen {dtype.name.lower()}",
        unit="widen",
        select=dtype,
        golden=partial(_widened_by_golden, dtype=dtype),
        **how,
    )


def _narrow(dtype: Dtype, form: Format, *, has_second: bool) -> Operation:
    return Operation(
        name=f"narrow {dtype.name.lower()}",
        unit="narrow",
        select=dtype,
        exact=partial(ieee.narrowed, form=form),
        second=partial(softfloat.narrowed, form=form) if has_second else None,
        golden=partial(_narrowed_by_golden, dtype=dtype),
        grid=partial(_edges, form) if form != BINARY32 else _classes,
        random=_numbers,
    )


def _from_half(dtype: Dtype, form: Format) -> Operation:
    return _widen(
        dtype,
        exact=partial(ieee.widened, form=form),
        second=partial(softfloat.widened, form=form),
        grid=_every_half,
        random=_more_halves,
    )


OPERATIONS = (
    Operation(
        name="add",
        unit="adder",
        exact=ieee.add,
        second=softfloat.add,
        grid=_sums,
        random=grids.random_pairs,
    ),
    Operation(
        name="subtract",
        unit="adder",
        select=1,
        exact=ieee.subtract,
        second=softfloat.subtract,
        grid=_sums,
        random=grids.random_pairs,
    ),
    Operation(
        name="multiply",
        unit="multiplier",
        exact=ieee.multiply,
        second=softfloat.multiply,
        grid=grids.pairs,
        random=grids.random_pairs,
    ),
    Operation(
        name="reciprocal",
        unit="reciprocal",
        exact=ieee.reciprocal,
        second=softfloat.reciprocal,
        golden=_by_golden_reciprocal,
        grid=_reciprocal_grid,
        random=_numbers,
    ),
    _widen(Dtype.FP32, exact=partial(ieee.widened, form=BINARY32), grid=_classes, random=_numbers),
    _from_half(Dtype.FP16, BINARY16),
    _from_half(Dtype.BF16, BFLOAT16),
    _widen(
        Dtype.INT32,
        exact=ieee.from_int32,
        second=softfloat.from_int32,
        grid=_integers,
        random=_uniform,
    ),
    _narrow(Dtype.FP32, BINARY32, has_second=False),
    _narrow(Dtype.FP16, BINARY16, has_second=True),
    _narrow(Dtype.BF16, BFLOAT16, has_second=True),
    _narrow(Dtype.FP32R, FP32R, has_second=False),
)


def operation(name: str) -> Operation:
    """The entry of `OPERATIONS` with that name."""
    return next(entry for entry in OPERATIONS if entry.name == name)


def suite_size(entry: Operation) -> tuple[int, int]:
    """What the test suite compares of an operation: the level of its grid, and cases at least.

    Of the pairs it is level 2, and then so many random ones that all kinds are among them: only the
    related ones often cancel to a subnormal sum.
    """
    return (2, 10_000_000) if entry.unit in ("adder", "multiplier") else (1, 300_000)
