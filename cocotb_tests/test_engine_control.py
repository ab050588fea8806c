"""Waits in vain, and resets in the middle; see ``benches/waits.py`` and ``benches/resets.py``."""

from benches.configs import BENCH
from dve_cosim.build import build
from dve_cosim.mutation.selection import BENCH_TESTS
from dve_cosim.wrapper import SIM_TOP


def test_waits(run_bench):
    run_bench("waits", top=SIM_TOP, build_dir=build(BENCH).build_dir, tests=BENCH_TESTS["waits"])


def test_resets(run_bench):
    run_bench("resets", top=SIM_TOP, build_dir=build(BENCH).build_dir, tests=BENCH_TESTS["resets"])
