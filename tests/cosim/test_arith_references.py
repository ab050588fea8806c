"""The references of ``dve arith``: rounding by definition, and operands that are what they say."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from dve_cosim.arith import converter_grids, converters, grids, ieee
from dve_cosim.arith.campaign import GOLDEN, SECOND, examine, first_difference
from dve_cosim.arith.ieee import BFLOAT16, BINARY16, BINARY32, FP32R
from dve_cosim.arith.operations import every_integer, operation
from dve_cosim.arith.simulator import UnitSimulator
from dve_golden.isa.enums import Dtype
from dve_rtl.convert.control import encoded

FORMATS = (BINARY32, BINARY16, BFLOAT16, FP32R)

CORNERS = np.array(
    [
        sign | magnitude
        for sign in (0, BINARY32.sign)
        for magnitude in (
            *(0x00000000, 0x00000001, 0x00000003, 0x00200000, 0x00200001, 0x007FFFFF, 0x00800000),
            *(0x00800001, 0x33800000, 0x34000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x4B7FFFFF),
            *(0x7E800001, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC12345),
        )
    ],
    np.uint32,
)


def value(pattern, form=BINARY32):
    """The number that a finite pattern stands for, exactly; that of infinity as if it went on."""
    code = (pattern & (form.sign - 1)) >> form.below
    field, fraction = divmod(code, 1 << form.fraction_bits)
    units = fraction + (1 << form.fraction_bits if field else 0)
    magnitude = units * Fraction(2) ** (max(field, 1) - 1 + form.least_quantum)
    return -magnitude if pattern & form.sign else magnitude


def assert_nearest(pattern, exact, form=BINARY32):
    """No other number of the format is nearer to ``exact``, and a tie went to the even one."""
    sign = pattern & form.sign
    code = (pattern ^ sign) >> form.below
    magnitude = -exact if sign else exact
    assert magnitude >= 0
    if code << form.below < form.infinity:
        above = (value(code << form.below, form) + value(code + 1 << form.below, form)) / 2
        assert magnitude < above or (magnitude == above and not code & 1), hex(pattern)
    if code:
        below = (value(code << form.below, form) + value(code - 1 << form.below, form)) / 2
        assert magnitude > below or (magnitude == below and not code & 1), hex(pattern)


def finite(*patterns):
    return all(pattern & 0x7F800000 != 0x7F800000 for pattern in patterns)


EXACT = {
    ieee.add: lambda a, b: value(a) + value(b),
    ieee.subtract: lambda a, b: value(a) - value(b),
    ieee.multiply: lambda a, b: value(a) * value(b),
}


@pytest.mark.parametrize("function", EXACT)
def test_results_are_the_nearest_numbers(function):
    rng = np.random.default_rng(1)
    corners = np.array(list(product(CORNERS, CORNERS)), np.uint32).T
    a, b = np.concatenate(
        [corners, grids.related(rng, 1200), [grids.weighted(rng, 800), grids.weighted(rng, 800)]],
        axis=1,
    )
    compared = 0
    for x, y, result in zip(a.tolist(), b.tolist(), function(a, b).tolist(), strict=True):
        if finite(x, y):
            assert_nearest(result, EXACT[function](x, y))
            compared += 1
    assert compared > 2000


@pytest.mark.parametrize(
    ("function", "a", "b", "want"),
    [
        (ieee.add, 0x00000000, 0x80000000, 0x00000000),
        (ieee.add, 0x80000000, 0x80000000, 0x80000000),
        (ieee.add, 0x3F800000, 0xBF800000, 0x00000000),
        (ieee.add, 0x7F800000, 0xFF800000, 0x7FC00000),
        (ieee.add, 0xFF800000, 0x3F800000, 0xFF800000),
        (ieee.add, 0x3F800000, 0xFFC12345, 0x7FC00000),
        (ieee.add, 0x7F7FFFFF, 0x73000000, 0x7F800000),  # half a unit beyond the largest: even up
        (ieee.add, 0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF),
        (ieee.subtract, 0x7F800000, 0x7F800000, 0x7FC00000),
        (ieee.subtract, 0x80000000, 0x00000000, 0x80000000),
        (ieee.subtract, 0x80000000, 0x80000000, 0x00000000),
        (ieee.multiply, 0x80000000, 0x3F800000, 0x80000000),
        (ieee.multiply, 0x7F800000, 0x00000000, 0x7FC00000),
        (ieee.multiply, 0xFF800000, 0x80000001, 0x7F800000),
        (ieee.multiply, 0x00000001, 0x3F000000, 0x00000000),  # half the smallest
        (ieee.multiply, 0x00000001, 0x3F000001, 0x00000001),
        (ieee.multiply, 0x7F7FFFFF, 0x40000000, 0x7F800000),
    ],
)
def test_special_results(function, a, b, want):
    assert function(np.array([a], np.uint32), np.array([b], np.uint32)).tolist() == [want]


def test_sums_and_products_are_those_of_the_processor():
    """A third source: this machine's own binary32, which only keeps NaN differently."""
    rng = np.random.default_rng(2)
    pairs = [*grids.random_pairs(3 * grids.BLOCK, seed=3), (grids.uniform(rng, 999),) * 2]
    for a, b in pairs:
        x, y = a.view(np.float32), b.view(np.float32)
        with np.errstate(all="ignore"):
            for got, want in ((ieee.add(a, b), x + y), (ieee.multiply(a, b), x * y)):
                bits = np.where(np.isnan(want), BINARY32.nan, want.view(np.uint32))
                np.testing.assert_array_equal(got, bits)


