"""Operands at which an operator, a conversion, a shift or a predicate changes its mind.

Every operator meets all pairs of special numbers; every type is narrowed at the borders of its
codes, under each control value; every type is converted to every other one; every bit-vector
operator shifts by counts about the width; predicates have a single bit, or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from dve_golden.isa.codec import Fields, encode
from dve_golden.isa.control import CONTROL_WORDS, IEEE_EMAX_E4M3, OCP_EMAX_E4M3
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    INTEGER_DTYPES,
    PLAIN_DTYPES,
    RESULT_DTYPES,
    Dtype,
    Opcode,
)
from dve_golden.isa.operators import GENERAL_ARITHMETIC, GENERAL_BITVECTOR, AluOp
from dve_rtl.config import EngineConfig
from numpy.typing import NDArray

from dve_cosim.numeric_corners import corner_words
from dve_cosim.state import ArchState
from dve_cosim.workloads import Workload, random_control

Words = NDArray[np.uint32]

ELEMENTS = 64
"""Of an operand: at most 256 bytes of a partition."""

_SRC0, _SRC1, _RESULTS, _END = 0x000, 0x100, 0x200, 0x400

_ANY, _ONE = 0x7FC00001, 0x3F800000
_MAGNITUDES = (
    *(0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x00800001),  # where subnormals end
    *(0x1FFFFFFF, 0x20000000, 0x3F000000, 0x3F7FFFFF, _ONE, 0x3F800001, 0x40000000),
    *(0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x5F7FFFFF, 0x5F800000),
    *(0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, _ANY),
)
SPECIALS = tuple(sign | bits for sign in (0, 0x80000000) for bits in _MAGNITUDES)
"""binary32 patterns of every class, where sums, products and comparisons change."""

_BORDERS = {
    Dtype.FP8_EXP3: (4, -6, 5),  # fraction bits, exponent of the last place, largest exponent
    Dtype.FP8_EXP4: (3, -9, 9),
    Dtype.FP8_EXP5: (2, -16, 16),
    Dtype.FP16: (10, -24, 16),
    Dtype.BF16: (7, -133, 128),
    Dtype.FP32R: (13, -139, 128),
}
"""Of each shorter float; the last place is that of subnormal numbers, the largest exponent is one
beyond its numbers'."""


def operator_corners(seed: int, config: EngineConfig) -> Workload:
    """Programs of S3S3D3_TT at those operands; they want 1,024 bytes of SBUF."""
    rng = np.random.default_rng(seed)
    workload = Workload()
    _operators(workload, rng, config)
    _borders(workload, rng, config)
    _conversions(workload, rng, config)
    _shifts(workload, rng, config)
    _predicates(workload, rng, config)
    return workload


