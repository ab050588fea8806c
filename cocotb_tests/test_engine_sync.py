"""Waits and updates on the RTL: random ones against the golden machine, one that is in vain, and
two engines that hand tiles to each other (see ``benches/two_engines.py``)."""

import re
from functools import partial

import numpy as np
import pytest
from benches.configs import SMALL
from dve_cosim.build import build
from dve_cosim.errors import WaitError
from dve_cosim.events import with_events
from dve_cosim.mutation.selection import BENCH_TESTS
from dve_cosim.reference import machine_of
from dve_cosim.scoreboard import first_failure, golden, rtl
from dve_cosim.session import run_program
from dve_cosim.workloads import Workload, random_programs
from dve_cosim.wrapper import SIM_TOP
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Opcode, UpdateMode, WaitMode
from dve_golden.isa.text import split_records

CONFIG = SMALL[4]


@pytest.mark.parametrize("pauses", [{}, {"gaps": 0.3, "stalls": 0.3}], ids=["free", "paused"])
def test_random_waits_and_updates(pauses):
    rng = np.random.default_rng(21)
    workload = Workload()
    modes: set[int] = set()
    for seed in range(3):
        state, programs = random_programs(
            300 + seed, CONFIG, programs=5, instructions=25, special=0.02
        )
        state.semaphores[:] = rng.integers(-2, 4, 256)
        state.registers[-4:] = range(
            4
        )  # for the register forms; the generator takes the first ones
        state.events[:] = rng.integers(0, 2, 256)
        machine = machine_of(CONFIG)
        state.copy_into(machine)
        programs = [with_events(rng, split_records(p), machine) for p in programs]
        modes |= {byte for p in programs for r in split_records(p) for byte in (r[4], r[6] + 256)}
        workload.append(state, programs)
    assert modes >= {*WaitMode, *(mode + 256 for mode in UpdateMode)}
    failure = first_failure(
        workload.programs,
        workload.states,
        suspect=partial(rtl, config=CONFIG, **pauses),
        reference=partial(golden, config=CONFIG),
    )
    if failure is not None:
        pytest.fail(str(failure), pytrace=False)


def test_a_wait_in_vain_names_what_it_waits_for():
    program = encode(Opcode.NOP, {}) + encode(
        Opcode.NOP,
        {
            "events.wait_mode": WaitMode.SEM_GE_IMM,
            "events.wait_idx": 9,
            "events.semaphore_value": 3,
        },
    )
    expected = (
        "instruction 1 (nop) waits for semaphore 9 >= 3 (sem_ge_imm); "
        "another engine has to set semaphore 9 to 3"
    )
    with pytest.raises(WaitError, match=re.escape(expected)):
        run_program(program, config=CONFIG)


def test_two_engines(run_bench):
    run_bench(
        "two_engines",
        top=SIM_TOP,
        build_dir=build(CONFIG).build_dir,
        tests=BENCH_TESTS["two_engines"],
    )
