"""Aggregate on the whole engine, against batchnorm.md section 10 in numpy's float32.

Every operation of the section is one float32 operation of numpy, which rounds as IEEE 754 does.
"""

import numpy as np
import pytest
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Dtype, Opcode
from dve_rtl.config import EngineConfig
from engine_bench import PARTITIONS
from statistics_bench import CONFIGS as STATISTICS_CONFIGS
from statistics_bench import F32, RESULTS_AT, SMALL, bits, fold, machine_of, run

CONFIGS = STATISTICS_CONFIGS | {
    "one lane, products of four clocks": EngineConfig(**SMALL, lanes=1, mul_latency=4)
}


def expected(tuples, share=lambda n: F32(1) / n):
    """Mean and variance; ``share`` is recip(n), which is 1/n but for what a program loads."""
    counts, means, nvars = tuples[0::3], tuples[1::3], tuples[2::3]
    n = fold(counts)
    recip = share(n)
    mean = fold(counts * means) * recip
    d = means - mean
    return [mean, (fold(nvars) + fold(counts * (d * d))) * recip]


def record(tuples, at, channels=PARTITIONS, dtype=Dtype.FP32):
    return encode(
        Opcode.BATCH_NORM_AGGREGATE,
        {
            "src.start_addr": 0,
            "src.step_elem": (1, 3, 1, 1),
            "src.num_elem": (3, tuples, 1, 1),
            "in_dtype": dtype,
            "out_dtype": Dtype.FP32,
            "num_active_channels": channels,
            "dst.start_addr": RESULTS_AT + 4 * at,
            "dst.step_elem": (1, 1),
            "dst.num_elem": (2, 1),
        },
    )


def statistics(rng, parts):
    """Per channel tuples of different kinds of counts; several channels share a total."""
    x = rng.normal(size=(PARTITIONS, parts, 3)).astype(F32)
    x[:, :, 2] = np.abs(x[:, :, 2]) * 100
    x[0, :, 0] = rng.integers(1, 200 // parts + 1, parts)  # an entry of the Parameter RAM
    x[1:4, :, 0] = rng.integers(100, 300, parts)  # a general reciprocal, mostly
    x[4, :, 0] = -x[1, :, 0]
    x[5, :, 0] = rng.normal(size=parts).astype(F32)
    x[6, :, 0] = 0
    x[7, :, 0] = 256 // parts
    x[2, :, 1] += F32(1e6)
    return x.reshape(PARTITIONS, 3 * parts)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_short_length(config):
    lengths = (1, 2, 9)
    x = statistics(np.random.default_rng(63), max(lengths))
    records = [record(n, 2 * i) for i, n in enumerate(lengths)]
    result = run(config, machine_of(x), records)
    results = result.sbuf.view(np.uint32)[:, RESULTS_AT // 4 :]
    for i, n in enumerate(lengths):
        for channel in range(PARTITIONS):
            got = results[channel, 2 * i : 2 * i + 2].tolist()
            assert got == bits(expected(x[channel, : 3 * n])).tolist(), (n, channel)
    assert not result.lane_state.any()  # nothing of it is lane state
