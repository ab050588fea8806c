"""Runs cocotb benches, which are modules of the package ``benches``, from pytest."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner
from dve_cosim.toolchain import verilator_environment

RunBench = Callable[..., None]


@pytest.fixture
def run_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunBench:
    """``run(module, top=, build_dir=, tests=)``: run a bench, all of whose tests must pass.

    The number of tests is part of the call, because a bench without tests passes as well. Plus
    arguments of the simulator, and environment variables, may follow.
    """
    for name in ("WAVES", "GUI", "COCOTB_TEST_FILTER", "COCOTB_TESTCASE"):
        monkeypatch.delenv(name, raising=False)

    def run(
        module: str,
        *plusargs: str,
        top: str,
        build_dir: Path,
        tests: int,
        **environment: str,
    ) -> None:
        results = get_runner("verilator").test(
            test_module=f"benches.{module}",
            hdl_toplevel=top,
            hdl_toplevel_lang="verilog",
            build_dir=build_dir,
            test_dir=tmp_path,
            seed=1,
            plusargs=plusargs,
            extra_env=verilator_environment() | environment,
        )
        assert get_results(results) == (tests, 0)

    return run
