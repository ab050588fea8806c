"""The main job around its simulator run: same steps on both sides, honest counting."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from dve_cosim.batchnorm_rtl import RtlEngine, engine
from dve_cosim.main_job import run_main_job
from dve_cosim.main_result import Workload
from dve_golden.batchnorm import Layer, backward
from dve_golden.isa.text import assemble
from dve_golden.machine import Machine
from dve_rtl.config import EngineConfig

ROOMY = EngineConfig(sbuf_bytes=1024, psum_bytes=256)
TIGHT = EngineConfig(sbuf_bytes=256, psum_bytes=256, lanes=2)
"""Holds tiles of 16 fp32 elements on the host's path, and two of 8 on the engine's."""


@pytest.fixture
def workload():
    rng = np.random.default_rng(11)
    x, dy = rng.normal(size=(2, 4, 3, 5))
    layer = Layer.from_arrays(dy, x, x.mean(axis=(0, 2)), np.ones(3), inv_std=np.ones(3))
    return Workload("test", layer)


def two_tiles():
    rng = np.random.default_rng(12)
    x, dy = rng.normal(size=(2, 24, 3))
    layer = Layer.from_arrays(dy, x, x.mean(axis=0), np.ones(3), inv_std=np.ones(3))
    return Workload("test", layer)


@pytest.mark.parametrize(("on_engine", "coefficients"), [(True, 5), (False, 0)])
def test_one_program_where_everything_fits(workload, golden_runner, on_engine, coefficients):
    result = run_main_job(workload, config=ROOMY, on_engine=on_engine, run=golden_runner)
    names = ["grad_accumulate2", *["tensor_tensor"] * coefficients, "param_load2", "back_prop"]
    assert [done.name for done in result.instructions] == names
    assert {done.batch for done in result.instructions} == {0}
    assert result.differing_bits == 0
    assert result.first_differences == []
    cycles = 10 * len(names)
    assert (result.elements, result.cycles) == (2 * 20 * 3, cycles)
    assert result.elements_per_lane_cycle == 120 / (8 * cycles)
    assert result.bound_cycles == 2 * 20
    assert result.errors["d_x"].relative < 2.0**-21
    assert [(share.name, share.count, share.cycles) for share in result.mix] == [
        (name, names.count(name), 10 * names.count(name)) for name in dict.fromkeys(names)
    ]
    program = assemble(result.assembly)
    assert [record for record in program[::64]] == [int(d.opcode) for d in result.instructions]


def test_bound_counts_whole_channel_groups(golden_runner):
    x = np.random.default_rng(5).normal(size=(3, 137))
    layer = Layer.from_arrays(x, x, x.mean(axis=0), np.ones(137), inv_std=np.ones(137))
    result = run_main_job(Workload("test", layer), config=ROOMY, run=golden_runner)
    assert result.bound_cycles == 2 * (128 // 8 + 2) * 3
    assert result.differing_bits == 0


def test_fused_rectifier(workload, golden_runner):
    arguments = workload.layer.arguments() | {"fuse_relu": True, "beta": np.zeros(3)}
    fused = Workload("test", Layer.from_arrays(**arguments))
    result = run_main_job(fused, config=ROOMY, run=golden_runner)
    assert (result.differing_bits, result.elements) == (0, 2 * 20 * 3)
    assert {"tensor_tensor": 9, "copy_predicated": 1}.items() <= {
        share.name: share.count for share in result.mix
    }.items()
    with pytest.raises(ValueError, match="needs coefficients on the engine"):
        run_main_job(fused, config=ROOMY, on_engine=False, run=golden_runner)


def test_gradients_are_those_of_backward(workload, golden_runner):
    result = run_main_job(workload, config=ROOMY, mean_coupling=False, run=golden_runner)
    alone = backward(**workload.layer.arguments(), mean_coupling=False)
    for got, expected in zip(result.gradients, alone, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_buffers_that_take_turns_share_a_run(golden_runner):
    """Three tiles in two buffers: the third one needs the buffer of the first."""
    runs = []

    def run(steps, **options):
        runs.append(len(steps))
        return golden_runner(steps, **options)

    result = run_main_job(two_tiles(), config=TIGHT, run=run)
    assert runs == [3 + 1 + 3]
    assert [done.name for done in result.instructions] == [
        *["grad_accumulate2"] * 2,
        *["tensor_tensor", "grad_accumulate2", *["tensor_tensor"] * 6, "param_load2"],
        *["back_prop"] * 3,
    ]
    assert {done.batch for done in result.instructions} == {0}
    assert result.differing_bits == 0
    assert result.elements == 2 * 24 * 3


def test_tiles_need_several_runs(golden_runner):
    result = run_main_job(two_tiles(), config=TIGHT, on_engine=False, run=golden_runner)
    assert [(done.batch, done.name) for done in result.instructions] == [
        (0, "grad_accumulate2"),
        (1, "grad_accumulate2"),
        (2, "param_load2"),
        (2, "back_prop"),
        (3, "back_prop"),
    ]
    assert result.differing_bits == 0
    assert result.elements == 2 * 24 * 3


def test_a_wrong_bit_is_counted_once_and_named(golden_runner):
    """The next batch starts from golden's state, whatever the RTL has left."""

    def broken(steps, **options):
        result = golden_runner(steps, **options)
        if not broken.called:
            broken.called = True
            result.state.sbuf[2, 200] ^= 0b101
            result.state.lane_state[3, 1] = 1.0  # seven bits of 0x3F800000
        return result

    broken.called = False
    result = run_main_job(two_tiles(), config=TIGHT, on_engine=False, run=broken)
    assert result.differing_bits == 2 + 7
    assert len(result.first_differences) == 2
    assert result.first_differences[0].startswith("batch 0: sbuf[2, 200]: got 0x")
    assert "lane_state[3, 1]: got 0x3f800000" in result.first_differences[1]


