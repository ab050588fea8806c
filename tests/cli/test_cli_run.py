"""``dve run`` and ``dve export``: arguments, files, exit status; on the golden model."""

import json
import zipfile

import numpy as np
import pytest
from dve_cli import export as export_module
from dve_cli import run as run_module
from dve_cli.main import app
from dve_cosim.errors import CosimError
from dve_golden.isa.text import assemble
from typer.testing import CliRunner

LEGAL = (
    "back_prop channels=4 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
    " dst=sbuf[32:0x80]:fp32:4\n"
)
ILLEGAL = LEGAL.replace("channels=4", "channels=0")
BEYOND_TINY = LEGAL.replace("0x80", "0x8000")
"""Legal from 64 KiB on, and not in 16 KiB."""


@pytest.fixture
def dve():
    def run(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def program(tmp_path):
    def write(text=LEGAL + ILLEGAL):
        path = tmp_path / "program.bin"
        path.write_bytes(assemble(text))
        return path

    return write


@pytest.fixture
def memory(tmp_path):
    def write(**arrays):
        path = tmp_path / "in.npz"
        np.savez(path, allow_pickle=False, **arrays)
        return path

    return write


def user_error(result):
    """The single line on standard error of a run that ended with status 2."""
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def load(path):
    with np.load(path) as archive:
        return dict(archive)


def test_out_holds_the_state_and_the_completions(dve, program, tmp_path):
    result = dve("run", program(), "--on", "golden", "--out", tmp_path / "out.npz")
    assert result.exit_code == 0
    assert {
        name: (array.dtype.name, array.shape) for name, array in load(tmp_path / "out.npz").items()
    } == {
        "sbuf": ("uint8", (128, 64 * 1024)),
        "psum": ("uint8", (128, 16 * 1024)),
        "registers": ("uint32", (64,)),
        "parameter_ram": ("float32", (256,)),
        "lane_state": ("float32", (128, 5)),
        "semaphores": ("uint32", (256,)),
        "events": ("uint8", (256,)),
        "control": ("uint32", (7,)),
        "completion_opcode": ("uint8", (2,)),
        "completion_reason": ("uint8", (2,)),
        "completion_cycles": ("uint32", (2,)),
    }


def test_one_runs_output_is_the_next_ones_input(dve, program, memory, tmp_path):
    x = np.zeros((128, 256), np.uint8)
    x.view(np.float32)[:, :32] = np.random.default_rng(4).standard_normal((128, 32))
    lane_state = np.random.default_rng(5).standard_normal((128, 5)).astype(np.float32)
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    source = memory(sbuf=x, lane_state=lane_state)
    dve("run", program(), "--on", "golden", "--memory", source, "--out", first)
    assert load(first)["sbuf"][32:36, 0x80:0x90].any()
    assert np.array_equal(load(first)["sbuf"][:32, :256], x[:32])
    dve("run", program(""), "--on", "golden", "--memory", first, "--out", second)
    for name, array in load(second).items():
        if not name.startswith("completion_"):
            assert array.tobytes() == load(first)[name].tobytes()


def test_nan_patterns_are_kept(dve, program, memory, tmp_path):
    patterns = np.arange(0x7F800001, 0x7F800001 + 640, dtype=np.uint32).reshape(128, 5)
    source = memory(lane_state=patterns.view(np.float32))
    dve("run", program(""), "--on", "golden", "--memory", source, "--out", tmp_path / "out.npz")
    assert np.array_equal(load(tmp_path / "out.npz")["lane_state"].view(np.uint32), patterns)


NARROWS = """
tensor_tensor channels=1 op=bypass src0=sbuf[0:0x0]:fp32:2 src1=sbuf[0:0x0]:fp32:2 \\
    dst=sbuf[0:0x10]:fp8_exp4:2
"""


def test_control_values_come_from_and_go_to_the_files(dve, program, memory, tmp_path):
    """300 is beyond the largest FP8_EXP4 of cayman, 240, and within that of the OCP format."""
    sbuf = np.zeros((128, 16), np.uint8)
    sbuf[0, :8] = np.array([300, np.inf], "<f4").view(np.uint8)
    out = tmp_path / "out.npz"

    def run(source, *options):
        arguments = ["--on", "golden", "--memory", source, "--out", out, *options]
        assert dve("run", program(NARROWS), *arguments).exit_code == 0
        return load(out)["sbuf"][0, 0x10:0x12].tolist()

    assert run(memory(sbuf=sbuf)) == [0x78, 0x78]
    assert load(out)["control"].tolist() == [7, 0, 0, 0, 0, 0, 0]
    # A file without them has those after reset, of the generation.
    assert run(memory(sbuf=sbuf), "--generation", "mariana") == [0x79, 0x7F]
    assert load(out)["control"].tolist() == [8, 0, 0, 0, 0, 0, 0]
    control = np.array([8, 0, 1, 0, 0, 1, 0], np.uint32)
    assert run(memory(sbuf=sbuf, control=control)) == [0x79, 0x7E]
    assert load(out)["control"].tolist() == control.tolist()
    assert run(out) == [0x79, 0x7E]  # and so a run can go on from there


WAITS = "nop update=sem_inc_read:1\nevent_semaphore wait=sem_ge_imm:7 wait_value=5\n"
TAKES = "event_semaphore wait=evt_set_then_clear:3 update=sem_sub_imm_complete:7 update_value=6\n"


def test_semaphores_and_events_come_from_and_go_to_the_files(dve, program, memory, tmp_path):
    semaphores, events = np.arange(256, dtype=np.uint32), np.ones(256, np.uint8)
    source, out = memory(semaphores=semaphores, events=events), tmp_path / "out.npz"
    result = dve("run", program(WAITS + TAKES), "--on", "golden", "--memory", source, "--out", out)
    assert result.exit_code == 0
    semaphores[1], semaphores[7], events[3] = 2, 1, 0
    assert load(out)["semaphores"].tolist() == semaphores.tolist()
    assert load(out)["events"].tolist() == events.tolist()


def test_a_wait_in_vain_is_status_3_and_leaves_no_file(dve, program, memory, tmp_path):
    out, report = tmp_path / "out.npz", tmp_path / "out.json"
    result = dve("run", program(WAITS), "--on", "golden", "--out", out, "--json", report)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "dve: error: instruction 1 (event_semaphore) waits for semaphore 7 >= 5 (sem_ge_imm), "
        "but it is 0; another engine has to set semaphore 7 to 5\n"
    )
    assert not out.exists()
    assert not report.exists()


