"""The host and register ports of the engine; see ``benches/engine_host.py``."""

from benches.configs import SMALL
from dve_cosim.build import build
from dve_cosim.mutation.selection import BENCH_TESTS
from dve_cosim.wrapper import SIM_TOP


def test_host_ports(run_bench):
    run_bench(
        "engine_host",
        top=SIM_TOP,
        build_dir=build(SMALL[4]).build_dir,
        tests=BENCH_TESTS["engine_host"],
    )
