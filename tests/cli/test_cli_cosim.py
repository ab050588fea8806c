"""``dve cosim`` from options to files, with the simulator replaced by a golden machine."""

import json
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from dve_cli import cosim, main
from dve_cosim.errors import CosimError
from dve_cosim.main_job import run_main_job
from dve_golden.batchnorm import backward
from typer.testing import CliRunner


@pytest.fixture
def simulator(monkeypatch, golden_runner):
    """Replaces the simulator; returns a function that replaces it by another one."""

    def replace(run):
        monkeypatch.setattr(cosim, "run_main_job", partial(run_main_job, run=run))

    replace(golden_runner)
    return replace


@pytest.fixture
def arrays():
    rng = np.random.default_rng(14)
    x, dy = rng.normal(size=(2, 4, 3, 2)).astype(np.float32)
    return {
        "x": x,
        "dy": dy,
        "mean": x.mean(axis=(0, 2)),
        "var": x.var(axis=(0, 2)),
        "eps": np.float64(1e-5),
        "gamma": np.ones(3, np.float32),
    }


def dve_cosim(*arguments):
    return CliRunner().invoke(main.app, ["cosim", *map(str, arguments)])


@pytest.mark.usefixtures("simulator")
def test_default_layer():
    result = dve_cosim()
    assert result.exit_code == 0, result.output
    assert "digits layer: 32 x 16 x 8 x 8, fp32, 8 lanes" in result.stdout
    for line in ("instructions", "cycles", "elements per lane and cycle", "differing bits"):
        assert line in result.stdout
    assert "coefficients on the engine" in result.stdout
    assert re.search(r"tensor_tensor +5 +50 +62.5%", result.stdout)
    assert "bound of the relative errors of this layer: 2^-21, kept" in result.stdout


@pytest.mark.usefixtures("simulator")
def test_host_coefficients_keep_the_earlier_path(tmp_path):
    figures = tmp_path / "figures.json"
    result = dve_cosim("--host-coefficients", "--json", figures)
    assert result.exit_code == 0, result.output
    assert "coefficients on the host" in result.stdout
    document = json.loads(figures.read_text())
    assert (document["coefficients"], document["instructions"]) == ("host", 3)


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("options", [(), ("--host-coefficients",), ("--fuse-relu",)])
def test_program_that_ran(tmp_path, options):
    text, binary = tmp_path / "backward.s", tmp_path / "backward.bin"
    assert dve_cosim(*options, "--asm", text).exit_code == 0
    done = CliRunner().invoke(main.app, ["asm", str(text), "-o", str(binary)])
    assert done.exit_code == 0, done.output
    first, last = (0x41 if "--fuse-relu" in options else 0x94), 0x65
    assert (binary.read_bytes()[0], binary.read_bytes()[-64]) == (first, last)


@pytest.mark.usefixtures("simulator")
def test_random_layer(tmp_path):
    figures, again = tmp_path / "figures.json", tmp_path / "again.json"
    for path in (figures, again):
        assert dve_cosim("--shape", "3x5x2", "--fuse-relu", "--json", path).exit_code == 0
    first, second = (json.loads(path.read_text()) for path in (figures, again))
    assert first["input"] == {
        **{"source": "random 3x5x2", "shape": [3, 5, 2], "channels": 5},
        **{"elements_per_channel": 6, "dtype": "fp32", "fuse_relu": True},
    }
    assert first["ulp"] == second["ulp"]
    assert first["relative_error"]["d_x"]["log2"] < -20


@pytest.mark.usefixtures("simulator")
def test_trace(tmp_path):
    trace = tmp_path / "trace.json"
    assert dve_cosim("--trace", trace).exit_code == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X" and e["tid"] == 0] == [
        *("grad_accumulate2", *["tensor_tensor"] * 5, "param_load2", "back_prop")
    ]


@pytest.mark.usefixtures("simulator")
def test_fused_rectifier(tmp_path, arrays):
    layer, out = tmp_path / "layer.npz", tmp_path / "out.npz"
    mask = arrays["x"] > 0
    np.savez(layer, **arrays, relu_mask=mask)
    assert dve_cosim("--input", layer, "--fuse-relu", "--out", out).exit_code == 0
    expected = backward(**arrays, fuse_relu=True, relu_mask=mask)
    with np.load(out) as written:
        np.testing.assert_array_equal(written["d_x"], expected.d_x)


@pytest.mark.usefixtures("simulator")
def test_output_files(tmp_path, arrays):
    layer = tmp_path / "layer.npz"
    np.savez(layer, **arrays)
    out, figures, folder = tmp_path / "out.npz", tmp_path / "figures.json", tmp_path / "report"
    result = dve_cosim(
        *("--input", layer, "--dtype", "bf16", "--out", out, "--json", figures),
        *("--report", folder, "--lanes", 4, "--no-mean-coupling"),
    )
    assert result.exit_code == 0, result.output
    expected = backward(**arrays, dtype="bf16", mean_coupling=False)
    with np.load(out) as written:
        assert set(written) == {"d_x", "d_gamma", "d_beta"}
        for name, array in expected._asdict().items():
            np.testing.assert_array_equal(written[name], array)
    document = json.loads(figures.read_text())
    assert document["input"]["dtype"] == "bf16"
    assert document["config"]["lanes"] == 4
    assert document["mean_coupling"] is False
    assert document["framework"] is None
    assert json.loads((folder / "report.json").read_text()) == document
    assert {path.name for path in folder.iterdir()} == {
        "index.html",
        "report.json",
        "timeline.png",
        *(f"ulp_{name}.png" for name in expected._fields),
    }
    assert dve_cosim("--input", layer, "--report", folder).exit_code == 0  # over the old one


