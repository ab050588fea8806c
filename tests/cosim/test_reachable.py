"""Which bins are within reach: what the generators hit is, and what the rules exclude is not."""

from collections import Counter

import pytest
from dve_cosim.coverage import bin_of
from dve_cosim.fuzz_batch import AIMS, make_batch
from dve_cosim.long_programs import long_programs
from dve_cosim.reachable import (
    crossings,
    reachable_bins,
    reachable_crossings,
    unreachable_counts,
)
from dve_cosim.state import ArchState
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import split_records
from dve_golden.memory.address import Geometry
from dve_rtl.config import EngineConfig

CONFIG = EngineConfig(lanes=4, sbuf_bytes=1024, psum_bytes=512)


def test_how_many_are_within_reach():
    # Counted by hand. Memories of the sources: both in SBUF, or one of them in PSUM; the result in
    # SBUF, or in PSUM if it has four bytes. A source in the other memory than the result is apart.
    # Sums (apart, interleaved, overlaps), for one pair of types: 9 + 3 + 3 into SBUF, 1 + 3 + 3
    # into PSUM. Results of one element each, whose sources are of a and b classes (five, or four
    # for one of another size than the result): ab + a + b into SBUF, 1 + b + a into PSUM.
    sums = 16 * (3 * 15 + 7)
    into_words = {(5, 5): 4, (5, 4): 4, (4, 5): 4, (4, 4): 4}  # how many pairs of types
    gradients = 2 * sum(pairs * (a * b + a + b + 1 + a + b) for (a, b), pairs in into_words.items())
    gradients += 2 * sum(pairs * (a * b + a + b) for (a, b), pairs in into_words.items())
    counts = Counter(crossing.opcode for crossing in reachable_crossings(Generation.CAYMAN))
    assert counts == {
        Opcode.BATCH_NORM_GRAD_ACCUMULATE: sums,
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2: sums,
        Opcode.BATCH_NORM_BACK_PROP: gradients,
    }
    out_of_reach = unreachable_counts(Generation.CAYMAN)
    assert counts.total() + sum(out_of_reach.values()) == sum(1 for _ in crossings())
    assert len(out_of_reach) == 5
    assert unreachable_counts(Generation.MAVERICK)["maverick has no PSUM"] > 0


def test_batches_go_through_all_crossings_and_stay_within_reach():
    bins: Counter = Counter()
    for number in range(4):
        batch = make_batch(6, number, config=CONFIG, illegal=0.3)
        for record in split_records(batch.joined):
            bins[
                bin_of(record, batch.state.registers, Geometry(sbuf_bytes=1024, psum_bytes=512))
            ] += 1
    assert bins.keys() <= reachable_bins(Generation.CAYMAN)
    crossed = bins.keys() & {crossing.bin for crossing in reachable_crossings(Generation.CAYMAN)}
    assert len(crossed) > 3.5 * AIMS


@pytest.mark.parametrize("generation", Generation)
def test_long_programs_are_legal(generation):
    geometry = Geometry(sbuf_bytes=1024, psum_bytes=512, generation=generation)
    registers = ArchState.reset(CONFIG).registers
    programs = long_programs(generation)
    assert len(programs) == 20
    for name, program in programs.items():
        for record in split_records(program):
            verdict = validate(record, registers=registers, geometry=geometry)
            assert verdict.reason is Reason.NONE, name
