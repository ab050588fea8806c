"""The backward pass as instructions alone: coefficients line by line, plans, rectifier, steps."""

import numpy as np
import pytest
from dve_golden.batchnorm import GoldenEngine, Layer, backward, reference
from dve_golden.batchnorm.accuracy import relative_errors
from dve_golden.batchnorm.columns import Row
from dve_golden.batchnorm.layout import Image
from dve_golden.batchnorm.on_engine import EngineBackward
from dve_golden.batchnorm.partials import Partials
from dve_golden.batchnorm.plan import MAX_TILE_ELEMENTS, Plan
from dve_golden.batchnorm.step import Extent, OverlapError, Step, merge, require_apart
from dve_golden.isa.codec import decode
from dve_golden.isa.enums import Dtype, Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import assemble, split_records
from dve_golden.machine import Machine
from dve_golden.program import ProgramBuilder

F = np.float32


def layer_of(shape, seed=1, *, dtype="fp32", **relu):
    rng = np.random.default_rng(seed)
    axes = (0, *range(2, len(shape)))
    x = (rng.normal(size=shape) + 3).astype(F)
    exact = x.astype(np.float64)
    return Layer.from_arrays(
        rng.normal(size=shape).astype(F),
        x,
        exact.mean(axis=axes) * (1 + 2.0**-12),
        rng.normal(size=shape[1]),
        inv_std=1 / np.sqrt(exact.var(axis=axes)),
        dtype=dtype,
        **relu,
    )


class Recorder(GoldenEngine):
    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.steps = []

    def execute(self, step):
        self.steps.append(step)
        return super().execute(step)


def mix(program):
    """How often each opcode occurs."""
    codes, counts = np.unique(np.frombuffer(program, np.uint8)[::64], return_counts=True)
    return {Opcode(int(code)): int(count) for code, count in zip(codes, counts, strict=True)}


def columns_of(engine, job, width):
    """The columns of the only group, [128, rows, channel tiles]."""
    size = len(Row) * width * 4
    tensor = next(t for t in job.program.assembly().splitlines() if "columns0" in t)
    offset = int(tensor.split(":")[1].split("]")[0], 16)
    return engine.machine.sbuf[:, offset : offset + size].copy().view("<f4").reshape(128, -1, width)