@pytest.mark.parametrize(
    ("row_bytes", "reason", "active"),
    [(16 * 1024, 9, 16 * 1024), (16 * 1024 + 1, 9, 32 * 1024), (40_000, 0, 64 * 1024)],
)
def test_longer_rows_enlarge_the_memory(dve, program, memory, tmp_path, row_bytes, reason, active):
    source = memory(sbuf=np.zeros((128, row_bytes), np.uint8))
    out = tmp_path / "out.npz"
    arguments = ["--preset", "tiny", "--memory", source, "--out", out]
    dve("run", program(BEYOND_TINY), "--on", "golden", *arguments)
    assert load(out)["completion_reason"].tolist() == [reason]
    assert load(out)["sbuf"].shape == (128, active)
    assert load(out)["psum"].shape == (128, 2 * 1024)


def test_enlarging_stops_at_the_active_size(dve, program, memory, tmp_path):
    source = memory(sbuf=np.zeros((128, 0x38000), np.uint8))
    dve("run", program(""), "--on", "golden", "--memory", source, "--out", tmp_path / "out.npz")
    assert load(tmp_path / "out.npz")["sbuf"].shape == (128, 0x38000)
    source = memory(sbuf=np.zeros((128, 0x38001), np.uint8))
    line = user_error(dve("run", program(""), "--on", "golden", "--memory", source))
    assert "sbuf rows have at most 229376 bytes" in line


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"dram": np.zeros(1)}, "unknown array 'dram'"),
        ({"sbuf": np.zeros((128, 8), np.int8)}, "sbuf must be uint8, got int8"),
        ({"sbuf": np.zeros((127, 8), np.uint8)}, "shape [128, bytes], got [127, 8]"),
        ({"psum": np.zeros(128, np.uint8)}, "shape [128, bytes], got [128]"),
        ({"psum": np.zeros((128, 0x4001), np.uint8)}, "psum rows have at most 16384 bytes"),
        ({"registers": np.zeros(63, np.uint32)}, "registers must have shape [64], got [63]"),
        ({"registers": np.zeros(64, ">u4")}, "registers must be uint32, got >u4"),
        ({"parameter_ram": np.zeros(256)}, "parameter_ram must be float32, got float64"),
        ({"lane_state": np.zeros((128, 4), np.float32)}, "shape [128, 5], got [128, 4]"),
        ({"semaphores": np.zeros(255, np.uint32)}, "semaphores must have shape [256], got [255]"),
        ({"semaphores": np.zeros(256, np.int32)}, "semaphores must be uint32, got int32"),
        ({"events": np.zeros(256, np.bool_)}, "events must be uint8, got bool"),
        ({"events": np.arange(256, dtype=np.uint8)}, "events are 0 or 1, got 2 at index 2"),
        ({"control": np.zeros(6, np.uint32)}, "control must have shape [7], got [6]"),
        ({"control": np.zeros(7, np.uint8)}, "control must be uint32, got uint8"),
        ({"control": np.zeros(7, np.uint32)}, "control: emax_e4m3 is 7 or 8, got 0"),
        ({"control": np.full(7, 7, np.uint32)}, "control: range_extension is 0 or 1, got 7"),
    ],
)
def test_an_unfit_array_is_named(dve, program, memory, tmp_path, arrays, message):
    out = tmp_path / "out.npz"
    result = dve("run", program(), "--on", "golden", "--memory", memory(**arrays), "--out", out)
    assert message in user_error(result)
    assert not out.exists()


