"""Operands at which one rounding, one normalisation or one conversion decides a bit.

Random words hardly ever meet the middle between two representable numbers, and what a whole
instruction computes hides a wrong bit behind later roundings. Here lane state and sources are
chosen so that one unit's result passes through all others unchanged (batchnorm.md section 6):
``(x - mean) * C`` with C = 0 leaves ``dy * N - B``, a prefactor of 1 leaves the difference, and so
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import DTYPE_BYTES, MAX_CHANNELS, STATISTICS, Dtype, ImmSrc, Opcode
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.state import LANE_STATE, ArchState
from dve_cosim.workloads import Workload

Words = NDArray[np.uint32]

ELEMENTS = 64
"""Of each source: 256 bytes of a partition as fp32."""

_SRC0, _SRC1, _RESULTS = 0x000, 0x100, 0x200
_MEAN, _SCALE = 0x3F8, 0x3FC
"""Bytes in a partition; the smallest engine has 1,024."""

_CUTS = (1, 2, 3, 10, 12, 13, 14, 16, 20, 22, 23)
"""Low bits of a fraction that a conversion, an alignment or a product drops."""

_FIELDS = (
    *(0, 0, 1, 2, 3, 23, 24, 25),  # subnormal in binary32, and just above
    *(101, 102, 103, 104, 108, 112, 113),  # subnormal in binary16
    *(120, 126, 127, 127, 128, 134),
    *(141, 142, 143),  # the end of binary16
    *(149, 150, 151, 157, 158, 230, 252, 253, 254, 254, 255),
)  # fmt: skip
"""Exponent fields near a border of a format."""


def corner_words(rng: np.random.Generator, shape: tuple[int, ...]) -> Words:
    """binary32 patterns at the corners.

    Midpoints of shorter formats and their neighbours, subnormal and extreme numbers, infinities
    and NaN.
    """
    field = rng.choice(np.array(_FIELDS, np.uint32), shape)
    return _assembled(rng, field)


def partners(rng: np.random.Generator, words: Words) -> Words:
    """For each word one whose exponent is up to 27 away: sums that align, cancel or round."""
    field = (words >> 23 & 0xFF).astype(np.int64) + rng.integers(-27, 28, words.shape)
    apart = _assembled(rng, np.clip(field, 0, 254).astype(np.uint32))
    near = words + rng.integers(-2, 3, words.shape).astype(np.uint32)
    flipped = near ^ (rng.integers(0, 2, words.shape).astype(np.uint32) << 31)
    return np.where(rng.random(words.shape) < 0.3, flipped, apart)


def _assembled(rng: np.random.Generator, field: Words) -> Words:
    sign = rng.integers(0, 2, field.shape).astype(np.uint32)
    return (sign << 31 | field << 23 | _fractions(rng, field.shape)).astype(np.uint32)


def _fractions(rng: np.random.Generator, shape: tuple[int, ...]) -> Words:
    """A few leading bits, then a tail that is nothing, a half, or next to either."""
    cut: Words = rng.choice(np.array(_CUTS, np.uint32), shape)
    head = rng.integers(0, 1 << 23, shape, np.uint32) >> cut << cut
    head = np.where(rng.random(shape) < 0.3, (0x7FFFFF >> cut) << cut, head)
    half = np.ones(shape, np.uint32) << cut - 1
    tail = rng.choice(np.array([-1, 0, 1], np.int64), shape)
    middle = half * rng.integers(0, 2, shape).astype(np.uint32)
    structured = (head | middle) + tail.astype(np.uint32)
    plain = rng.integers(0, 1 << 23, shape, np.uint32)
    chosen = np.where(rng.random(shape) < 0.85, structured, plain)
    return (chosen & 0x7FFFFF).astype(np.uint32)


def numeric_corners(seed: int, config: EngineConfig) -> Workload:
    """Programs whose results show what each unit and each converter makes of corner operands."""
    rng = np.random.default_rng(seed)
    workload = Workload()
    for lane_state, x, dy in _isolating(rng):
        state = _state(config, lane_state, x, dy)
        workload.append(state, [_back_props()])
    for dtype0, dtype1 in _SOURCES:
        lane_state = _lane_state(mean=0, a=1, b=0, c=1, n=1)
        x, dy = (_elements(rng, dtype) for dtype in (dtype0, dtype1))
        state = _state(config, lane_state, x, dy)
        workload.append(state, [_back_props(dtype0, dtype1)])
    for count in (1, 2, 5, 8, 9, 16, 23):
        x = corner_words(rng, (MAX_CHANNELS, ELEMENTS))
        dy = _within_reach(rng, x)
        state = _state(config, _lane_state(), x, dy)
        immediates = state.sbuf[:, _MEAN:].view(np.uint32)
        immediates[:, 0] = np.where(rng.random(MAX_CHANNELS) < 0.5, 0, partners(rng, x[:, 0]))
        immediates[:, 1] = np.float32(1).view(np.uint32)
        workload.append(state, [_sums(count)])
    x = corner_words(rng, (MAX_CHANNELS, ELEMENTS))
    for elements in (x, partners(rng, np.repeat(x[:, :1], ELEMENTS, axis=1))):
        state = _state(config, _lane_state(), elements, elements)
        workload.append(state, [_moments(count) for count in (1, 2, 3, 8, 17, ELEMENTS)])
    for counts in (_counts(rng), _factors(rng), rng.integers(0, 300, MAX_CHANNELS)):
        for tuples in (1, 2, ELEMENTS // STATISTICS):
            state = _state(config, _lane_state(), _tuples(rng, counts), x)
            workload.append(state, [_aggregates(tuples)])
    return workload


_SOURCES = tuple(
    product(
        (Dtype.FP16, Dtype.BF16, Dtype.INT32, Dtype.FP32), (Dtype.FP16, Dtype.INT32, Dtype.BF16)
    )
)


def _isolating(rng: np.random.Generator) -> Iterator[tuple[Words, Words, Words]]:
    """Lane state and sources of BackProp, each for one place of the formula."""
    shape = (MAX_CHANNELS, ELEMENTS)
    zeros = np.zeros(shape, np.uint32)
    ones = np.full(shape, np.float32(1).view(np.uint32))

    def channels() -> Words:
        return corner_words(rng, (MAX_CHANNELS,))

    def paired(values: Words) -> Words:
        """Elements of each channel that meet the channel's value closely."""
        return partners(rng, np.repeat(values[:, None], ELEMENTS, axis=1))

    for _ in range(2):  # narrowing of any value
        yield _lane_state(c=0), zeros, corner_words(rng, shape)
    for _ in range(2):  # last difference: dy - x
        x = corner_words(rng, shape)
        yield _lane_state(), x, partners(rng, x)
    mean = channels()  # first difference: x - mean
    yield _lane_state(mean=mean), paired(mean), zeros
    b = channels()  # second difference: dy - B
    yield _lane_state(b=b, c=0), zeros, paired(b)
    for _ in range(2):  # the products
        yield _lane_state(c=_factors(rng)), _factors(rng, ELEMENTS), zeros
        yield _lane_state(n=_factors(rng), c=0), zeros, _factors(rng, ELEMENTS)
        yield _lane_state(a=_factors(rng), c=0), zeros, _factors(rng, ELEMENTS)
    for _ in range(3):  # prefactor: A * recip(N), and recip(N) of every seed and exponent
        yield _lane_state(n=_counts(rng), b=-1, c=0), zeros, zeros
    yield _lane_state(a=_factors(rng), n=_counts(rng), c=0), zeros, ones


