"""Stats and Stats2 on the whole engine, against batchnorm.md section 10 in numpy's float32.

Every operation of the section is one float32 operation of numpy, which rounds as IEEE 754 does.
"""

import numpy as np
import pytest
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Dtype, Opcode
from dve_rtl.config import EngineConfig
from dve_rtl.lane_program import Moments
from dve_rtl.sequencer import statistics_gap
from engine_bench import PARTITIONS
from statistics_bench import CONFIGS, F32, RESULTS_AT, bits, fold, machine_of, run

EVEN, ODD = 100.5, -3.0
"""The count immediates, which are copied and mean nothing to the arithmetic."""


def moments(x, first, step, share):
    """Mean and nvar of the ordinals ``first, first + step, ...``."""
    chosen = x[first::step]
    n = len(chosen)
    if n == 0:
        return [F32(0), F32(0)]
    s = [
        value - chosen[0] if ordinal % step == first else F32(0) for ordinal, value in enumerate(x)
    ]
    quarters = {1: range(8), 2: range(first, 8, 2)}[step]
    m = fold(s, quarters) * share(n)
    squares = fold([value * value for value in s], quarters)
    return [chosen[0] + m, squares - F32(n) * (m * m)]


def expected(opcode, x, share):
    if opcode is Opcode.BATCH_NORM_STATS:
        return [F32(EVEN), *moments(x, 0, 1, share)]
    return [F32(EVEN), *moments(x, 0, 2, share), F32(ODD), *moments(x, 1, 2, share)]


def record(opcode, n, at, channels=PARTITIONS, dtype=Dtype.FP32, step=1, address=0):
    results = 3 if opcode is Opcode.BATCH_NORM_STATS else 6
    return encode(
        opcode,
        {
            "src.start_addr": address,
            "src.step_elem": (step, 1, 1, 1),
            "src.num_elem": (n, 1, 1, 1),
            "in_dtype": dtype,
            "out_dtype": Dtype.FP32,
            "num_active_channels": channels,
            "even_count": F32(EVEN).view(np.uint32).item(),
            "odd_count": F32(ODD).view(np.uint32).item(),
            "dst.start_addr": RESULTS_AT + 4 * at,
            "dst.step_elem": (1, 1),
            "dst.num_elem": (results, 1),
        },
    )


def tabulated(n):
    return F32(1) / F32(n)


def difficult(rng, count):
    """Channels of several scales, of means far from zero, of one value, and with specials."""
    x = rng.normal(size=(PARTITIONS, count)).astype(F32)
    x[1] += F32(1e6)
    x[2] *= F32(1e30)
    x[3] = F32(-0.0)
    x[4] = F32(3.25)
    x[5] *= np.exp2(rng.integers(-140, 100, count)).astype(F32)
    x[6, rng.integers(count)] = np.inf
    return x


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_short_length(config):
    """Passes so short that the tail of one is the neighbour of the next, and longer ones."""
    lengths = (1, 2, 3, 4, 7, 9)
    x = difficult(np.random.default_rng(60), max(lengths))
    cases, at = [], 0
    for n in lengths:
        for opcode in (Opcode.BATCH_NORM_STATS, Opcode.BATCH_NORM_STATS2):
            cases.append((opcode, n, at))
            at += 6
    records = [record(*case) for case in cases]
    result = run(config, machine_of(x), records)
    results = result.sbuf.view(np.uint32)[:, RESULTS_AT // 4 :]
    for opcode, n, at in cases:
        for channel in range(PARTITIONS):
            want = bits(expected(opcode, x[channel, :n], tabulated))
            got = results[channel, at : at + len(want)]
            assert got.tolist() == want.tolist(), (opcode.name, n, channel)
    assert not result.lane_state.any()  # nothing of it is lane state


def test_largest_counts():
    """256 elements of a half take 1/256, which is no entry of the Parameter RAM."""
    x = np.random.default_rng(61).normal(size=(PARTITIONS, 256)).astype(F32) + F32(5)
    bytewise = x.view(np.int8)[:, :512]
    sizes = {255: x[:, :255], 256: x, 511: bytewise[:, :511], 512: bytewise}
    records, wanted, at = [], [], 0
    for n, source in sizes.items():
        small = n <= 256
        opcode = Opcode.BATCH_NORM_STATS if small else Opcode.BATCH_NORM_STATS2
        dtype = Dtype.FP32 if small else Dtype.INT8
        records.append(record(opcode, n, at, channels=3, dtype=dtype))
        wanted += [(opcode, at, channel, source[channel].astype(F32)) for channel in range(3)]
        at += 6
    config = CONFIGS["four lanes"]
    results = run(config, machine_of(x), records).sbuf.view(np.uint32)
    for opcode, at, channel, values in wanted:
        want = bits(expected(opcode, values, tabulated))
        got = results[channel, RESULTS_AT // 4 + at :][: len(want)]
        assert got.tolist() == want.tolist(), (opcode.name, len(values), channel)
    assert not results[3:, RESULTS_AT // 4 :].any()  # channels that take no part


def test_parameter_ram_as_loaded():
    """1/n is what the Parameter RAM holds, and of an empty half it is not used at all."""
    x = np.random.default_rng(62).normal(size=(PARTITIONS, 8)).astype(F32)
    x[:, 4:6] = (np.nan, 0.75)  # entries 0 and 1, then
    load = encode(
        Opcode.LOAD_PARAMETER_RAM,
        {"addr": 16, "first_entry": 0, "entry_count": 2, "dtype": Dtype.FP32},
    )
    records = [load, record(Opcode.BATCH_NORM_STATS2, 1, 0), record(Opcode.BATCH_NORM_STATS2, 2, 6)]
    config = CONFIGS["four lanes"]
    results = run(config, machine_of(x), records).sbuf.view(np.uint32)
    for at, n in ((0, 1), (6, 2)):
        want = bits(expected(Opcode.BATCH_NORM_STATS2, x[0, :n], lambda n: F32(0.75)))
        assert results[0, RESULTS_AT // 4 + at :][:6].tolist() == want.tolist()


@pytest.mark.parametrize("mul_latency", range(1, 9))
@pytest.mark.parametrize("add_latency", range(1, 8))
def test_no_unit_is_wanted_twice(mul_latency, add_latency):
    config = EngineConfig(mul_latency=mul_latency, add_latency=add_latency)
    t = Moments(config)
    for per_half in (
        (t.MEAN, t.mean_again, t.variance),  # mul1, and the entry a clock before
        (t.add_mean, t.subtract_variance),  # acc2
        (t.count_result, t.count_result + 1, t.count_result + 2),  # narrow
    ):
        clocks = [clock + half * t.odd_half for half in (0, 1) for clock in per_half]
        assert len(set(clocks)) == len(clocks)
    assert t.variance == t.MEAN + 2 * mul_latency
    assert t.count_result + 1 == t.mean_again + mul_latency + 1 + add_latency
    assert statistics_gap(config) >= t.odd_half + t.subtract_variance + 1
