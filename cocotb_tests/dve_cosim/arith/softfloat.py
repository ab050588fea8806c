"""The same operations by SoftFloat (J. R. Hauser, Berkeley SoftFloat 3), NaN made canonical.

One call of the library per element: half a million a second. For samples, not for everything.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dve_cosim.arith.ieee import BFLOAT16, BINARY16, BINARY32, Format, Patterns
from dve_cosim.errors import CosimError

BINARY32_ONE = 0x3F800000


def library() -> ModuleType:
    """The SoftFloat binding, which the extra ``test`` brings.

    Raises
    ------
    CosimError
        If it is not installed.
    """
    try:
        import softfloatpy
    except ImportError:
        raise CosimError(
            "the SoftFloat binding is not installed; run `pip install 'opendve[test]'`"
        ) from None
    return softfloatpy


def add(a: Patterns, b: Patterns) -> Patterns:
    """``a + b``."""
    return _apply(library().f32_add, _float32(a), _float32(b))


def subtract(a: Patterns, b: Patterns) -> Patterns:
    """``a - b``."""
    return _apply(library().f32_sub, _float32(a), _float32(b))


def multiply(a: Patterns, b: Patterns) -> Patterns:
    """``a * b``."""
    return _apply(library().f32_mul, _float32(a), _float32(b))


def equal(a: Patterns, b: Patterns) -> Patterns:
    """``a == b``, as 1.0 or +0; of NaN 0, as of the two that follow."""
    return _compare(library().f32_eq, a, b)


def less(a: Patterns, b: Patterns) -> Patterns:
    """``a < b``."""
    return _compare(library().f32_lt_quiet, a, b)


def less_or_equal(a: Patterns, b: Patterns) -> Patterns:
    """``a <= b``."""
    return _compare(library().f32_le_quiet, a, b)


def reciprocal(a: Patterns) -> Patterns:
    """``1 / a``."""
    one = np.full(len(a), BINARY32_ONE, np.uint32)
    return _apply(library().f32_div, _float32(one), _float32(a))


def widened(elements: Patterns, form: Format) -> Patterns:
    """BINARY16 or BFLOAT16 to binary32."""
    soft = library()
    kind, convert = {
        BINARY16: (soft.Float16, soft.f16_to_f32),
        BFLOAT16: (soft.BFloat16, soft.bf16_to_f32),
    }[form]
    return _apply(convert, _values(elements, kind.from_bytes, 2))


def from_int32(elements: Patterns) -> Patterns:
    """Signed integers to binary32."""
    soft = library()
    return _apply(soft.i32_to_f32, _values(elements, soft.Int32.from_bytes, 4))


def from_uint32(elements: Patterns) -> Patterns:
    """Unsigned integers to binary32."""
    soft = library()
    return _apply(soft.ui32_to_f32, _values(elements, soft.UInt32.from_bytes, 4))


def narrowed(patterns: Patterns, form: Format) -> Patterns:
    """binary32 to BINARY16 or BFLOAT16."""
    soft = library()
    convert = {BINARY16: soft.f32_to_f16, BFLOAT16: soft.f32_to_bf16}[form]
    return _apply(convert, _float32(patterns), form=form)


def _compare(relation: Callable[..., Any], a: Patterns, b: Patterns) -> Patterns:
    holds = [bool(held) for held in map(relation, _float32(a), _float32(b))]
    return np.where(holds, np.uint32(BINARY32_ONE), np.uint32(0))


def _float32(patterns: Patterns) -> list[Any]:
    return _values(patterns, library().Float32.from_bytes, 4)


def _values(patterns: Patterns, make: Callable[[bytes], Any], size: int) -> list[Any]:
    raw = patterns.astype(f">u{size}").tobytes()
    return [make(raw[at : at + size]) for at in range(0, len(raw), size)]


def _apply(
    operation: Callable[..., Any], *operands: list[Any], form: Format = BINARY32
) -> Patterns:
    """Results in order; ``form`` is theirs."""
    raw = b"".join([result.to_bytes() for result in map(operation, *operands)])
    bits = np.frombuffer(raw, f">u{len(raw) // max(len(operands[0]), 1) or 4}").astype(np.uint32)
    return np.where(bits & (form.sign - 1) > form.infinity, form.nan, bits).astype(np.uint32)
