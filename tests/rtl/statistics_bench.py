"""What the tests of forward statistics on the whole engine share: engines, runs, float32's fold.

Every operation is one float32 operation of numpy, which rounds as IEEE 754 does.
"""

import numpy as np
from dve_golden.machine import Machine
from dve_rtl.config import EngineConfig
from engine_bench import PARTITIONS, run_portable

F32 = np.float32
NAN = np.uint32(0x7FC0_0000)

SMALL = {"sbuf_bytes": 2048, "psum_bytes": 32}
CONFIGS = {
    "four lanes": EngineConfig(**SMALL, lanes=4),
    "one lane, deep": EngineConfig(
        **SMALL,
        lanes=1,
        beat_bits=64,
        mul_latency=8,
        add_latency=7,
        widen_latency=5,
        narrow_latency=5,
    ),
    "two lanes, shallow": EngineConfig(**SMALL, lanes=2, mul_latency=1, add_latency=1),
}

RESULTS_AT = 1280
"""Byte of a partition from which on results lie."""


def fold(values, partials=range(8)):
    """Sum of the given partials, of which pairs are added, then pairs of pairs."""
    q = [F32(0)] * 8
    for ordinal, value in enumerate(values):
        q[ordinal % 8] = q[ordinal % 8] + value
    level = [q[i] for i in partials]
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=True)]
    return level[0]


def bits(values):
    """Patterns of binary32, NaN canonical."""
    array = np.array(values, F32)
    return np.where(np.isnan(array), NAN, array.view(np.uint32))


def run(config, machine, records):
    result = run_portable(config, machine, b"".join(records))
    assert [reason for _, _, reason in result.completions] == [0] * len(records)
    return result


def machine_of(x):
    machine = Machine(sbuf_bytes=SMALL["sbuf_bytes"], psum_bytes=SMALL["psum_bytes"])
    machine.sbuf.view(F32)[:PARTITIONS, : x.shape[1]] = x
    return machine
