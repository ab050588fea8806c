"""Forward statistics on the golden machine, against exact fractions, float64 and hand work."""

from fractions import Fraction

import numpy as np
import pytest
from dve_golden.isa.enums import Reason
from dve_golden.isa.text import assemble
from dve_golden.machine import Machine
from hypothesis import given, settings
from hypothesis import strategies as st
from statistics_reference import (
    HALF,
    WHOLE,
    Moments,
    aggregate_bounds,
    split_bounds,
    stats_bounds,
)

NAN, INF = float("nan"), float("inf")
TUPLES, RESULT = 0x1000, 0x2000


def small():
    return Machine(sbuf_bytes=0x4000, psum_bytes=64)


def put(machine, offset, values, dtype="<f4"):
    """In every partition, or one row for each of the first ones."""
    data = np.array(values, dtype, ndmin=2).view(np.uint8)
    machine.sbuf[: len(data) if len(data) > 1 else 128, offset : offset + data.shape[1]] = data


def get(machine, offset, count, dtype="<f4", partition=0):
    size = np.dtype(dtype).itemsize
    return machine.sbuf[partition, offset : offset + size * count].view(dtype).tolist()


def execute(machine, *lines):
    program = assemble("\n".join(lines))
    assert {c.reason for c in machine.run(program)} == {Reason.NONE}


def stats(count, *, at=0, to=RESULT, even=None, channels=1, out="fp32", steps=""):
    even = float(count) if even is None else even
    return (
        f"stats channels={channels} src=sbuf[0:{at}]:fp32:{count}"
        f" dst=sbuf[0:{to}]:{out}:3{steps} even_count={even}"
    )


def stats2(count, *, at=0, to=RESULT, channels=1, mnemonic="stats2"):
    return (
        f"{mnemonic} channels={channels} src=sbuf[0:{at}]:fp32:{count} dst=sbuf[0:{to}]:fp32:6"
        f" even_count={float((count + 1) // 2)} odd_count={float(count // 2)}"
    )


def aggregate(tuples, *, at=TUPLES, to=RESULT, channels=1):
    return (
        f"aggregate channels={channels} src=sbuf[0:{at}]:fp32:{3 * tuples} dst=sbuf[0:{to}]:fp32:2"
    )


def stats_of(values, **options):
    machine = small()
    put(machine, 0, values)
    execute(machine, stats(len(values), **options))
    return get(machine, RESULT, 3)


def stats2_of(values, **options):
    machine = small()
    put(machine, 0, values)
    execute(machine, stats2(len(values), **options))
    found = get(machine, RESULT, 6)
    return found[:3], found[3:]


def aggregate_of(parts):
    machine = small()
    put(machine, TUPLES, [value for part in parts for value in part])
    execute(machine, aggregate(len(parts)))
    return get(machine, RESULT, 2)


def same_bits(found, wanted):
    assert np.array(found, "<f4").tobytes().hex(" ", 4) == np.array(wanted, "<f4").tobytes().hex(
        " ", 4
    )


# --- by hand


def test_four_numbers():
    same_bits(stats_of([1, 2, 3, 4]), [4, 2.5, 5])


def test_even_and_odd_ordinals():
    even, odd = stats2_of([1, 10, 3, 20, 5])
    # 1/3 is rounded up: m = fl(6 * fl(1/3)) = 2 all the same.
    same_bits(even, [3, 3, 8])
    same_bits(odd, [2, 15, 50])


def test_two_tuples():
    # Distances from 3 are -2 and 2; (2 + 2 + 2 * 4 + 2 * 4) / 4 = 5.
    same_bits(aggregate_of([(2, 1, 2), (2, 5, 2)]), [3, 5])


def test_aggregate_of_one_tuple_divides_by_its_count():
    same_bits(aggregate_of([(4, 7, 10)]), [7, 2.5])


def test_transposed_is_stats2():
    values = np.random.default_rng(82).standard_normal((32, 96)).astype("<f4")
    results = []
    for mnemonic in ("stats2", "transpose_stats2"):
        machine = small()
        put(machine, 0, values)
        execute(machine, stats2(96, channels=32, mnemonic=mnemonic))
        results.append(machine.sbuf.tobytes())
    assert results[0] == results[1]