def _operators(workload: Workload, rng: np.random.Generator, config: EngineConfig) -> None:
    pairs = np.array(list(product(SPECIALS, repeat=2)), np.uint32)
    channels = -(-len(pairs) // ELEMENTS)
    shape = (channels, ELEMENTS)
    state = _state(config, rng, *(np.resize(pairs[:, side], shape) for side in range(2)))
    types = (Dtype.FP32, Dtype.FP32)
    records = [
        (Dtype.FP32, _arithmetic(op, channels, *types))
        for op in sorted(GENERAL_ARITHMETIC[config.generation])
    ]
    workload.append(state, _programs(records))


def _borders(workload: Workload, rng: np.random.Generator, config: EngineConfig) -> None:
    """Every narrow type at the middles between its codes, and where it ends."""
    channels = 8
    for control in _controls():
        columns = [_near(rng, dtype, (channels, ELEMENTS)) for dtype in sorted(RESULT_DTYPES)]
        for dtype, words in zip(sorted(RESULT_DTYPES), columns, strict=True):
            state = _state(config, rng, words, words)
            state.control[:] = control
            record = _arithmetic(AluOp.BYPASS, channels, Dtype.FP32, Dtype.FP32)
            workload.append(state, _programs([(dtype, record)]))


def _controls() -> Iterator[Words]:
    """The words of cayman after reset, then with one other than that, then all others."""
    usual = np.zeros(len(CONTROL_WORDS), np.uint32)
    single = np.eye(len(CONTROL_WORDS), dtype=np.uint32)
    for words in (usual, *single, usual + 1):
        words[0] = (IEEE_EMAX_E4M3, OCP_EMAX_E4M3)[words[0]]
        yield words


def _near(rng: np.random.Generator, dtype: Dtype, shape: tuple[int, ...]) -> Words:
    """binary32 numbers at the middle between two values of a type, or one step from it."""
    if dtype is Dtype.FP32:
        return corner_words(rng, shape)
    if dtype in INTEGER_DTYPES:
        bits = 8 * DTYPE_BYTES[dtype]
        edge = rng.choice((0.0, 2.0 ** (bits - 1), 2.0**bits), shape) + rng.integers(-4, 5, shape)
        middles = (edge + rng.choice((0.0, 0.5), shape)) * rng.choice((1, -1), shape)
    else:
        fraction, lowest, highest = _BORDERS[dtype]
        exponent = rng.integers(lowest - 2, highest + 1, shape)
        ulp = np.ldexp(1.0, np.maximum(exponent - fraction, lowest))
        code = rng.integers(0, 2 << fraction, shape)
        middles = (code + rng.choice((0.0, 0.5), shape)) * ulp * rng.choice((1, -1), shape)
    with np.errstate(over="ignore"):
        words = middles.astype(np.float32).view(np.uint32)
    stepped = words + rng.integers(-1, 2, shape).astype(np.uint32)
    return np.where(rng.random(shape) < 0.05, rng.choice(SPECIALS, shape), stepped).astype("u4")


def _conversions(workload: Workload, rng: np.random.Generator, config: EngineConfig) -> None:
    """Every type to every other one, in 0x41 and, where it is legal, in 0x99."""
    channels = 4
    for source in sorted(PLAIN_DTYPES):
        words = rng.integers(0, 1 << 32, (channels, ELEMENTS), np.uint32)
        if source is Dtype.FP32:
            words = corner_words(rng, words.shape)
        state = _state(config, rng, np.full_like(words, 0x01010101), words)
        state.control[:] = random_control(rng)
        both: list[tuple[Dtype, tuple[Opcode, Fields]]] = []
        for result in sorted(RESULT_DTYPES):
            both.append((result, _arithmetic(AluOp.MAX, channels, source, source)))
            if result in PLAIN_DTYPES:
                both.append((result, _predicated(channels, Dtype.INT8, source)))
        workload.append(state, _programs(both))


def _shifts(workload: Workload, rng: np.random.Generator, config: EngineConfig) -> None:
    channels = 4
    for dtype in sorted(INTEGER_DTYPES):
        size = DTYPE_BYTES[dtype]
        bits = 8 * size
        edges = (0, 1, 2, 7, bits // 2, bits - 1, bits, bits + 1, bits + 8, 128, 255)
        high = (0, 1 << bits - 1, 1 << bits // 2)
        counts = rng.choice(edges, (channels, ELEMENTS)) | rng.choice(
            high, (channels, ELEMENTS), p=(0.8, 0.1, 0.1)
        )
        data = rng.integers(0, 1 << 32, (channels, ELEMENTS), np.uint32)
        state = _state(config, rng, data, counts.astype(f"<u{size}"))
        records = [
            (dtype, (Opcode.TENSOR_TENSOR_BITVEC_OP, _fields(channels, dtype, dtype) | {"op": op}))
            for op in sorted(GENERAL_BITVECTOR)
        ]
        workload.append(state, _programs(records))


def _predicates(workload: Workload, rng: np.random.Generator, config: EngineConfig) -> None:
    channels = 4
    for flag in sorted(INTEGER_DTYPES):
        size = DTYPE_BYTES[flag]
        single = np.uint64(1) << rng.integers(0, 8 * size, (channels, ELEMENTS)).astype(np.uint64)
        flags = (single * (rng.random(single.shape) < 0.5)).astype(f"<u{size}")
        state = _state(config, rng, flags, rng.integers(0, 1 << 32, flags.shape, np.uint32))
        records: list[tuple[Dtype, tuple[Opcode, Fields]]] = [
            (result, _predicated(channels, flag, data))
            for data, result in (
                *((dtype, dtype) for dtype in (Dtype.INT8, Dtype.BF16, Dtype.FP32)),
                *((Dtype.FP32, Dtype.FP16), (Dtype.FP8_EXP4, Dtype.INT32)),
            )
        ]
        workload.append(state, _programs(records))


# records


def _arithmetic(op: AluOp, channels: int, src0: Dtype, src1: Dtype) -> tuple[Opcode, Fields]:
    return Opcode.TENSOR_TENSOR_ARITH_OP, _fields(channels, src0, src1) | {"op": int(op)}


def _predicated(channels: int, flag: Dtype, data: Dtype) -> tuple[Opcode, Fields]:
    return Opcode.CAST_PREDICATED, _fields(channels, flag, data)


def _fields(channels: int, src0: Dtype, src1: Dtype) -> Fields:
    return {
        "in0_in1_dtype.lo": int(src0),
        "in0_in1_dtype.hi": int(src1),
        "num_active_channels": channels,
        **_walk("src0", _SRC0),
        **_walk("src1", _SRC1),
    }


def _walk(name: str, offset: int) -> Fields:
    return {
        f"{name}.start_addr": offset,
        f"{name}.step_elem": (1, 0, 0),
        f"{name}.num_elem": (ELEMENTS, 1, 1),
    }


def _programs(records: list[tuple[Dtype, tuple[Opcode, Fields]]]) -> Iterator[bytes]:
    """Programs of as many records as their results have room beside each other."""
    program, at = b"", _RESULTS
    for result, (opcode, fields) in records:
        size = ELEMENTS * DTYPE_BYTES[result]
        if at + size > _END:
            yield program
            program, at = b"", _RESULTS
        program += encode(opcode, fields | {"out_dtype": int(result)} | _walk("dst", at))
        at += size
    yield program


def _state(
    config: EngineConfig, rng: np.random.Generator, src0: NDArray, src1: NDArray
) -> ArchState:
    """Sources in the first channels, noise where results go."""
    state = ArchState.reset(config)
    state.sbuf[:, _RESULTS:_END] = rng.integers(
        0, 256, (len(state.sbuf), _END - _RESULTS), np.uint8
    )
    for offset, elements in ((_SRC0, src0), (_SRC1, src1)):
        data = np.ascontiguousarray(elements).view(np.uint8)
        state.sbuf[: len(data), offset : offset + data.shape[1]] = data
    return state
