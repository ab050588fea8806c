"""Bit-vector operators against Python integers: all bytes with all bytes, every shift count."""

import numpy as np
import pytest
from dve_golden.alu.bitvec import bitvector
from dve_golden.isa.operators import GENERAL_BITVECTOR, AluOp
from hypothesis import given
from hypothesis import strategies as st

every_operator = pytest.mark.parametrize("op", sorted(GENERAL_BITVECTOR), ids=lambda op: op.name)
every_width = pytest.mark.parametrize("width", [8, 16, 32])


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


REFERENCE = {
    AluOp.BYPASS: lambda a, b, width: a,
    AluOp.BITWISE_NOT: lambda a, b, width: ~a,
    AluOp.BITWISE_AND: lambda a, b, width: a & b,
    AluOp.BITWISE_OR: lambda a, b, width: a | b,
    AluOp.BITWISE_XOR: lambda a, b, width: a ^ b,
    AluOp.ARITH_SHIFT_LEFT: lambda a, b, width: a << min(b, 64),
    AluOp.LOGICAL_SHIFT_LEFT: lambda a, b, width: a << min(b, 64),
    AluOp.ARITH_SHIFT_RIGHT: lambda a, b, width: signed(a, width) >> b,
    AluOp.LOGICAL_SHIFT_RIGHT: lambda a, b, width: a >> b,
}
"""Python's integers have no width, so what leaves the element is cut off afterwards.

A count of 64 shifts everything out of an element already; larger ones would make huge integers.
"""


def check(op, width, a, b):
    element = np.dtype(f"<u{width // 8}")
    got = bitvector(op, np.array(a, element), np.array(b, element))
    assert got.dtype == element
    mask = (1 << width) - 1
    assert got.tolist() == [REFERENCE[op](x, y, width) & mask for x, y in zip(a, b, strict=True)]


@every_operator
def test_every_byte_with_every_byte(op):
    a, b = np.divmod(np.arange(1 << 16), 256)
    check(op, 8, a.tolist(), b.tolist())


@every_width
@every_operator
def test_every_count_and_counts_beyond_the_width(op, width):
    top = 1 << width - 1
    rng = np.random.default_rng(width)
    values = [0, 1, top, top - 1, top | 1, 2 * top - 1, *rng.integers(0, 2 * top, 20).tolist()]
    counts = [*range(width + 3), 2 * width, 3 * width + 1, 255 % (2 * top), top, 2 * top - 1]
    pairs = [(value, count) for value in values for count in counts]
    check(op, width, [a for a, _ in pairs], [b for _, b in pairs])


@every_width
@every_operator
@given(data=st.data())
def test_any_elements(op, width, data):
    element = st.integers(0, (1 << width) - 1)
    pairs = data.draw(st.lists(st.tuples(element, element), min_size=1))
    check(op, width, [a for a, _ in pairs], [b for _, b in pairs])


@pytest.mark.parametrize(
    ("op", "a", "b", "result"),
    [
        (AluOp.ARITH_SHIFT_LEFT, 0x81, 1, 0x02),
        (AluOp.LOGICAL_SHIFT_LEFT, 0x81, 7, 0x80),
        (AluOp.LOGICAL_SHIFT_LEFT, 0xFF, 8, 0x00),
        (AluOp.LOGICAL_SHIFT_RIGHT, 0x81, 7, 0x01),
        (AluOp.LOGICAL_SHIFT_RIGHT, 0xFF, 8, 0x00),
        (AluOp.ARITH_SHIFT_RIGHT, 0x81, 1, 0xC0),
        (AluOp.ARITH_SHIFT_RIGHT, 0x80, 8, 0xFF),
        (AluOp.ARITH_SHIFT_RIGHT, 0x80, 0xFF, 0xFF),
        (AluOp.ARITH_SHIFT_RIGHT, 0x7F, 0xFF, 0x00),
        (AluOp.BITWISE_NOT, 0xA5, 0xFF, 0x5A),
        (AluOp.BYPASS, 0xA5, 0xFF, 0xA5),
    ],
    ids=lambda value: value.name if isinstance(value, AluOp) else hex(value),
)
def test_worked_by_hand(op, a, b, result):
    assert bitvector(op, np.array([a], np.uint8), np.array([b], np.uint8)).tolist() == [result]


@every_operator
def test_the_result_is_an_array_of_its_own(op):
    a = np.arange(12, dtype=np.uint16).reshape(3, 4)
    b = np.ones_like(a)
    got = bitvector(op, a[:, 1:3], b[:, 1:3])
    assert got.shape == (3, 2)
    assert not np.shares_memory(got, a)
    assert a.ravel().tolist() == list(range(12))


@pytest.mark.parametrize("op", [AluOp.ADD, AluOp.CRC32, AluOp.IS_EQ, AluOp.ADD_INT])
def test_strangers_are_named(op):
    with pytest.raises(ValueError, match=f"{op.name} is no bit-vector operator"):
        bitvector(op, np.zeros(1, np.uint8), np.zeros(1, np.uint8))