def test_a_member_that_is_no_array_is_named(dve, program, memory):
    path = memory()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("sbuf.npy", b"no array")
    line = user_error(dve("run", program(), "--on", "golden", "--memory", path))
    assert line.startswith(f"dve: error: {path}: sbuf is not an array; ")


def test_a_run_may_go_on_in_the_file_that_it_took_up(dve, program, memory):
    path = memory(registers=np.arange(64, dtype=np.uint32))
    result = dve("run", program(), "--on", "golden", "--memory", path, "--out", path)
    assert result.exit_code == 0
    assert load(path)["registers"].tolist() == list(range(64))
    refused = dve("run", program(), "--on", "golden", "--memory", path, "--json", path)
    assert "--json" in user_error(refused)


def test_a_result_that_cannot_be_written_is_shown(dve, program):
    result = dve("run", program(), "--on", "golden", "--out", "/dev/full")
    assert result.exit_code == 2
    assert result.stderr == "dve: error: cannot write /dev/full: No space left on device\n"
    assert "2 instructions on the golden model: 1 illegal" in result.stdout


def test_strict_turns_an_illegal_instruction_into_status_1(dve, program, tmp_path):
    assert dve("run", program(LEGAL), "--on", "golden", "--strict").exit_code == 0
    out = tmp_path / "out.npz"
    result = dve("run", program(), "--on", "golden", "--strict", "--out", out)
    assert result.exit_code == 1
    assert load(out)["completion_reason"].tolist() == [0, 9]
    assert "9 PARTITION" in result.stdout


def test_json_lists_every_instruction(dve, program, tmp_path):
    dve("run", program(LEGAL * 100 + ILLEGAL), "--on", "golden", "--json", tmp_path / "out.json")
    described = json.loads((tmp_path / "out.json").read_text())
    assert len(described["instructions"]) == 101
    assert described["instructions"][100] == {
        "index": 100,
        "opcode": 0x65,
        "name": "back_prop",
        "reason": 9,
        "reason_name": "PARTITION",
        "cycles": 0,
    }
    assert described["illegal"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "sim", "--lanes", "4"], "not both"),
        (["--lanes", "3"], "lanes must be one of (1, 2, 4, 8, 16, 32), got 3"),
        (["--preset", "huge"], "--preset must be one of tiny, sim, wide, fpga, got 'huge'"),
        (["--wave", "out.vcd"], "--wave needs --on rtl"),
        (["--memory", "absent.npz"], "cannot read absent.npz"),
        (["--out", "absent/out.npz"], "there is no directory absent"),
        (["--json", "."], "it is a directory"),
    ],
)
def test_bad_arguments_are_one_line(dve, program, arguments, message):
    assert message in user_error(dve("run", program(), "--on", "golden", *arguments))


def test_a_wave_file_has_a_known_suffix(dve, program):
    line = user_error(dve("run", program(), "--wave", "out.txt"))
    assert "ends in .vcd or .fst, got out.txt" in line


def test_a_failing_simulation_is_one_line_and_leaves_no_file(dve, program, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise CosimError("the simulator crashed; see run.log")

    monkeypatch.setattr(run_module, "run_program", fail)
    out = tmp_path / "out.npz"
    line = user_error(dve("run", program(), "--out", out))
    assert line.endswith("the simulator crashed; see run.log")
    assert not out.exists()


def test_export_writes_the_chosen_engine(dve, tmp_path, monkeypatch):
    monkeypatch.setattr(export_module, "engine_verilog", lambda config: f"// {config.lanes}\n")
    for arguments, lanes in ((("--preset", "fpga"), 4), (("--lanes", "32"), 32)):
        assert dve("export", *arguments, "-o", tmp_path / "dve.v").exit_code == 0
        assert (tmp_path / "dve.v").read_text() == f"// {lanes}\n"


def test_export_of_another_generation(dve, tmp_path, monkeypatch):
    monkeypatch.setattr(export_module, "engine_verilog", lambda config: f"// {config.generation}\n")
    arguments = ("export", "--preset", "tiny", "--generation", "maverick", "-o", tmp_path / "dve.v")
    assert dve(*arguments).exit_code == 0
    assert (tmp_path / "dve.v").read_text() == "// maverick\n"


def test_export_for_a_target(dve, tmp_path, monkeypatch):
    monkeypatch.setattr(export_module, "engine_verilog", lambda config: f"// {config.target}\n")
    for arguments, target in (((), "portable"), (("--target", "ecp5"), "ecp5")):
        command = ("export", "--preset", "tiny", *arguments, "-o", tmp_path / "dve.v")
        assert dve(*command).exit_code == 0
        assert (tmp_path / "dve.v").read_text() == f"// {target}\n"


def test_export_asks_which_engine(dve, tmp_path):
    assert "--preset P or --lanes N" in user_error(dve("export", "-o", tmp_path / "dve.v"))