def test_a_wrong_completion_counts(workload, golden_runner):
    def broken(steps, **options):
        result = golden_runner(steps, **options)
        result.reason[1] = 5
        return result

    result = run_main_job(workload, config=ROOMY, on_engine=False, run=broken)
    assert result.differing_bits == 2
    assert "completion 1: got opcode 0x8e reason 5 (dtype)" in result.first_differences[0]


def test_a_wrong_bit_that_the_host_read_counts(workload, golden_runner):
    """The state is right: it may have been put right after the host had read it."""

    def broken(steps, **options):
        result = golden_runner(steps, **options)
        result.traffic.results[2][0][1, 3] ^= 0b11
        return result

    result = run_main_job(workload, config=ROOMY, run=broken)
    assert result.differing_bits == 2
    assert result.first_differences == [
        "batch 0: step 2: 2 bits differ in what the host read of bytes 152 to 231 "
        "of partitions 0 to 2"
    ]


@pytest.mark.parametrize(("seed", "share"), [(0, 0.0), (7, 0.25)])
def test_seed_asks_for_pauses(workload, golden_runner, seed, share):
    seen = {}

    def run(steps, **options):
        seen.update(options)
        return golden_runner(steps, **options)

    run_main_job(workload, config=ROOMY, seed=seed, run=run)
    assert (seen["seed"], seen["gaps"], seen["stalls"]) == (seed, share, share)


def test_each_run_has_its_own_waveform(workload, golden_runner):
    names = []

    def run(steps, **options):
        names.append(options["waves"])
        return golden_runner(steps, **options)

    run_main_job(workload, config=ROOMY, waves=Path("a/b.vcd"), run=run)
    run_main_job(two_tiles(), config=TIGHT, on_engine=False, waves=Path("a/b.fst"), run=run)
    assert [str(name) for name in names] == [
        "a/b.vcd",
        *(f"a/b.{index}.fst" for index in range(4)),
    ]


def test_progress_counts_over_all_runs(golden_runner):
    calls = []
    run_main_job(
        two_tiles(),
        config=TIGHT,
        on_engine=False,
        run=golden_runner,
        progress=lambda *call: calls.append(call),
    )
    assert [call for call in calls if call[0] == "golden"] == [
        ("golden", n, 4) for n in (1, 2, 3, 4)
    ]
    assert [call for call in calls if call[0] == "simulate"] == [
        ("simulate", done, 5) for done in (1, 2, 4, 5)
    ]


def test_framework_is_measured_beside(workload, golden_runner):
    exact = backward(**workload.layer.arguments())
    off = exact._replace(d_beta=exact.d_beta + 1)
    with_framework = Workload("test", workload.layer, framework=off)
    result = run_main_job(with_framework, config=ROOMY, run=golden_runner)
    assert result.framework_errors["d_beta"].relative > 0.01
    assert result.framework_errors["d_x"].relative == result.errors["d_x"].relative


def test_time_adds_up(workload, golden_runner):
    seconds = run_main_job(workload, config=ROOMY, run=golden_runner).seconds
    parts = {name: spent for name, spent in seconds.items() if name not in ("total", "python")}
    assert all(spent >= 0 for spent in parts.values())
    assert 0 < sum(parts.values()) <= seconds["total"]


class GoldenSimulator:
    """Takes the place of a live simulator."""

    started = closed = 0

    def __init__(self, config, *, progress):
        type(self).started += 1
        self.machine = Machine(sbuf_bytes=config.sbuf_bytes, psum_bytes=config.psum_bytes)

    def execute(self, step):
        for image in step.images:
            image.place(self.machine.sbuf)
        done = self.machine.run(step.program)
        return done, [extent.of(self.machine.sbuf).copy() for extent in step.results]

    def close(self):
        type(self).closed += 1


@pytest.mark.parametrize("on_engine", [True, False])
def test_rtl_engine_keeps_one_simulator_and_reads_results_alone(workload, monkeypatch, on_engine):
    monkeypatch.setattr(GoldenSimulator, "started", 0)
    monkeypatch.setattr(GoldenSimulator, "closed", 0)
    arguments = {**workload.layer.arguments(), "on_engine": on_engine}
    with RtlEngine(ROOMY, start=GoldenSimulator) as rtl:
        assert GoldenSimulator.started == 0
        for _ in range(2):
            for got, expected in zip(
                backward(**arguments, backend=rtl), backward(**arguments), strict=True
            ):
                np.testing.assert_array_equal(got, expected)
        assert (GoldenSimulator.started, GoldenSimulator.closed) == (1, 0)
    assert GoldenSimulator.closed == 1


def test_rtl_engine_is_pickled_without_its_simulator(workload, monkeypatch):
    monkeypatch.setattr(GoldenSimulator, "started", 0)
    with RtlEngine(ROOMY, start=GoldenSimulator) as rtl:
        backward(**workload.layer.arguments(), backend=rtl)
        other = pickle.loads(pickle.dumps(rtl))
    assert (other.sbuf_bytes, other.generation) == (rtl.sbuf_bytes, rtl.generation)
    assert other._simulator is None
    assert GoldenSimulator.started == 1


def test_rtl_engine_options():
    assert engine(lanes=4).sbuf_bytes == 64 * 1024
    assert engine(config=ROOMY).sbuf_bytes == 1024
    with pytest.raises(ValueError, match="lanes must be one of"):
        engine(lanes=3)