def _factors(rng: np.random.Generator, elements: int = 0) -> Words:
    """Words whose products are finite more often than not, subnormal ones included."""
    words = corner_words(rng, (MAX_CHANNELS, elements) if elements else (MAX_CHANNELS,))
    field = words >> 23 & 0xFF
    moderate = rng.integers(60, 190, words.shape).astype(np.uint32)
    keeps = (field == 0) | (field == 255) | (rng.random(words.shape) < 0.3)
    return np.where(keeps, words, words & 0x807FFFFF | moderate << 23)


def _counts(rng: np.random.Generator) -> Words:
    """Values of N: every seed interval of the reciprocal, all exponents, integers of the table."""
    field = rng.integers(0, 256, MAX_CHANNELS).astype(np.uint32)
    field[::4] = rng.choice(np.array([0, 1, 126, 127, 252, 253, 254, 255], np.uint32), 32)
    interval = rng.permutation(MAX_CHANNELS).astype(np.uint32) % 64 << 17
    low = _fractions(rng, (MAX_CHANNELS,)) & 0x1FFFF
    words = field << 23 | interval | low
    words[::8] = rng.integers(0, 300, 16).astype(np.float32).view(np.uint32)
    sign = rng.integers(0, 2, MAX_CHANNELS).astype(np.uint32)
    return (words | sign << 31).astype(np.uint32)


