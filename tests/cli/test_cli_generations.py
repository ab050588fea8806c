"""``--generation`` of ``dve run`` on the golden model: opcodes, addresses and memory sizes."""

import json

import numpy as np
import pytest
from dve_cli.main import app
from dve_golden.isa.enums import Reason
from dve_golden.isa.text import assemble
from typer.testing import CliRunner

NAMES = ["sunda", "cayman", "mariana", "maverick"]
ACTIVE = dict(zip(NAMES, (0x3_0000, 0x3_8000, 0x4_0000, 0x8_0000), strict=True))
"""Bytes of an SBUF partition that hold storage (isa_common.md 3.2)."""

LOAD = "param_load channels=1 src={}:fp32:3 imm0=0x00000000 imm1=1.0\n"


@pytest.fixture
def run(tmp_path):
    def execute(text, *options, **arrays):
        program, memory, out = (tmp_path / name for name in ("p.bin", "in.npz", "out.npz"))
        program.write_bytes(assemble(text))
        np.savez(memory, **arrays)
        command = ["run", program, "--on", "golden", "--memory", memory, "--out", out, *options]
        result = CliRunner().invoke(app, [str(part) for part in command])
        if result.exit_code:
            return result
        with np.load(out) as state:
            return dict(state)

    return execute


@pytest.mark.parametrize("name", [*NAMES, "Cayman", "MAVERICK"])
def test_an_address_is_that_of_the_generation(run, name):
    sbuf = np.zeros((128, 16), np.uint8)
    psum = np.zeros((128, 16), np.uint8)
    sbuf.view(np.float32)[32, :3] = 1, 2, 3
    psum.view(np.float32)[0, :3] = 4, 5, 6
    state = run(LOAD.format("0x02000000"), "--generation", name, sbuf=sbuf, psum=psum)
    # Byte 0 of PSUM, and on maverick of SBUF partition 32.
    loaded = [1, 2, 3] if name.lower() == "maverick" else [4, 5, 6]
    assert state["lane_state"][0].tolist() == [1, 0, *loaded]
    assert state["psum"].tobytes() == np.pad(psum, ((0, 0), (0, (1 << 14) - 16))).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_memories_are_those_of_the_generation(run, name):
    active = ACTIVE[name]
    rows = np.zeros((128, active), np.uint8)
    texts = [LOAD.format(f"{address:#010x}") for address in (active - 12, active - 8)]
    state = run("".join(texts), "--generation", name, sbuf=rows)
    assert state["sbuf"].shape == (128, active)
    assert state["completion_reason"].tolist() == [Reason.NONE, Reason.WALK]
    refused = run("", "--generation", name, sbuf=np.zeros((128, active + 1), np.uint8))
    assert refused.exit_code == 2
    assert f"at most {active} bytes (the active size of a partition of {name})" in refused.stderr


@pytest.mark.parametrize("name", NAMES)
def test_sunda_reads_more_of_a_register_word(run, name, tmp_path):
    report = tmp_path / "report.json"
    state = run(LOAD.format("0x9f000001"), "--generation", name, "--json", report)
    expected = Reason.ADDRESSING_MODE if name == "sunda" else Reason.NONE
    assert state["completion_reason"].tolist() == [expected]
    assert json.loads(report.read_text())["generation"] == name


def test_an_opcode_that_is_not_executed_has_its_name(run, tmp_path):
    report = tmp_path / "report.json"
    records = "".join(f".record {opcode:02x}10{'00' * 62}\n" for opcode in (0x8C, 0x00))
    run(records, "--generation", "sunda", "--json", report)
    named = [item["name"] for item in json.loads(report.read_text())["instructions"]]
    assert named == ["TENSOR_REDUCE_ADD_BF16", "unknown"]


def test_without_the_option_it_is_cayman(run, tmp_path):
    report = tmp_path / "report.json"
    state = run(LOAD.format("0x9f000001"), "--json", report)
    assert state["completion_reason"].tolist() == [Reason.NONE]
    assert json.loads(report.read_text())["generation"] == "cayman"


@pytest.mark.parametrize("command", ["run", "lint", "asm", "disasm", "table"])
def test_an_unknown_generation_lists_the_known_ones(command):
    result = CliRunner().invoke(app, [command, "--generation", "trn2"], prog_name="dve")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "dve: error: Invalid value for '--generation': 'trn2' is not one of 'sunda', 'cayman',"
        f" 'mariana', 'maverick'; try `dve {command} --help`\n"
    )
