# amaranth: UnusedElaboratable=no
"""Adder against exact integers and SoftFloat."""

import random

import pytest
from binary32_reference import (
    SIGN,
    class_pairs,
    grid_pairs,
    random_pairs,
    reference_add,
    softfloat_add,
    stream,
)
from dve_rtl.fp32.adder import Adder


def cancelling_pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Magnitudes a few ulps apart, equal, or in neighbouring binades; any scale."""
    pairs = []
    for _ in range(count):
        a = rng.randrange(0x7F800000)
        nearby = a + rng.choice(
            (0, 1, -1, 2, -3, 1 << rng.randrange(24), -(1 << rng.randrange(24)))
        )
        b = min(max(nearby, 0), 0x7F7FFFFF)
        pairs.append((a | rng.choice((0, SIGN)), b | rng.choice((0, SIGN))))
    return pairs


def tie_pairs(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Sums at or beside half an ulp: the smaller operand is about that of the larger one."""
    pairs = []
    for _ in range(count):
        exponent = rng.randint(26, 254)
        large = exponent << 23 | rng.choice((0, 1, 2, 0x7FFFFF, 0x7FFFFE, rng.getrandbits(23)))
        # The half ulp is 24 binades below; one more or fewer where cancellation or carry moves it.
        small = (exponent - rng.randint(22, 26) << 23) + rng.choice((0, 1, -1, 1 << 22, 3 << 21))
        pair = [large | rng.choice((0, SIGN)), max(small, 0) | rng.choice((0, SIGN))]
        rng.shuffle(pair)
        pairs.append((pair[0], pair[1]))
    return pairs


def with_subtract(rng: random.Random, pairs: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"a": a, "b": b, "subtract": rng.getrandbits(1)} for a, b in pairs]


@pytest.mark.parametrize(("latency", "count"), [(1, 500), (3, 1000), (7, 2500)])
def test_sums(latency, count):
    rng = random.Random(200 + latency)
    cases = with_subtract(
        rng,
        [
            *grid_pairs(rng, count),
            *random_pairs(rng, count),
            *cancelling_pairs(rng, count),
            *tie_pairs(rng, count),
        ],
    )
    for subtract in (0, 1):
        cases += [{"a": a, "b": b, "subtract": subtract} for a, b in class_pairs()]
    results = stream(Adder(latency=latency), cases)
    for case, got in zip(cases, results, strict=True):
        want = reference_add(**case)
        text = f"{case['a']:#010x} {'+-'[case['subtract']]} {case['b']:#010x}"
        assert softfloat_add(**case) == want, f"oracles differ on {text}"
        assert got == want, f"{text}: got {got:#010x}, expected {want:#010x}"


@pytest.mark.parametrize("latency", range(1, 9))
def test_every_latency_gives_the_same_sums(latency):
    rng = random.Random(8)
    pairs = [*grid_pairs(rng, 100), *random_pairs(rng, 100), *tie_pairs(rng, 100)]
    cases = with_subtract(rng, pairs)
    assert stream(Adder(latency=latency), cases) == [reference_add(**case) for case in cases]


@pytest.mark.parametrize("latency", [0, 9])
def test_rejects_latency(latency):
    with pytest.raises(ValueError, match=f"latency must be 1 to 8, got {latency}"):
        Adder(latency=latency)