def _within_reach(rng: np.random.Generator, words: Words) -> Words:
    """Factors that bring a product to about 1, or close to where it ends."""
    field = 254 - (words >> 23 & 0xFF).astype(np.int64) + rng.integers(-30, 31, words.shape)
    return _assembled(rng, np.clip(field, 0, 254).astype(np.uint32))


def _elements(rng: np.random.Generator, dtype: Dtype) -> Words:
    """Source elements of a type, packed from the first byte on, uint32 [128, words]."""
    shape = (MAX_CHANNELS, ELEMENTS)
    if dtype is Dtype.FP32:
        return corner_words(rng, shape)
    if dtype is Dtype.INT32:
        magnitude = rng.integers(0, 1 << 32, shape, np.uint32) >> rng.integers(0, 32, shape).astype(
            np.uint32
        )
        # The tails of integers above 2^24 are rounded away.
        return magnitude & ~_tail_mask(rng, shape) | _tail(rng, shape)
    codes = rng.integers(0, 1 << 16, shape, np.uint16)
    return codes.view(np.uint32)


def _tail_mask(rng: np.random.Generator, shape: tuple[int, ...]) -> Words:
    return np.where(rng.random(shape) < 0.5, 0xFF, 0).astype(np.uint32)


def _tail(rng: np.random.Generator, shape: tuple[int, ...]) -> Words:
    return rng.choice(np.array([0, 1, 0x20, 0x40, 0x7F, 0x80, 0x81, 0xC0], np.uint32), shape)


def _lane_state(
    *, n: Words | int = 1, mean: Words | int = 0, a: Words | int = 1, b: Words | int = 0,
    c: Words | int = 1,
) -> Words:  # fmt: skip
    """Patterns [128, 5]; an int stands for that number in every channel."""
    state = np.empty((MAX_CHANNELS, len(LANE_STATE)), np.uint32)
    for column, value in enumerate((n, mean, a, b, c)):
        state[:, column] = np.float32(value).view(np.uint32) if isinstance(value, int) else value
    return state


def _state(config: EngineConfig, lane_state: Words, x: Words, dy: Words) -> ArchState:
    state = ArchState.reset(config)
    state.lane_state.view(np.uint32)[:] = lane_state
    for offset, words in ((_SRC0, x), (_SRC1, dy)):
        data = np.ascontiguousarray(words).view(np.uint8)
        state.sbuf[:, offset : offset + data.shape[1]] = data
    return state


def _back_props(dtype0: Dtype = Dtype.FP32, dtype1: Dtype = Dtype.FP32) -> bytes:
    """One instruction for each result type; their results lie one behind the other."""
    program, at = b"", _RESULTS
    for out in (Dtype.FP32, Dtype.BF16, Dtype.FP16):
        program += encode(
            Opcode.BATCH_NORM_BACK_PROP,
            {
                "in0_in1_dtype.lo": dtype0,
                "in0_in1_dtype.hi": dtype1,
                "out_dtype": out,
                "num_active_channels": MAX_CHANNELS,
                **_walk("src0", _SRC0, ELEMENTS),
                **_walk("src1", _SRC1, ELEMENTS),
                **_walk("dst", at, ELEMENTS),
            },
        )
        at += ELEMENTS * DTYPE_BYTES[out]
    return program


