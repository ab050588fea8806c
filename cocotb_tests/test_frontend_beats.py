"""The front end at every beat width; see ``benches/front_end.py``."""

import pytest
from benches.configs import front_end_config
from dve_cosim.build import build_module
from dve_cosim.engine import FRONT_END, front_end_verilog
from dve_rtl.config import BEAT_BITS


@pytest.mark.parametrize("beat_bits", BEAT_BITS)
def test_beats(run_bench, beat_bits):
    build_dir = build_module(FRONT_END, front_end_verilog(front_end_config(beat_bits)))
    run_bench("front_end", top=FRONT_END, build_dir=build_dir, tests=2, BEAT_BITS=str(beat_bits))