# --- counts


def test_the_counts_are_copied_and_not_used():
    same_bits(stats_of([1, 2, 3, 4], even=7.0), [7, 2.5, 5])
    machine = small()
    put(machine, 0, [1, 10, 3, 20, 5])
    line = stats2(5).replace("even_count=3.0", "even_count=-0.0").replace("=2.0", "=1e-45")
    execute(machine, line)
    same_bits(get(machine, RESULT, 6), [-0.0, 3, 8, 1e-45, 15, 50])


def test_the_counts_pass_the_converter():
    def counted(value, out, dtype, control=0):
        machine = small()
        machine.control[3] = control  # sis
        execute(machine, stats(1, even=value, out=out))
        return get(machine, RESULT, 1, dtype)[0]

    assert counted(257.0, "bf16", "<u2") == 0x4380  # 256: a tie goes to the even significand
    assert counted(70000.0, "fp16", "<f2") == INF
    assert counted(70000.0, "fp16", "<f2", control=1) == 65504


# --- edges; the reciprocal


@pytest.mark.parametrize(
    ("values", "mean", "nvar"),
    [
        ([7], 7, 0),
        ([-0.0], 0, 0),
        ([-0.0, -0.0, -0.0], 0, 0),
        ([3e38, 3e38], 3e38, 0),
        ([1e-45, 1e-45, 1e-45], 1e-45, 0),
        ([3e38, -3e38], -INF, NAN),  # the distance overflows
        ([NAN], NAN, NAN),
        ([1, NAN, 2], NAN, NAN),
        ([INF], NAN, NAN),
        ([1, INF, 2], INF, NAN),
        ([1, -INF, 2], -INF, NAN),
        ([1, -INF, INF], NAN, NAN),
        ([INF, 1, 2], NAN, NAN),
        ([0, 2e19], 1e19, INF),  # a square overflows
        ([0, 3e19], 1.5e19, NAN),  # n m^2 as well
    ],
)
def test_edges(values, mean, nvar):
    found = stats_of(values)
    same_bits(found, [len(values), mean, nvar])
    between = [value for pair in zip(values, [5] * len(values), strict=True) for value in pair]
    even, odd = stats2_of(between)
    same_bits(even, [len(values), mean, nvar])
    same_bits(odd, [len(values), 5, 0])


def test_a_half_without_elements_is_zero():
    even, odd = stats2_of([-3])
    same_bits(even, [1, -3, 0])
    same_bits(odd, [0, 0, 0])


def test_every_nan_is_canonical():
    machine = small()
    put(machine, 0, [0xFF80_0001, 0x3F80_0000], "<u4")
    execute(machine, stats2(2))
    assert get(machine, RESULT, 6, "<u4")[1:3] == [0x7FC0_0000] * 2


def test_the_reciprocal_is_read_from_the_parameter_ram():
    machine = small()
    put(machine, 0, [1, 2, 3, *[4] * 253])
    machine.parameter_ram[3] = 1.0
    execute(machine, stats(3))
    # m = 3 * 1, nvar = 5 - 3 * 9
    same_bits(get(machine, RESULT, 3), [3, 4, -22])
    machine.parameter_ram[:] = 0
    execute(machine, stats(256))  # 256 has no entry
    assert get(machine, RESULT, 2)[1] == 4 - 6 / 256
    put(machine, TUPLES, [2.5, 4, 0, 0.5, 4, 0])
    execute(machine, aggregate(1))
    same_bits(get(machine, RESULT, 2), [4, 0])  # 2.5 is no integer
    execute(machine, aggregate(2))
    same_bits(get(machine, RESULT, 2), [0, 0])  # the sum is: entry 3


@pytest.mark.parametrize(
    ("parts", "mean", "variance"),
    [
        ([(0, 0, 0)], NAN, NAN),
        ([(0, 5, 0), (3, 1, 6)], 1, 2),
        ([(3, 1, 6), (0, INF, 0)], NAN, NAN),  # zero times infinity
        ([(1, NAN, 0), (3, 1, 6)], NAN, NAN),
        ([(2, 1, INF), (2, 1, 0)], 1, INF),
        ([(2, 1, -1), (2, 1, 0)], 1, -0.25),  # no clamping
        ([(1, INF, 0), (1, 1, 0)], INF, NAN),
    ],
)
def test_edges_of_aggregate(parts, mean, variance):
    same_bits(aggregate_of(parts), [mean, variance])