def _sums(count: int) -> bytes:
    """Sums over the first, and over the last, elements of the sources, for each result type."""
    program, at = b"", _RESULTS
    for out in (Dtype.FP32, Dtype.BF16, Dtype.FP16):
        for first in (0, ELEMENTS - count):
            program += encode(
                Opcode.BATCH_NORM_GRAD_ACCUMULATE2,
                {
                    "in0_in1_dtype.lo": Dtype.FP32,
                    "in0_in1_dtype.hi": Dtype.FP32,
                    "immediate_out_dtype.lo": Dtype.FP32,
                    "immediate_out_dtype.hi": out,
                    "imm0_imm1_src.lo": ImmSrc.POINTER,
                    "imm0_imm1_src.hi": ImmSrc.POINTER,
                    "imm0": _MEAN,
                    "imm1": _SCALE,
                    "num_active_channels": MAX_CHANNELS,
                    **_walk("src0", _SRC0 + 4 * first, count),
                    **_walk("src1", _SRC1 + 4 * first, count),
                    "dst.start_addr": at,
                    "dst.step_elem": (1,),
                    "dst.num_elem": (3,),
                },
            )
            at += 3 * DTYPE_BYTES[out]
    return program


def _tuples(rng: np.random.Generator, counts: NDArray) -> Words:
    """Tuples of an Aggregate, the first of which has these counts; others count little or 0.

    Of all together the number is that of the first, so that each channel has a reciprocal of its
    own; means are often close to each other.
    """
    words = corner_words(rng, (MAX_CHANNELS, ELEMENTS))
    tuples = words[:, : ELEMENTS // STATISTICS * STATISTICS].reshape(MAX_CHANNELS, -1, STATISTICS)
    few = rng.integers(0, 3, tuples.shape[:2]).astype(np.float32).view(np.uint32)
    tuples[:, :, 0] = np.where(rng.random(MAX_CHANNELS)[:, None] < 0.5, 0, few)
    integers = counts.dtype != np.uint32
    tuples[:, 0, 0] = counts.astype(np.float32).view(np.uint32) if integers else counts
    close = rng.random(tuples.shape[:2]) < 0.5
    near = partners(rng, np.repeat(tuples[:, :1, 1], tuples.shape[1], axis=1))
    tuples[:, :, 1] = np.where(close, near, tuples[:, :, 1])
    return words


def _forward(opcode: Opcode, count: int, out: Dtype, at: int, results: int) -> bytes:
    return encode(
        opcode,
        {
            "in_dtype": Dtype.FP32,
            "out_dtype": out,
            "num_active_channels": MAX_CHANNELS,
            "src.start_addr": _SRC0,
            "src.step_elem": (1, 0, 0, 0),
            "src.num_elem": (count, 1, 1, 1),
            "dst.start_addr": at,
            "dst.step_elem": (1, 0),
            "dst.num_elem": (results, 1),
        },
    )


def _moments(count: int) -> bytes:
    """Stats and Stats2 of the first elements, for each result type."""
    program, at = b"", _RESULTS
    for out in (Dtype.FP32, Dtype.BF16, Dtype.FP16):
        program += _forward(Opcode.BATCH_NORM_STATS, count, out, at, 3)
        program += _forward(Opcode.BATCH_NORM_STATS2, count, out, at + 16, 6)
        at += 64
    return program


def _aggregates(tuples: int) -> bytes:
    """One Aggregate for each result type."""
    return b"".join(
        _forward(Opcode.BATCH_NORM_AGGREGATE, STATISTICS * tuples, out, _RESULTS + 16 * at, 2)
        for at, out in enumerate((Dtype.FP32, Dtype.BF16, Dtype.FP16))
    )


def _walk(name: str, offset: int, count: int) -> dict[str, int | tuple[int, ...]]:
    return {
        f"{name}.start_addr": offset,
        f"{name}.step_elem": (1, 0, 0),
        f"{name}.num_elem": (count, 1, 1),
    }