@pytest.mark.parametrize("form", FORMATS)
def test_conversions_are_the_nearest_numbers(form):
    rng = np.random.default_rng(4)
    patterns = np.concatenate([CORNERS, grids.weighted(rng, 2000), grids.uniform(rng, 2000)])
    for pattern, result in zip(
        patterns.tolist(), ieee.narrowed(patterns, form).tolist(), strict=True
    ):
        if finite(pattern):
            assert_nearest(result, value(pattern), form)
        elif pattern & 0x007FFFFF:
            assert result == form.nan
        else:
            assert result == form.infinity | (form.sign if pattern & BINARY32.sign else 0)


@pytest.mark.parametrize(
    "form", [BINARY16, BFLOAT16, ieee.E5M2, ieee.E4M3, ieee.E4M3_EXTENDED, ieee.E3M4]
)
def test_widening_and_narrowing_give_back_every_number(form):
    elements = np.arange(2 * form.sign, dtype=np.uint32)
    wide = ieee.widened(elements, form)
    magnitudes = elements & (form.sign - 1)
    number = magnitudes <= (form.infinity if form.has_infinity else form.largest)
    np.testing.assert_array_equal(ieee.narrowed(wide, form)[number], elements[number])
    assert np.all(wide[~number] == BINARY32.nan)
    for element in elements[magnitudes < form.infinity][::97].tolist():
        assert value(int(wide[element])) == value(element, form)


LIBRARY = {
    ieee.E5M2: ml_dtypes.float8_e5m2,
    ieee.E4M3: ml_dtypes.float8_e4m3,
    ieee.E4M3_EXTENDED: ml_dtypes.float8_e4m3fn,
    ieee.E3M4: ml_dtypes.float8_e3m4,
    BINARY16: np.float16,
    BFLOAT16: ml_dtypes.bfloat16,
}
"""Types that others define alike; there is none for an extended E3M4."""


@pytest.mark.parametrize(("form", "kind"), LIBRARY.items())
def test_conversions_are_those_of_the_library(form, kind):
    unsigned = np.dtype(f"u{np.dtype(kind).itemsize}")
    elements = np.arange(2 * form.sign).astype(unsigned)
    patterns = np.concatenate([*converter_grids.edges_of(form), grids.operands(2)])
    with np.errstate(all="ignore"):
        wide = elements.view(kind).astype(np.float32)
        narrow = patterns.view(np.float32).astype(kind)
    bits = np.where(np.isnan(wide), BINARY32.nan, wide.view(np.uint32))
    np.testing.assert_array_equal(ieee.widened(elements.astype(np.uint32), form), bits)
    bits = np.where(np.isnan(narrow.astype(np.float32)), form.nan, narrow.view(unsigned))
    np.testing.assert_array_equal(ieee.narrowed(patterns, form), bits)


@pytest.mark.parametrize("form", [ieee.E4M3_EXTENDED, ieee.E3M4_EXTENDED])
def test_without_infinity_the_last_exponent_has_numbers(form):
    codes = np.arange(form.infinity, dtype=np.uint32)
    wide = ieee.widened(codes, form)
    for code, pattern in zip(codes.tolist(), wide.tolist(), strict=True):
        assert value(pattern) == value(code, form)
    np.testing.assert_array_equal(ieee.narrowed(wide, form), codes)


