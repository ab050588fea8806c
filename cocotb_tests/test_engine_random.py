"""Random programs, legal and illegal: the RTL ends in the state that the golden machine ends in."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from benches.configs import DEEP, SMALL
from dve_cosim.aliasing import Alias
from dve_cosim.compare import differences
from dve_cosim.coverage import features
from dve_cosim.mutants import mutants
from dve_cosim.operand_types import opcodes_of
from dve_cosim.scoreboard import first_failure, golden, rtl
from dve_cosim.workloads import (
    Workload,
    geometry_of,
    random_programs,
    work_of,
)
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import PLAIN_DTYPES, RESULT_DTYPES, Reason, WaitMode
from dve_golden.isa.generations import Generation

ENGINES = {f"{lanes} lanes": SMALL[lanes] for lanes in (1, 4, 8)} | {"deep": DEEP}

SHARES_OF_SPECIALS = (0.0, 0.02, 0.3)
"""Of NaN, infinities, subnormals, signed zeros and any bits among the words of each state."""

EXERCISED = {
    *(opcode.name for opcode in opcodes_of(Generation.CAYMAN)),
    *(f"source {dtype.name}" for dtype in PLAIN_DTYPES),
    *(f"destination {dtype.name}" for dtype in RESULT_DTYPES),
    *(
        f"{role} {what}"
        for role in ("source", "destination")
        for what in (
            "in SBUF",
            "in PSUM",
            *(f"in quadrant {quadrant}" for quadrant in range(4)),
            "with a negative step",
            "with a step of zero",
            "of one element",
            "address in a register",
        )
    ),
    "channels 1",
    "channels 128",
    "pointer in a register",
    *Alias,
}


def compare(workload, config, seed, **pauses):
    """Fail with the smallest program on which the RTL and the golden machine differ."""
    failure = first_failure(
        workload.programs,
        workload.states,
        suspect=partial(rtl, config=config, **pauses),
        reference=partial(golden, config=config),
    )
    if failure is not None:
        pytest.fail(f"seed {seed}, {config}:\n{failure}", pytrace=False)


@pytest.mark.parametrize("engine", ENGINES)
def test_legal_programs(engine):
    config = ENGINES[engine]
    seed = 100 * list(ENGINES).index(engine)
    workload = Workload()
    for offset, special in enumerate(SHARES_OF_SPECIALS):
        workload.append(
            *random_programs(seed + offset, config, programs=6, instructions=20, special=special)
        )
    workload.append(
        *random_programs(
            seed + 50, config, programs=2, instructions=6, special=0.0, max_elements=600
        )
    )
    counts = Counter(
        name
        for record, state in workload.records()
        for name in features(record, state.registers, geometry_of(config))
    )
    for alias in Alias:  # of whichever source
        counts[alias] = counts[f"src0 {alias}"] + counts[f"src1 {alias}"]
    assert not EXERCISED - (+counts).keys()
    compare(workload, config, seed)


WAITS = frozenset(WaitMode) - {WaitMode.NONE}
ILLEGAL = 1600
EXECUTED = 250
"""At most so many altered records that are still legal."""

MOST_WORK = 20_000
"""Elements times channels; a mutated count can be far more than a test has time for."""


def test_illegal_records_change_nothing():
    config, seed = SMALL[4], 8
    rng = np.random.default_rng(seed)
    state, programs = random_programs(seed, config, programs=1, instructions=200, special=0.02)
    illegal, executed, reasons = [], [], Counter()
    geometry = geometry_of(config)
    for record in mutants(rng, programs[0], state.registers):
        if record[4] in WAITS:  # on what it would wait depends on its place in the program
            continue
        reason = validate(record, registers=state.registers, geometry=geometry).reason
        if reason is not Reason.NONE:
            illegal.append(record)
            reasons[record[0] if reason is not Reason.OPCODE else None, reason] += 1
        elif len(executed) < EXECUTED and work_of(record) <= MOST_WORK:
            executed.append(record)
        if len(illegal) == ILLEGAL:
            break
    assert {reason for _, reason in reasons} == set(Reason) - {Reason.NONE}
    assert {opcode for opcode, _ in reasons} == {None, *opcodes_of(Generation.CAYMAN)}
    assert len(executed) > EXECUTED / 2

    (after,) = golden([b"".join(illegal)], {0: state}, config=config)
    # Semaphores and events do change: an illegal record updates them, lest another engine hang.
    changed = {difference.array for difference in differences(after.state, state)}
    assert changed == {"semaphores", "events"}
    workload = Workload()
    workload.append(state, (b"".join(illegal[at : at + 100]) for at in range(0, ILLEGAL, 100)))
    # Interleaved: what is not executed must not disturb its neighbours either.
    mixed = [record for pair in zip(executed, illegal, strict=False) for record in pair]
    workload.programs += [b"".join(mixed[at : at + 50]) for at in range(0, len(mixed), 50)]
    compare(workload, config, seed)
