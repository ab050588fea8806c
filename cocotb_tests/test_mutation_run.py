"""Mutants in a real simulator: silent until selected, and then noticed."""

import pytest
from benches.configs import front_end_config
from dve_cosim.build import Simulator, build_module
from dve_cosim.engine import FRONT_END, engine_verilog, front_end_verilog
from dve_cosim.mutation.instrument import PLUSARG, instrumented
from dve_cosim.mutation.sample import sample
from dve_cosim.mutation.selection import CONFIG
from dve_cosim.mutation.sites import Mutant, sites_of
from dve_cosim.mutation.trial import try_mutant
from dve_cosim.mutation.unit_alone import unit_runs

BEAT_BITS = 128


@pytest.fixture(scope="module")
def front_end():
    """``run(bench runner, number)`` on a front end of 40 mutants; number 1 adds to the reason."""
    text = front_end_verilog(front_end_config(BEAT_BITS))
    sites = sites_of(text)
    chosen = sample(sites, count=40, seed=2)
    # The opcode is what a completion says: no test may miss a wrong bit in it.
    fixed = next(
        Mutant(site, change)
        for site in sites["dve_front_end.validator.decoder.dispatch"]
        for change in site.changes
        if change.operator == "constant" and "- 7'h41" in site.shown
    )
    others = [mutant for mutant in chosen if mutant.site != fixed.site]
    build_dir = build_module(FRONT_END, instrumented(text, [fixed, *others], top=FRONT_END))

    def run(run_bench, number):
        run_bench(
            "front_end",
            f"+{PLUSARG}={number}",
            top=FRONT_END,
            build_dir=build_dir,
            tests=2,
            BEAT_BITS=str(BEAT_BITS),
        )

    return run


def test_with_none_selected_the_design_is_what_it_was(front_end, run_bench):
    front_end(run_bench, 0)


def test_a_mutant_is_noticed(front_end, run_bench):
    with pytest.raises(SystemExit):
        front_end(run_bench, 1)


@pytest.mark.parametrize("unit", ["units.sub", "units.mul0", "widen1", "narrow"])
def test_mutants_of_a_unit_alone(unit, tmp_path):
    """Each of these units has ports that the export has left out or named otherwise."""
    text = engine_verilog(CONFIG)
    unit = f"dve_lane.{unit}"
    mutants = sample({unit: sites_of(text)[unit]}, count=6, seed=1)
    runs = unit_runs(text, mutants, CONFIG)
    assert list(runs) == [unit]
    no_engine = Simulator(CONFIG, tmp_path, None)
    kills = [
        try_mutant(no_engine, number, [runs[unit]], lambda: None)
        for number in range(len(mutants) + 1)
    ]
    assert kills[0] is None
    noticed = [kill for kill in kills if kill is not None]
    assert len(noticed) >= 3
    assert {kill.check for kill in noticed} == {"arith"}