@pytest.mark.parametrize(
    ("form", "how", "pattern", "want"),
    [
        (ieee.E4M3_EXTENDED, {}, 0x43E80000, 0x7E),  # 464, between 448 and NaN: even is 448
        (ieee.E4M3_EXTENDED, {}, 0xC3E80001, 0x7F),
        (ieee.E4M3_EXTENDED, {"saturates": True}, 0xC3E80001, 0xFE),
        (ieee.E4M3_EXTENDED, {"saturates": True}, 0xFFC00000, 0x7F),
        (ieee.E3M4_EXTENDED, {}, 0x41F40000, 0x7E),  # 30.5
        (ieee.E3M4_EXTENDED, {}, 0xFF800000, 0x7F),
        (ieee.E3M4, {}, 0x417C0000, 0x70),  # 15.75: even is infinity
        (ieee.E3M4, {"saturates": True}, 0xFF800000, 0xEF),
        (BINARY16, {"saturates": True}, 0x477FF000, 0x7BFF),
        (BINARY16, {"saturates": True}, 0xFFC00000, 0x7E00),
        (BINARY16, {"nan_saturates": True}, 0xFFC00000, 0x7BFF),
        (BINARY16, {"nan_saturates": True}, 0xFF800000, 0xFC00),
        (BINARY16, {"flush": True}, 0xB87FDFFF, 0x8000),  # below the last midpoint
        (BINARY16, {"flush": True}, 0xB87FE000, 0x8400),  # rounds to the smallest normal
        (BINARY32, {"flush": True}, 0x807FFFFF, 0x80000000),
    ],
)
def test_results_at_the_ends_of_a_format(form, how, pattern, want):
    got = ieee.narrowed(np.array([pattern], np.uint32), form, **how)
    assert got.tolist() == [want]


@pytest.mark.parametrize("form", FORMATS)
def test_flushing_takes_subnormal_elements_for_zeros(form):
    elements = np.array([0, 1, form.least_normal - 1, form.least_normal], np.uint32)
    elements = np.concatenate([elements, elements | np.uint32(form.sign)])
    wide = ieee.widened(elements, form, flush=True).tolist()
    sign = BINARY32.sign
    assert wide[:3] == [0] * 3
    assert wide[4:7] == [sign] * 3
    assert wide[3::4] == ieee.widened(elements, form).tolist()[3::4]


INTEGERS = [*converters.INTEGERS.values()]


@pytest.mark.parametrize("form", INTEGERS)
def test_integers_are_the_nearest_numbers(form):
    elements = converter_grids.integers()
    assert {0, 1, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x1000001} <= set(elements.tolist())
    elements = np.unique(elements & np.uint32((1 << form.bits) - 1))
    wide = ieee.from_integers(elements, form)
    for element, result in zip(elements.tolist(), wide.tolist(), strict=True):
        assert_nearest(result, Fraction(element - (1 << form.bits) * (element > form.greatest)))


@pytest.mark.parametrize("form", INTEGERS)
@pytest.mark.parametrize("nearest_even", [False, True])
def test_numbers_become_integers_by_rounding_and_saturation(form, nearest_even):
    rng = np.random.default_rng(9)
    near = np.concatenate([*converter_grids.integer_edges(form.bits, whole=False)])
    patterns = np.concatenate([rng.choice(near, 4000), CORNERS, grids.weighted(rng, 2000)])
    results = ieee.to_integers(patterns, form, nearest_even=nearest_even).tolist()
    for pattern, result in zip(patterns.tolist(), results, strict=True):
        if pattern & 0x7FFFFFFF > BINARY32.infinity:
            want = 0
        elif pattern & 0x7FFFFFFF == BINARY32.infinity:
            want = form.least if pattern & BINARY32.sign else form.greatest
        else:
            exact = value(pattern)
            want = round(exact) if nearest_even else math.trunc(exact)  # halves to even
            want = min(max(want, form.least), form.greatest)
        assert result == want % (1 << form.bits), hex(pattern)


