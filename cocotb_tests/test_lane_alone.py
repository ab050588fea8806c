"""One lane without its engine; see ``benches/lane.py``."""

from benches import configs
from dve_cosim.build import build_module
from dve_cosim.engine import LANE, lane_verilog


def test_lane(run_bench):
    build_dir = build_module(LANE, lane_verilog(configs.LANE))
    run_bench("lane", top=LANE, build_dir=build_dir, tests=31)