def test_a_differing_bit_is_exit_status_1(tmp_path, simulator, golden_runner):
    def broken(steps, **options):
        result = golden_runner(steps, **options)
        result.state.psum[5, 9] ^= 0x10
        return result

    simulator(broken)
    figures = tmp_path / "figures.json"
    result = dve_cosim("--json", figures)
    assert result.exit_code == 1
    assert "psum[5, 9]: got 0x10, expected 0x00" in result.stdout
    assert json.loads(figures.read_text())["differing_bits"] == 1


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": None}, "no array 'x'; it has dy, mean, var, eps, gamma"),
        ({"gamma": None}, "no array 'gamma'"),
        ({"eps": None}, "eps is missing"),
        ({"var": None, "eps": None}, "give inv_std, or var together with eps"),
        ({"dy": np.zeros((4, 3))}, "x and dy must have one shape"),
        ({"mean": np.zeros(4)}, "mean must have shape (3,), got (4,)"),
        ({"var": np.array([1, -1, 1])}, "var must be finite and not negative, got -1 in channel 1"),
        ({"var": np.array([1, 1, np.nan])}, "got nan in channel 2"),
        ({"x": np.zeros((0, 3)), "dy": np.zeros((0, 3))}, "no elements"),
        ({"x": np.zeros((4, 0)), "dy": np.zeros((4, 0))}, "no channels"),
        ({"x": np.array("text")}, "x must hold real numbers"),
        ({"relu_mask": np.zeros((4, 3, 2))}, "relu_mask must be bool or uint8, got float64"),
    ],
)
def test_input_that_is_no_layer(tmp_path, arrays, changes, message):
    layer, out = tmp_path / "layer.npz", tmp_path / "out.npz"
    changed = {name: array for name, array in (arrays | changes).items() if array is not None}
    np.savez(layer, **changed)
    result = dve_cosim("--input", layer, "--out", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"dve: error: {layer}: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dtype", "fp8"], "--dtype must be one of fp32, bf16, fp16, got 'fp8'"),
        (["--lanes", "3"], "--lanes: lanes must be one of"),
        (["--preset", "huge"], "--preset must be one of tiny, sim, wide, fpga"),
        (["--preset", "tiny", "--lanes", "4"], "not both"),
        (["--wave", "a.txt"], "--wave: a waveform file ends in .vcd or .fst"),
        (["--input", "missing.npz"], "cannot read missing.npz: No such file or directory"),
        (["--out", "missing/out.npz"], "there is no directory missing"),
        (["--json", "missing/f.json"], "there is no directory missing"),
        (["--report", "missing/report"], "there is no directory missing"),
        (["--report", "file"], "it is not a directory"),
        (["--input", "file"], "file is not an .npz file of plain arrays"),
        (["--out", "file", "--json", "file"], "--out and --json both name file"),
        (["--input", "file", "--out", "file"], "file is not an .npz file"),
        (["--shape", "3"], "--shape is two to five sizes such as 4x256x14x14, got '3'"),
        (["--shape", "3x0"], "--shape is two to five sizes"),
        (["--shape", "3x\N{ARABIC-INDIC DIGIT FOUR}"], "--shape is two to five sizes"),
        (["--shape", "9999999x9999"], "--shape has more than 268,435,456 elements"),
        (["--shape", f"2x{10**4000 + 1}{10**4000}"], "--shape has more than 268,435,456 elements"),
        (["--shape", "3x4", "--input", "file"], "give --input or --shape, not both"),
        (["--asm", "missing/a.s"], "there is no directory missing"),
        (["--fuse-relu", "--host-coefficients"], "--fuse-relu needs coefficients on the engine"),
    ],
)
def test_bad_options(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("text")
    result = dve_cosim(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("simulator")
def test_an_input_is_not_replaced(tmp_path, arrays):
    layer = tmp_path / "layer.npz"
    np.savez(layer, **arrays)
    before = layer.read_bytes()
    result = dve_cosim("--input", layer, "--out", layer)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"dve: error: --out {layer} would replace an input; name another file\n"
    assert layer.read_bytes() == before


@pytest.mark.usefixtures("simulator")
def test_a_full_disk_leaves_no_file_but_the_result_is_shown(tmp_path):
    """The device comes last of the files, when all others are on the disk."""
    result = dve_cosim(
        *("--out", tmp_path / "out.npz", "--report", tmp_path / "report", "--json", "/dev/full")
    )
    assert result.exit_code == 2
    assert result.stderr == "dve: error: cannot write /dev/full: No space left on device\n"
    assert "differing bits" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_failing_simulator_is_exit_status_2(tmp_path, simulator):
    def crash(steps, **options):
        raise CosimError("the simulator crashed; see log")

    simulator(crash)
    out = tmp_path / "out.npz"
    result = dve_cosim("--out", out, "--report", tmp_path / "report")
    assert (result.exit_code, result.stderr) == (2, "dve: error: the simulator crashed; see log\n")
    assert list(tmp_path.iterdir()) == []


def test_plots_are_loaded_only_for_a_report():
    program = "import sys, dve_cli.cosim; sys.exit('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