def test_reciprocals_are_the_nearest_numbers():
    rng = np.random.default_rng(5)
    patterns = np.concatenate([CORNERS, grids.weighted(rng, 1000), grids.uniform(rng, 1000)])
    for pattern, result in zip(patterns.tolist(), ieee.reciprocal(patterns).tolist(), strict=True):
        sign, magnitude = pattern & BINARY32.sign, pattern & 0x7FFFFFFF
        if magnitude > 0x7F800000:
            assert result == BINARY32.nan
        elif magnitude in (0, 0x7F800000):
            assert result == sign | (0x7F800000 - magnitude)
        else:
            assert_nearest(result, 1 / value(pattern))


# --- operands -----------------------------------------------------------------------------------


def test_levels_have_as_many_cases_as_those_of_testfloat():
    assert len(grids.operands(1)) == 88
    assert len(grids.operands(2)) == 1936
    assert grids.pair_count(1) == 46_464
    assert grids.pair_count(2) == 7_496_192
    for level in (1, 2):
        blocks = list(grids.pairs(level, seed=0))
        assert sum(len(a) for a, _ in blocks) == grids.pair_count(level)
        assert all(len(a) == len(b) <= grids.BLOCK for a, b in blocks)


def test_every_class_meets_every_class():
    a, b = (np.concatenate(side) for side in zip(*grids.pairs(1, seed=0), strict=True))
    pairs = set(zip(classes(a), classes(b), strict=True))
    assert len(pairs) == (2 * 5) ** 2


def classes(patterns):
    field, fraction = patterns >> 23 & 255, patterns & 0x7FFFFF
    kind = np.select([field == 0, field == 255], [fraction != 0, 3 + (fraction != 0)], 2)
    return (10 * (patterns >> 31) + kind).tolist()


def test_related_pairs_cancel_tie_and_reach_the_edges():
    a, b = grids.related(np.random.default_rng(6), 40_000)
    quarters = [(a[at : at + 10_000], b[at : at + 10_000]) for at in range(0, 40_000, 10_000)]
    near, tie, small, large = quarters
    assert np.mean(ieee.subtract(*near) & 0x7FFFFFFF == 0) > 0.02
    # A tie, as binary64 sees it: the sum is halfway between neighbours.
    with np.errstate(all="ignore"):
        total = np.sum([part.view(np.float32).astype(np.float64) for part in tie], axis=0)
        unit = np.spacing(np.abs(total).astype(np.float32)).astype(np.float64)
        assert np.mean(np.abs(total / unit) % 1 == 0.5) > 0.02
    products = ieee.multiply(*small) & 0x7FFFFFFF
    assert np.mean((products > 0) & (products < 0x00800000)) > 0.3
    assert np.mean(products == 0) > 0.01
    assert 0.2 < np.mean(ieee.multiply(*large) & 0x7FFFFFFF == 0x7F800000) < 0.9


def test_binades_cancel_to_every_length_at_every_exponent():
    a, b = (np.concatenate(side) for side in zip(*grids.binades(), strict=True))
    sums = ieee.add(a, b)
    field = a >> 23 & 255
    for exponent in range(1, 255):
        lengths = set(np.frexp(sums[field == exponent].view(np.float32))[1].tolist())
        shortest = max(exponent - 126 - 24, -148)  # half an ulp, or the least number there is
        assert lengths >= set(range(shortest, exponent - 126 + 1)), exponent
    half_an_ulp = (a == 0x0C000000) & (b == 0x8BFFFFFF)
    assert sums[half_an_ulp].tolist() == [0x00400000]


def test_random_operands_follow_from_the_seed():
    first, again, other = (
        np.concatenate([a ^ b for a, b in grids.random_pairs(5000, seed)]) for seed in (1, 1, 2)
    )
    assert first.tolist() == again.tolist() != other.tolist()


def test_edges_of_a_format_are_its_values_midpoints_and_neighbours():
    edges = set(np.concatenate(list(converter_grids.edges_of(BINARY16))).tolist())
    every = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    following = np.append(every[1:], 65536.0)
    for centres in (every, (every + following) / 2):
        bits = centres.astype(np.float32).view(np.uint32).astype(np.int64)
        for step in (-1, 0, 1):
            wanted = (bits + step)[bits + step >= 0]
            for magnitudes in (wanted, wanted | BINARY32.sign):
                assert edges.issuperset(magnitudes.tolist())