@pytest.mark.parametrize("mean_coupling", [True, False])
@pytest.mark.parametrize("channels", [5, 300])
def test_coefficients_are_the_lines_of_the_specification(channels, mean_coupling):
    """batchnorm.md section 9, "Engine": each line one binary32 rounding."""
    layer = layer_of((20, channels))
    engine = Recorder()
    job = EngineBackward(layer, engine, mean_coupling=mean_coupling)
    gradients = job.run()
    width = -(-channels // 128)
    columns = columns_of(engine, job, width)

    def row(which):
        return columns[:, which].T.ravel()[:channels]

    r = F(1) / F(20)
    assert row(Row.RECIPROCAL).tolist() == [r] * channels
    s = row(Row.COUPLING) * r
    d = row(Row.RAW_D_GAMMA) - s * row(Row.D_BETA) if mean_coupling else row(Row.RAW_D_GAMMA)
    b = row(Row.D_BETA) - d * s if mean_coupling else row(Row.D_BETA)
    c, a = d * layer.inv_std, layer.gamma * layer.inv_std
    np.testing.assert_array_equal(gradients.d_gamma, d)
    np.testing.assert_array_equal(gradients.d_beta, row(Row.D_BETA))
    loaded = engine.machine.lane_state[: channels - 128 * (width - 1)]
    last = slice(128 * (width - 1), channels)
    expected = (np.full(channels, 20, F), layer.mean, a, b, c)
    for field, values in enumerate(expected):
        np.testing.assert_array_equal(loaded[:, field], values[last])


@pytest.mark.parametrize(("mean_coupling", "coefficients"), [(True, 5), (False, 1)])
def test_channel_tiles_share_the_instructions_of_the_coefficients(mean_coupling, coefficients):
    """Batch 4, 256 channels, 14 x 14."""
    layer = layer_of((4, 256, 14, 14))
    job = EngineBackward(layer, GoldenEngine(), mean_coupling=mean_coupling)
    job.run()
    assert job.plan == Plan(2, 1, 784, 2, True, 0)
    assert mix(job.program.encode()) == {
        Opcode.TENSOR_TENSOR_ARITH_OP: coefficients,
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2: 2,
        Opcode.BATCH_NORM_PARAM_LOAD2: 2,
        Opcode.BATCH_NORM_BACK_PROP: 2,
    }


@pytest.mark.parametrize("tiles", range(2, 40))
def test_partial_sums_are_added_in_a_tree(tiles):
    """Powers of two add without rounding: every sum arrives exactly once, in few instructions."""
    b, capacity = ProgramBuilder(), min(tiles, 9)
    partials = Partials(b, "partials", 2, capacity, 4)
    total = b.sbuf("total", 2, (3, 4))
    sums = b.sbuf("sums", 2, (tiles, 3, 4))
    b.written_by_host(sums)
    for tile in range(tiles):
        for column in range(4):
            b.tensor_tensor(
                partials.place_of(column), sums[tile, :, column], sums[tile, :, column], "bypass"
            )
        if tile + 1 < tiles:
            partials.next_element_tile()
    moves = len(b)
    partials.finish(total.view)
    machine = Machine()
    values = np.ones((tiles, 3, 4), F) * np.arange(1, 13, dtype=F).reshape(3, 4)
    machine.sbuf[:2, sums.offset : sums.offset + 48 * tiles] = values.view(np.uint8).ravel()
    machine.run(b.encode())
    got = machine.sbuf[1, total.offset : total.offset + 48].copy().view("<f4")
    np.testing.assert_array_equal(got.reshape(3, 4), tiles * values[0])
    assert len(b) - moves <= np.ceil(np.log2(capacity))
    if tiles == capacity:
        assert moves == 4 * tiles
        assert len(b) - moves == np.ceil(np.log2(tiles))


@pytest.mark.parametrize(
    ("sbuf_bytes", "shape"),
    [(448, (9, 5)), (512, (45, 3)), (512, (45, 300)), (1024, (50, 130)), (4096, (2000, 2))],
)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_any_memory_gives_the_gradients(sbuf_bytes, shape, dtype):
    """Streamed, resident in halves, or whole: the errors stay, the last bits may differ."""
    layer = layer_of(shape, dtype=dtype)
    engine = Recorder(sbuf_bytes=sbuf_bytes)
    job = EngineBackward(layer, engine)
    found = relative_errors(layer, job.run(), reference(layer))
    assert max(found.d_gamma, found.d_beta) <= 2.0**-21
    assert found.d_x <= (2.0**-21 if dtype == "fp32" else 2.0**-7)
    assert len(engine.steps) == job.plan.steps
    assert b"".join(step.program for step in engine.steps) == job.program.encode()
    assert sum(step.elements for step in engine.steps) == 2 * layer.x.size


def span(fields, operand, size):
    """First byte and end of what an operand touches in a partition, for steps of any sign."""
    start = fields[f"{operand}.start_addr"]
    walk = list(zip(fields[f"{operand}.step_elem"], fields[f"{operand}.num_elem"], strict=True))
    ends = [size * step * (count - 1) for step, count in walk]
    return (
        start + sum(min(end, 0) for end in ends),
        start + sum(max(end, 0) for end in ends) + size,
        (start, walk),
    )


@pytest.mark.parametrize("mean_coupling", [True, False])
@pytest.mark.parametrize("relu", [{}, {"fuse_relu": True, "beta": np.zeros(300)}])
@pytest.mark.parametrize("sbuf_bytes", [1024, 1 << 16])
def test_no_instruction_is_serial(sbuf_bytes, relu, mean_coupling):
    """A source is apart from all of the destination, or the same walk: one element per clock."""
    layer = layer_of((60, 300), **relu)
    job = EngineBackward(layer, Recorder(sbuf_bytes=sbuf_bytes), mean_coupling=mean_coupling)
    job.run()
    sizes = {Dtype.FP32: 4, Dtype.UINT8: 1}
    for record in split_records(job.program.encode()):
        opcode, fields = decode(record)
        if "src1.start_addr" not in fields or "out_dtype" not in fields:
            continue
        low, high, walk = span(fields, "dst", sizes[Dtype(fields["out_dtype"])])
        for operand, dtype in (("src0", "in0_in1_dtype.lo"), ("src1", "in0_in1_dtype.hi")):
            first, end, source = span(fields, operand, sizes[Dtype(fields[dtype])])
            assert end <= low or high <= first or source == walk, (opcode, operand)


def test_large_channels_are_cut_into_equal_tiles():
    assert Plan.fit(layer_of((8193, 1)), 1 << 18).tile_elements == 4104
    plan = Plan.fit(layer_of((20000, 1)), 1 << 18)
    assert (plan.element_tiles, plan.tile_elements, plan.resident) == (3, 6672, True)
    assert plan.tile_elements <= MAX_TILE_ELEMENTS
    streamed = Plan.fit(layer_of((20000, 1)), 1 << 16)
    assert (streamed.element_tiles, streamed.tile_elements, streamed.resident) == (5, 4000, False)


def test_merged_steps_compute_the_same():
    """What the co-simulation runs: fewer runs, all images of a run placed first."""
    for sbuf_bytes, shape in ((768, (45, 300)), (2048, (50, 300)), (1 << 16, (4, 256, 5))):
        layer = layer_of(shape, fuse_relu=True, relu_mask=np.ones(shape, np.uint8))
        engine = Recorder(sbuf_bytes=sbuf_bytes)
        EngineBackward(layer, engine).run()
        merged = list(merge(engine.steps))
        assert len(merged) < len(engine.steps)
        again = Machine(sbuf_bytes=sbuf_bytes)
        for step in merged:
            for image in step.images:
                image.place(again.sbuf)
            again.run(step.program)
        np.testing.assert_array_equal(again.sbuf, engine.machine.sbuf)
        np.testing.assert_array_equal(again.lane_state, engine.machine.lane_state)


def test_streamed_tiles_take_turns():
    """The images of a step lie apart from all that the step before it uses."""
    layer = layer_of((200, 3))
    engine = Recorder(sbuf_bytes=512)
    job = EngineBackward(layer, engine)
    job.run()
    assert not job.plan.resident
    # The parameters come with the first tile, and no tile follows another in one buffer.
    assert not any(b.disturbs(a) for a, b in zip(engine.steps, engine.steps[1:], strict=False))
    assert any(c.disturbs(a) for a, c in zip(engine.steps, engine.steps[2:], strict=False))


@pytest.mark.parametrize("sbuf_bytes", [512, 1024, 1 << 16])
@pytest.mark.parametrize("relu", [None, "mask", "beta"])
@pytest.mark.parametrize("shape", [(200, 3), (6, 131), (45, 300)])
def test_the_host_may_work_beside_every_plan(sbuf_bytes, relu, shape):
    operands = {
        None: {},
        "mask": {"fuse_relu": True, "relu_mask": np.ones(shape, np.uint8)},
        "beta": {"fuse_relu": True, "beta": np.zeros(shape[1])},
    }[relu]
    layer = layer_of(shape, **operands)
    engine = Recorder(sbuf_bytes=sbuf_bytes)
    EngineBackward(layer, engine).run()
    require_apart(engine.steps)


def test_steps_that_meet_in_memory_are_refused():
    image = Image(16, np.zeros((1, 8), np.uint8))
    uses = Step((), bytes(64), 0, (range(20, 24),))
    reads = Step((), bytes(64), 0, (), (Extent(1, range(12, 18)),))
    writes = Step((), bytes(64), 0, (), (), (range(17, 40),))
    places = Step((image,), bytes(64), 0)
    require_apart([places, uses, reads, uses, writes])
    for earlier, message in (
        (uses, "step 2 is placed on bytes 20 to 23 of a partition, which step 1 needs"),
        (reads, "step 2 is placed on bytes 16 to 17 of a partition, which step 1 needs"),
        (writes, "step 2 is placed on bytes 17 to 23 of a partition, which step 1 needs"),
    ):
        with pytest.raises(OverlapError, match=message):
            require_apart([uses, earlier, places])
    with pytest.raises(OverlapError, match=r"step 1 writes bytes 17 to 17 .* results of step 0"):
        require_apart([reads, writes])


@pytest.mark.parametrize("sbuf_bytes", [1024, 1 << 16])
def test_given_mask(sbuf_bytes):
    """The gradients are those of a dy that is 0 where the mask is, sign and NaN included."""
    layer = layer_of((60, 130))
    mask = np.random.default_rng(2).integers(0, 3, layer.x.shape).astype(np.uint8)
    operands = layer.arguments()
    operands["dy"][mask == 0] = np.nan
    masked = dict(operands)
    masked["dy"] = np.where(mask, operands["dy"], F(0))
    got = backward(**operands, fuse_relu=True, relu_mask=mask, sbuf_bytes=sbuf_bytes)
    alone = backward(**operands, fuse_relu=True, relu_mask=mask != 0, sbuf_bytes=sbuf_bytes)
    expected = reference(Layer.from_arrays(**masked))
    found = relative_errors(Layer.from_arrays(**masked), got, expected)
    assert max(found) <= 2.0**-20
    for left, right in zip(got, alone, strict=True):
        np.testing.assert_array_equal(left, right)
    if sbuf_bytes == 1 << 16:
        plain = backward(**masked)
        for left, right in zip(got, plain, strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("sbuf_bytes", [1024, 1 << 16])
def test_mask_formed_again(sbuf_bytes, dtype):
    """beta > (mean - x) A in binary32, worked out here with numpy, against a given mask."""
    layer = layer_of((60, 130), dtype=dtype)
    beta = np.random.default_rng(3).normal(size=130).astype(F)
    a = layer.gamma * layer.inv_std
    passes = beta > (layer.mean - layer.x) * a
    assert 0.2 < passes.mean() < 0.8
    operands = layer.arguments() | {"fuse_relu": True, "sbuf_bytes": sbuf_bytes}
    got = backward(**operands, beta=beta)
    given = backward(**operands, beta=beta, relu_mask=passes)
    if sbuf_bytes == 1 << 16:  # otherwise the tiles differ, and the last bits of the sums
        for left, right in zip(got, given, strict=True):
            np.testing.assert_array_equal(left, right)
    checked = Layer.from_arrays(**layer.arguments(), fuse_relu=True, beta=beta)
    found = relative_errors(checked, got, reference(checked))
    assert max(found) <= (2.0**-20 if dtype == "fp32" else 2.0**-7)


def test_gradient_of_zero_output_is_stopped():
    """gamma x_norm + beta = 0 is not above 0; the smallest number above it is."""
    x = np.array([[1.0], [2.0], [3.0]], F)
    operands = {"dy": np.ones_like(x), "x": x, "mean": [2], "gamma": [1], "inv_std": [1]}
    at_zero = backward(**operands, fuse_relu=True, beta=[-1])
    above = backward(**operands, fuse_relu=True, beta=[np.nextafter(F(-1), F(0))])
    assert (at_zero.d_beta.tolist(), above.d_beta.tolist()) == ([0], [1])


def test_mask_without_relu_is_checked_and_not_used():
    layer = layer_of((6, 2))
    mask = np.zeros(layer.x.shape, np.uint8)
    for left, right in zip(
        backward(**layer.arguments()), backward(**layer.arguments(), relu_mask=mask), strict=True
    ):
        np.testing.assert_array_equal(left, right)
    with pytest.raises(ValueError, match="relu_mask must be bool or uint8, got int64"):
        backward(**layer.arguments(), relu_mask=mask.astype(np.int64))


@pytest.mark.parametrize(
    ("relu", "message"),
    [
        ({}, "fuse_relu needs relu_mask, or beta"),
        ({"relu_mask": np.zeros((6, 3), bool)}, r"the shape of x, \(6, 2\), got \(6, 3\)"),
        ({"relu_mask": np.zeros((6, 2), F)}, "bool or uint8, got float32"),
        ({"beta": [1, 2, 3]}, r"beta must have shape \(2,\), got \(3,\)"),
        ({"beta": [1, np.inf]}, "beta must be finite"),
    ],
)
def test_bad_rectifiers(relu, message):
    with pytest.raises(ValueError, match=message):
        backward(**layer_of((6, 2)).arguments(), fuse_relu=True, **relu)


@pytest.mark.parametrize("generation", [None, *Generation])
def test_generations_give_the_same_bits(generation):
    layer = layer_of((30, 131))
    got = backward(**layer.arguments(), generation=generation)
    for left, right in zip(got, backward(**layer.arguments()), strict=True):
        np.testing.assert_array_equal(left, right)


def test_program_as_text():
    layer = layer_of((30, 131), fuse_relu=True, beta=np.zeros(131))
    job = EngineBackward(layer, GoldenEngine())
    job.run()
    assert assemble(job.program.assembly()) == job.program.encode()