# --- order


def test_results_may_lie_on_the_source():
    values = [5, 1, 4, 1, 3]
    even, odd = stats2_of(values)
    machine = small()
    put(machine, 0, values)
    execute(machine, stats2(5, to=0))
    same_bits(get(machine, 0, 6), [*even, *odd])
    machine = small()
    put(machine, 0, [2, 1, 2, 2, 5, 2])
    execute(machine, aggregate(2, at=0, to=0))
    same_bits(get(machine, 0, 6), [3, 5, 2, 2, 5, 2])


def test_with_step_zero_the_last_result_stays():
    machine = small()
    put(machine, 0, [1, 2, 3, 4])
    execute(machine, stats(4, steps="@0"))
    same_bits(get(machine, RESULT, 2), [5, 0])


# --- within bounds of exact arithmetic

LENGTHS = [1, 2, 3, 8, 9, 16, 31, 100, 255, 256]


def distributions():
    rng = np.random.default_rng(60)
    normal = rng.standard_normal(512)
    yield "normal", normal
    yield "mean 1e6", 1e6 + normal
    yield "mean -1e6, small spread", -1e6 + 0.125 * normal
    yield "mean 3e7, every digit taken", 3e7 + normal
    yield "uniform", rng.random(512)
    yield "rectified", np.maximum(normal, 0)
    yield "first far away", np.concatenate([[1e4], normal[1:]])
    yield "scales", normal * 10.0 ** rng.integers(-6, 7, 512)
    yield "alternating", np.resize([1.0, -1.0, 1.0, -1.0, 3.0], 512) + 1e-3 * normal
    yield "small", 1e-12 * normal
    yield "large", 1e12 * (1 + normal)


DISTRIBUTIONS = {name: values.astype("<f4") for name, values in distributions()}


def check(found, values, partials):
    """Mean and nvar of the engine against exact ones."""
    count, mean, nvar = found
    exact = Moments.of(values.tolist())
    mean_bound, nvar_bound = stats_bounds(values.tolist(), partials)
    assert count == exact.count
    assert abs(Fraction(mean) - exact.mean) <= mean_bound
    assert abs(Fraction(nvar) - exact.nvar) <= nvar_bound


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_stats_within_its_bounds(name):
    for length in LENGTHS:
        values = DISTRIBUTIONS[name][:length]
        check(stats_of(values), values, WHOLE)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_stats2_within_its_bounds(name):
    for length in (2, 3, 17, 510, 511, 512):
        values = DISTRIBUTIONS[name][:length]
        for found, half in zip(stats2_of(values), (values[0::2], values[1::2]), strict=True):
            check(found, half, HALF)