def test_a_part_of_the_edges_has_both_ends():
    part = np.concatenate(list(converter_grids.edges_of(FP32R, every=64)))
    assert {0x00000000, 0x00000200, 0x7F7FFC00, 0x7F7FFE00} <= set(part.tolist())
    assert len(part) < 600_000


@pytest.mark.parametrize("whole", [False, True])
def test_edges_of_integers_are_integers_halves_and_neighbours(whole):
    edges = set(np.concatenate([*converter_grids.integer_edges(8, whole=whole)]).tolist())
    for half in range(2 * 257):
        bits = int(np.float32(half / 2).view(np.uint32))
        for pattern in (bits, bits + 1, *((bits - 1,) if bits else ())):
            assert {pattern, pattern | BINARY32.sign} <= edges
    for power in (0x43000000, 0x43800000):
        assert power in edges


def test_control_values_that_have_a_part_are_combined():
    words = converters.control_words(Dtype.FP8_EXP4, results=True)
    chosen = [converters.control_of(word) for word in words]
    for word, control in zip(words, chosen, strict=True):
        assert sum(bit << at for at, bit in enumerate(encoded(control).values())) == word
    combinations = {(c.emax_e4m3, c.ocp_sat, c.flush_to_zero) for c in chosen}
    assert len(combinations) == 8
    assert words[0] == 0
    assert {word & 0b0011010 for word in words} == {0, 0b0011010}  # the others, at both ends
    assert converters.control_words(Dtype.INT8, results=False) == [0, 0b1111111]


# --- comparing ----------------------------------------------------------------------------------


def test_the_golden_reciprocal_of_every_integer_to_2_to_the_24():
    entry = replace(operation("reciprocal"), grid=lambda level, seed: every_integer())
    outcome = examine(entry, {}, level=2)
    assert outcome.differing == 0, outcome.subjects
    assert outcome.subjects[GOLDEN].compared == outcome.cases == 1 << 24
    (last,) = list(every_integer())[-1]
    assert last[-1] == 0x4B800000


def bf16_edges(level, seed):
    return ((block, np.zeros_like(block)) for block in converter_grids.edges_of(BFLOAT16))


def test_a_wrong_result_is_reported_with_its_operands():
    entry = replace(operation("narrow bf16"), grid=bf16_edges)

    def wrong(a, control):
        return np.where(a == 0x3F808000, 0x3F81, ieee.narrowed(a, BFLOAT16)).astype(np.uint32)

    outcome = examine(replace(entry, golden=wrong), {}, level=1)
    assert outcome.subjects[SECOND].differing == 0
    subject = outcome.subjects[GOLDEN]
    assert outcome.differing == subject.differing == 1
    assert str(subject.first) == "of 0x3f808000, 0x00000000: got 0x00003f81, expected 0x00003f80"
    first = outcome.described()["subjects"][GOLDEN]["first"]
    assert first["operands"] == ["0x3f808000", "0x00000000"]


class FaultyUnit(UnitSimulator):
    """A converter to BF16 that is wrong at one midpoint; it keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def send(self, a, b=None, select=0):
        assert select == Dtype.BF16
        self.asked.append((a, b))

    def receive(self):
        a, control = self.asked[-1]
        right = operation("narrow bf16").exact(a, control)
        return np.where(a == 0x3F828000, np.uint32(0x3F83), right)


def test_the_first_difference_ends_a_comparison():
    entry, unit = operation("narrow bf16"), FaultyUnit()
    difference = first_difference(entry, unit, level=1)
    reported = "of 0x3f828000, 0x00000000: got 0x00003f83, expected 0x00003f82"
    assert str(difference) == reported
    assert 0x3F828000 in unit.asked[-1][0]
    assert len(unit.asked) < sum(1 for _ in entry.grid(1, 0))


def test_no_difference_is_found_after_all_operands():
    classes, unit = operation("narrow fp32").grid, FaultyUnit()
    entry = replace(operation("narrow bf16"), grid=classes)
    assert first_difference(entry, unit, level=1) is None
    assert sum(len(a) for a, _ in unit.asked) == 3 * 1936


def test_random_operands_complete_the_number_asked_for():
    entry = replace(operation("narrow fp32"), golden=None)
    assert examine(entry, {}, level=1).cases == 3 * 1936  # with and without flushing; the others
    assert examine(entry, {}, level=1, cases=10_000).cases == 10_000
    assert examine(operation("widen int16"), {}, level=1, cases=200_000).cases == 2 << 16
