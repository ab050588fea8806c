"""Programs through the real engine: state in, state out, persistence, pauses, and progress."""

import json

import numpy as np
import pytest
from dve_cli.main import app
from dve_cosim.compare import differences
from dve_cosim.reference import machine_of
from dve_cosim.session import run_batches, run_program
from dve_cosim.state import ArchState
from dve_golden.isa.text import assemble
from dve_rtl.config import PRESETS
from typer.testing import CliRunner

CONFIG = PRESETS["tiny"]

BACKWARD = assemble(
    "back_prop channels=4 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
    " dst=sbuf[32:0x80]:fp32:4\n"
)
ILLEGAL = assemble(
    "back_prop channels=0 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
    " dst=sbuf[32:0x80]:fp32:4\n"
)
UNKNOWN = b"\x11" + bytes(63)


@pytest.fixture(scope="module")
def state():
    """Random bits everywhere, so that every array and every lane differs from reset."""
    rng = np.random.default_rng(20)
    state = ArchState.reset(CONFIG)
    for array in state.arrays().values():
        array.view(np.uint8)[...] = rng.integers(0, 256, array.view(np.uint8).shape)
    state.events &= 1  # an event is one bit
    state.control[:] = (8, 1, 0, 1, 1, 0, 1)  # a maximum exponent, and switches
    return state


def golden(programs, state):
    machine = machine_of(CONFIG)
    state.copy_into(machine)
    for program in programs:
        completions = machine.run(program)
        yield ArchState.copy_of(machine), completions


def test_a_state_goes_in_and_comes_back(state):
    result = run_program(b"", config=CONFIG, state=state)
    assert differences(result.state, state) == []
    assert len(result.opcode) == len(result.reason) == len(result.cycles) == 0


def test_reset_is_the_golden_reset():
    result = run_program(b"", config=CONFIG)
    assert differences(result.state, ArchState.reset(CONFIG)) == []


@pytest.mark.parametrize(("gaps", "stalls"), [(0.0, 0.0), (0.5, 0.5)])
def test_batches_work_on_persistent_state(state, gaps, stalls):
    programs = [BACKWARD + ILLEGAL + BACKWARD, UNKNOWN, b"", BACKWARD]
    reports = []
    results = run_batches(
        programs,
        config=CONFIG,
        state=state,
        seed=3,
        gaps=gaps,
        stalls=stalls,
        progress=lambda *report: reports.append(report),
    )
    expected = list(golden(programs, state))
    for result, (after, completions) in zip(results, expected, strict=True):
        assert differences(result.state, after) == []
        assert result.opcode.tolist() == [completion.opcode for completion in completions]
        assert result.reason.tolist() == [completion.reason for completion in completions]
        assert (result.cycles > 0).all()
    assert reports[-1] == ("simulate", 5, 5)


def test_pauses_follow_from_the_seed(state):
    cycles = [
        run_program(
            BACKWARD * 8, config=CONFIG, state=state, seed=seed, gaps=0.5, stalls=0.5
        ).timing.cycles
        for seed in (1, 1, 2)
    ]
    assert cycles[0] == cycles[1] != cycles[2]


def test_dve_run_agrees_with_golden(state, tmp_path):
    program, memory = tmp_path / "program.bin", tmp_path / "in.npz"
    program.write_bytes(BACKWARD + ILLEGAL)
    np.savez(memory, allow_pickle=False, **state.arrays())
    outputs = {}
    for on in ("rtl", "golden"):
        out, described = tmp_path / f"{on}.npz", tmp_path / f"{on}.json"
        arguments = ["run", program, "--memory", memory, "--out", out, "--json", described]
        arguments += ["--on", on, "--preset", "tiny"]
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.stderr
        with np.load(out) as archive:
            outputs[on] = dict(archive)
        instructions = json.loads(described.read_text())["instructions"]
        assert [entry["reason_name"] for entry in instructions] == ["NONE", "PARTITION"]
    for name, array in outputs["golden"].items():
        if name == "completion_cycles":
            assert not array.any()
            assert outputs["rtl"][name].all()
        else:
            assert outputs["rtl"][name].dtype == array.dtype
            assert outputs["rtl"][name].tobytes() == array.tobytes(), name