numbers = st.builds(
    lambda integers, offset, exponent: np.ldexp(
        np.array(integers, np.float64) + offset, exponent
    ).astype("<f4"),
    st.lists(st.integers(-(1 << 20), 1 << 20), min_size=2, max_size=40),
    st.sampled_from([0, 10**6, -(10**7), 10**9]),
    st.integers(-20, 20),
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(numbers)
def test_any_numbers_within_the_bounds(values):
    check(stats_of(values), values, WHOLE)
    for found, half in zip(stats2_of(values), (values[0::2], values[1::2]), strict=True):
        check(found, half, HALF)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.integers(1, 256), st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_equal_numbers_have_no_spread(count, value):
    same_bits(stats_of([value] * count), [count, value + 0.0, 0])


def test_a_mean_far_from_zero_keeps_the_variance():
    """Mean 1e6, standard deviation 1: the plain sum of squares has not one digit left."""
    values = DISTRIBUTIONS["mean 1e6"][:256]
    exact = Moments.of(values.tolist())
    _, _, nvar = stats_of(values)
    assert abs(Fraction(nvar) / exact.nvar - 1) < 1e-6
    total, squares = (np.cumsum(v, dtype=np.float32)[-1] for v in (values, values * values))
    plain = float(squares - total * total / np.float32(256))
    assert abs(plain / float(exact.nvar) - 1) > 1


def test_128_channels_against_float64():
    rng = np.random.default_rng(61)
    values = (rng.standard_normal((128, 512)) * 3 + 100 * rng.standard_normal((128, 1))).astype(
        "<f4"
    )
    machine = small()
    put(machine, 0, values)
    execute(machine, stats2(512, channels=128, to=TUPLES), aggregate(2, channels=128))
    found = machine.sbuf[:, RESULT : RESULT + 8].view("<f4").astype(np.float64)
    wide = values.astype(np.float64)
    np.testing.assert_allclose(found[:, 0], wide.mean(axis=1), rtol=2e-7, atol=2e-6)
    np.testing.assert_allclose(found[:, 1], wide.var(axis=1), rtol=2e-6)


# --- splits


def split(values, cuts):
    """Stats2 on each tile, then Aggregate; sets of numbers, what is said of each, the result."""
    machine = small()
    sets = []
    for index, tile in enumerate(np.split(values, cuts)):
        put(machine, 0, tile)
        execute(machine, stats2(len(tile), to=TUPLES + 24 * index))
        sets += [half.tolist() for half in (tile[0::2], tile[1::2])]
    execute(machine, aggregate(len(sets)))
    found = get(machine, TUPLES, 3 * len(sets))
    parts = list(zip(found[0::3], found[1::3], found[2::3], strict=True))
    occupied = [index for index, members in enumerate(sets) if members]
    return [sets[i] for i in occupied], [parts[i] for i in occupied], get(machine, RESULT, 2)


def check_split(values, cuts):
    """Against exact moments, and where it can be against Stats in one shot."""
    sets, parts, (mean, variance) = split(values, cuts)
    mean_bound, variance_bound = split_bounds(sets, parts)
    exact = Moments.of(values.tolist())
    assert abs(Fraction(mean) - exact.mean) <= mean_bound
    assert abs(Fraction(variance) - exact.variance) <= variance_bound
    # What Aggregate itself adds to the tuples it was given.
    given_parts = Moments.combined(parts)
    mean_added, variance_added = aggregate_bounds(parts)
    assert abs(Fraction(mean) - given_parts.mean) <= mean_added
    assert abs(Fraction(variance) - given_parts.variance) <= variance_added
    if len(values) <= 256:
        _, one_mean, one_nvar = stats_of(values)
        one_mean_bound, one_nvar_bound = stats_bounds(values.tolist(), WHOLE)
        n = len(values)
        assert abs(Fraction(mean) - Fraction(one_mean)) <= mean_bound + one_mean_bound
        apart = abs(Fraction(variance) - Fraction(one_nvar) / n)
        assert apart <= variance_bound + one_nvar_bound / n


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_aggregate_over_splits(name):
    values = DISTRIBUTIONS[name]
    check_split(values[:256], [128])
    check_split(values[:256], [64, 128, 192])
    check_split(values[:256], [1, 2, 5, 100, 101])
    check_split(values, [])
    check_split(values, range(8, 512, 8))  # 128 tuples


@settings(derandomize=True, max_examples=60, deadline=None)
@given(numbers, st.data())
def test_any_split_agrees_with_one_shot(values, data):
    cuts = data.draw(st.sets(st.integers(1, len(values) - 1), max_size=6))
    check_split(values, sorted(cuts))


def test_the_order_of_tiles_changes_no_more_than_the_bounds_say():
    values = DISTRIBUTIONS["mean 1e6"]
    tiles = np.split(values, 8)
    sets, parts, forward = split(np.concatenate(tiles), range(64, 512, 64))
    _, _, backward = split(np.concatenate(tiles[::-1]), range(64, 512, 64))
    mean_bound, variance_bound = split_bounds(sets, parts)
    assert abs(Fraction(forward[0]) - Fraction(backward[0])) <= 2 * mean_bound
    assert abs(Fraction(forward[1]) - Fraction(backward[1])) <= 2 * variance_bound
