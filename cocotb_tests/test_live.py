"""A simulator that stays alive: steps that come one by one, its end, and its failures."""

import gc
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from benches.configs import SMALL
from dve_cosim.batchnorm_rtl import engine
from dve_cosim.errors import CosimError
from dve_cosim.live import LiveSimulator
from dve_golden.batchnorm import GoldenEngine, backward
from dve_golden.batchnorm.step import Step

CONFIG = SMALL[4]
ILLEGAL = Step((), b"\x11" + bytes(63), 0)


def golden():
    return GoldenEngine(sbuf_bytes=CONFIG.sbuf_bytes, psum_bytes=CONFIG.psum_bytes)


def layers(count):
    rng = np.random.default_rng(7)
    for _ in range(count):
        x, dy = rng.normal(size=(2, 60, 5)).astype(np.float32)
        yield {"dy": dy, "x": x, "mean": x.mean(0), "gamma": np.ones(5), "inv_std": 1 / x.std(0)}


def child_of(rtl):
    """Process and folder of its simulator."""
    simulator = rtl._simulator
    return simulator._child._process, simulator._folder


@pytest.mark.parametrize("on_engine", [True, False])
def test_passes_in_one_simulator_are_those_of_golden(on_engine):
    with engine(config=CONFIG) as rtl:
        processes = set()
        for layer in layers(3):
            got = backward(**layer, backend=rtl, on_engine=on_engine)
            want = backward(**layer, backend=golden(), on_engine=on_engine)
            for one, other in zip(got, want, strict=True):
                np.testing.assert_array_equal(one, other)
            processes.add(child_of(rtl)[0].pid)
        process, folder = child_of(rtl)
        assert processes == {process.pid}
        assert list(folder.glob("batch_*")) == list(folder.glob("step_*")) == []
    assert process.poll() is not None
    assert not folder.exists()


def test_an_illegal_instruction_leaves_the_engine_in_order():
    (layer,) = layers(1)
    with engine(config=CONFIG) as rtl:
        with pytest.raises(RuntimeError, match=r"instruction 0 \(opcode 0x11\) was rejected"):
            rtl.execute(ILLEGAL)
        got, want = (backward(**layer, backend=each) for each in (rtl, golden()))
        np.testing.assert_array_equal(got.d_x, want.d_x)


def test_an_abandoned_engine_takes_its_simulator_along():
    rtl = engine(config=CONFIG)
    rtl.execute(Step((), b"", 0))
    process, folder = child_of(rtl)
    assert process.poll() is None
    del rtl
    gc.collect()
    assert process.poll() is not None
    assert not folder.exists()


def test_a_simulator_that_dies_is_one_line_with_a_log():
    simulator = LiveSimulator(CONFIG)
    simulator.execute(Step((), b"", 0))
    os.killpg(simulator._child._process.pid, signal.SIGKILL)
    with pytest.raises(CosimError, match="the simulator crashed; see") as error:
        simulator.execute(Step((), b"", 0))
    assert Path(str(error.value).rpartition("see ")[2]).exists()
    with pytest.raises(CosimError, match="the simulator has ended"):
        simulator.execute(Step((), b"", 0))
    simulator.close()
