"""Statistics of whole batches by Stats2 and Aggregate: accuracy, memory of any size, errors."""

import numpy as np
import pytest
from dve_golden.batchnorm.engine import GoldenEngine
from dve_golden.batchnorm.statistics import statistics
from dve_golden.isa.enums import Opcode
from dve_golden.isa.generations import Generation


def batch(shape, mean=0.0, std=1.0, seed=0):
    rng = np.random.default_rng([10, seed])
    means = mean * (1 + rng.random(shape[1])).reshape(-1, *(1,) * (len(shape) - 2))
    return (means + std * rng.standard_normal(shape)).astype(np.float32)


def exact(x):
    wide = np.moveaxis(x, 1, 0).reshape(x.shape[1], -1).astype(np.float64)
    return wide.mean(axis=1), wide.var(axis=1)


def check(x, *, tolerance=4e-6, **options):
    """The mean within roundings of the values' scale, the variance relative to itself."""
    found = statistics(x, **options)
    mean, var = exact(x)
    scale = np.abs(mean) + np.sqrt(var)
    assert np.all(np.abs(found.mean - mean) <= tolerance * scale)
    # An error of the mean enters squared.
    assert np.all(np.abs(found.var - var) <= tolerance * var + (tolerance * mean) ** 2)
    return found


class Recorder(GoldenEngine):
    """Keeps the opcodes of each step."""

    def __init__(self, **options):
        super().__init__(**options)
        self.steps = []

    def execute(self, step):
        self.steps.append([step.program[at] for at in range(0, len(step.program), 64)])
        return super().execute(step)


@pytest.mark.parametrize(
    "shape",
    [(1, 1), (2, 3), (7, 5), (32, 16, 8, 8), (3, 130, 5), (2, 2, 3, 5, 7), (513, 2), (1, 1, 70001)],
)
def test_shapes(shape):
    found = check(batch(shape))
    assert found.mean.shape == found.var.shape == (shape[1],)
    assert found.mean.dtype == found.var.dtype == np.float32


@pytest.mark.parametrize("mean", [1.0, -100.0, 1e4, 1e6])
def test_means_far_from_zero(mean):
    check(batch((64, 3, 10, 10), mean=mean))


def test_equal_elements_have_no_variance():
    x = np.full((9, 2, 100), 3, np.float32)
    found = statistics(x)
    assert found.mean.tolist() == [3, 3]
    assert found.var.tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_elements_of_two_bytes(dtype):
    x = batch((40, 4, 6, 6), mean=3.0)
    check(x.astype(np.float16).astype(np.float32) if dtype == "fp16" else truncated(x), dtype=dtype)


def truncated(x):
    """Values that bf16 holds."""
    return (x.view(np.uint32) & 0xFFFF_0000).view(np.float32)


@pytest.mark.parametrize("sbuf_bytes", [256, 1024, 4096, 65536])
def test_memories_of_any_size(sbuf_bytes):
    x = batch((5, 3, 4001), mean=2.0)
    engine = Recorder(sbuf_bytes=sbuf_bytes)
    check(x, backend=engine, tolerance=2e-5)
    opcodes = [opcode for step in engine.steps for opcode in step]
    aggregates = opcodes.count(Opcode.BATCH_NORM_AGGREGATE)
    # One at the end; small memories make one set of all before, now and then.
    assert (aggregates == 1) == (sbuf_bytes == 65536)
    assert opcodes.count(Opcode.TENSOR_TENSOR_ARITH_OP) == 2 * (aggregates - 1)


def test_a_small_batch_is_one_step():
    engine = Recorder()
    statistics(batch((2, 3, 600)), backend=engine)
    stats2, aggregate = Opcode.BATCH_NORM_STATS2, Opcode.BATCH_NORM_AGGREGATE
    assert engine.steps == [[stats2, stats2, stats2, aggregate]]


class ResultsAlone(GoldenEngine):
    """What the host did not ask for is other numbers, as after a real transfer."""

    def execute(self, step):
        sbuf = np.full_like(super().execute(step), 0xA5)
        for extent in step.results:
            extent.of(sbuf)[...] = extent.of(self.machine.sbuf)
        return sbuf


@pytest.mark.parametrize("sbuf_bytes", [256, 65536])
def test_the_host_asks_for_all_it_reads(sbuf_bytes):
    x = batch((5, 130, 401))
    want = statistics(x, sbuf_bytes=sbuf_bytes)
    found = statistics(x, backend=ResultsAlone(sbuf_bytes=sbuf_bytes))
    np.testing.assert_array_equal(found, want)


def test_generations_agree():
    x = batch((20, 3, 50))
    want = statistics(x)
    for generation in Generation:
        found = statistics(x, generation=generation)
        np.testing.assert_array_equal(found.mean, want.mean)
        np.testing.assert_array_equal(found.var, want.var)


def test_nan_stays_in_its_channel():
    x = batch((4, 3, 200))
    x[2, 1, 7] = np.nan
    found = statistics(x)
    assert np.isnan(found.mean).tolist() == np.isnan(found.var).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (np.zeros(3), {}, "rank 2 to 5"),
        (np.zeros((2, 0)), {}, "no channels"),
        (np.zeros((0, 2)), {}, "no elements"),
        ([["a"]], {}, "real numbers"),
        (np.zeros((2, 2)), {"dtype": "fp8"}, "dtype must be one of fp32, bf16, fp16"),
        (np.zeros((2, 2)), {"sbuf_bytes": 64}, "64 bytes is too small for a tile"),
        (np.broadcast_to(np.float32(0), ((1 << 24) + 1, 1)), {}, "at most 16777216"),
    ],
)
def test_what_is_refused(x, options, message):
    with pytest.raises(ValueError, match=message):
        statistics(x, **options)
