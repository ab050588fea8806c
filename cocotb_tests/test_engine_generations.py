"""The engine of every other generation against the golden machine: programs at its borders."""

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from benches.configs import GENERATIONS
from dve_cosim.fuzz import fuzz
from dve_cosim.fuzz_batch import PROGRAMS, make_batch
from dve_cosim.reachable import reachable_bins
from dve_cosim.reference import geometry_of
from dve_cosim.scoreboard import golden, rtl
from dve_golden.frontend.legality import validate
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import split_records

COUNT = 2 * PROGRAMS
ILLEGAL = 0.5
SEED = 31


@pytest.mark.parametrize("generation", GENERATIONS)
def test_no_program_tells_the_sides_apart(generation):
    config = GENERATIONS[generation]
    result = fuzz(
        seed=SEED,
        count=COUNT,
        config=config,
        illegal=ILLEGAL,
        suspect=partial(rtl, config=config),
        reference=partial(golden, config=config),
    )
    if result.failure is not None:
        pytest.fail(f"batch {result.batch}:\n{result.failure}", pytrace=False)
    assert result.programs == COUNT
    assert not result.bins.keys() - reachable_bins(generation)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_programs_are_at_the_borders_of_their_generation(generation):
    config = GENERATIONS[generation]
    differing = Counter()
    for number in range(COUNT // PROGRAMS):
        batch = make_batch(SEED, number, config=config, illegal=ILLEGAL)
        for record in split_records(batch.joined):
            verdicts = [
                validate(record, registers=batch.state.registers, geometry=geometry_of(engine))
                for engine in (
                    config,
                    replace(config, generation=Generation.CAYMAN, sbuf_bytes=1 << 18),
                )
            ]
            own, on_cayman = (verdict.reason for verdict in verdicts)
            if own is not on_cayman:
                differing[own, on_cayman] += 1
    assert differing.total() >= 5, differing
