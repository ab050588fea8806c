"""Which bins are within reach: what the generators hit is, and what the rules exclude is not."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from dve_cosim.coverage import bin_of
from dve_cosim.crosses import Cross, crosses, reachable_crosses
from dve_cosim.fuzz_batch import AIMS, make_batch
from dve_cosim.long_programs import long_programs
from dve_cosim.operand_types import FORWARD, PAIRED
from dve_cosim.reachable import (
    crossings,
    reachable_bins,
    reachable_crossings,
    unreachable_counts,
)
from dve_cosim.reference import geometry_of
from dve_cosim.state import ArchState
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import assemble, split_records
from dve_golden.memory.address import Geometry
from dve_rtl.config import EngineConfig

CONFIG = EngineConfig(lanes=4, sbuf_bytes=1024, psum_bytes=512)


def test_how_many_are_within_reach():
    # Counted by hand. Memories of the sources: both in SBUF, or one of them in PSUM; the result in
    # SBUF, or in PSUM if it has four bytes. A source in the other memory than the result is apart.
    # Sums (apart, interleaved, overlaps), for one pair of types: 9 + 3 + 3 into SBUF, 1 + 3 + 3
    # into PSUM. Results of one element each, whose sources are of a and b classes (five, or four
    # for one of another size than the result): ab + a + b into SBUF, 1 + b + a into PSUM.
    # Of these only the sizes of types count, 1, 2 or 4 bytes of each operand.
    sums = 16 * (3 * 15 + 7)

    def elementwise(*pairs: tuple[int, int], words: int) -> int:
        """Of the pairs (a, b) of a result size; in ``words`` of these sizes it has four bytes."""
        into_sbuf = sum(a * b + a + b for a, b in pairs)
        return 3 * into_sbuf + words * sum(1 + a + b for a, b in pairs)

    # Statistics, for each type of the one source: three of the results in SBUF, fp32 in PSUM.
    forward = 12 * (3 * (3 + 1) + (3 + 1))
    any_types = elementwise((5, 5), *2 * [(5, 4), (4, 5)], *4 * [(4, 4)], words=1)
    assert any_types == 828
    expected = {
        **dict.fromkeys(FORWARD, forward),
        Opcode.BATCH_NORM_GRAD_ACCUMULATE: sums,
        Opcode.BATCH_NORM_GRAD_ACCUMULATE2: sums,
        Opcode.BATCH_NORM_BACK_PROP: any_types,
        Opcode.TENSOR_TENSOR_ARITH_OP: any_types,
        Opcode.CAST_PREDICATED: any_types,
        Opcode.COPY_PREDICATED: elementwise((5, 5), *2 * [(4, 5)], words=1),
        Opcode.TENSOR_TENSOR_BITVEC_OP: elementwise((5, 5), words=1),
    }
    counts = Counter(crossing.opcode for crossing in reachable_crossings(Generation.CAYMAN))
    assert counts == expected
    out_of_reach = unreachable_counts(Generation.CAYMAN)
    every = sum(1 for _ in crossings(Generation.CAYMAN))
    assert counts.total() + sum(out_of_reach.values()) == every
    assert len(out_of_reach) == 5
    # bf16 into 1, 2 and 4 bytes
    pairs = (16 + 8) + (25 + 10) + (16 + 8 + 1 + 8)
    counts = Counter(crossing.opcode for crossing in reachable_crossings(Generation.SUNDA))
    assert counts == expected | dict.fromkeys(PAIRED, pairs)
    assert unreachable_counts(Generation.MAVERICK)["maverick has no PSUM"] > 0


@pytest.mark.parametrize("generation", [Generation.CAYMAN, Generation.SUNDA])
def test_batches_go_through_all_crossings_and_stay_within_reach(generation):
    bins: Counter = Counter()
    crossed: Counter = Counter()
    config = replace(CONFIG, generation=generation)
    for number in range(4):
        batch = make_batch(6, number, config=config, illegal=0.3)
        for record in split_records(batch.joined):
            which = bin_of(record, batch.state.registers, geometry_of(config))
            bins[which] += 1
            if which.reason == Reason.NONE.name:
                crossed.update(crosses(record, batch.state.control))
    assert bins.keys() <= reachable_bins(generation)
    assert crossed.keys() <= reachable_crosses(generation)
    aims = bins.keys() & {crossing.bin for crossing in reachable_crossings(generation)}
    assert len(aims) > 3.5 * AIMS


def test_crosses_of_a_record():
    control = [8, 0, 1, 0, 0, 1, 0]
    add = "tensor_tensor channels=1 op=add src0=sbuf[0:0x0]:int8:2 src1=sbuf[0:0x8]:bf16:2"
    found = set(crosses(assemble(f"{add} dst=sbuf[0:0x10]:fp8_exp4:2\n"), np.array(control)))
    name = "TENSOR_TENSOR_ARITH_OP"
    assert {which for which in found if which.kind != "control values"} == {
        Cross(name, "types", "INT8,BF16->FP8_EXP4"),
        Cross(name, "operators", "ADD, src0 INT8"),
        Cross(name, "operators", "ADD, src1 BF16"),
        Cross(name, "operators", "ADD, dst FP8_EXP4"),
    }
    assert Cross(name, "control values", "emax_e4m3=8, dst FP8_EXP4") in found
    assert Cross(name, "control values", "sis=0, src1 BF16") in found
    assert len(found) == 4 + 3 * len(control)

    cast = "cast_predicated channels=1 src0=sbuf[0:0x0]:int8:2 src1=sbuf[0:0x8]:fp16:2"
    (moved,) = crosses(assemble(f"{cast} dst=sbuf[0:0x10]:fp16:2\n"), np.array(control))
    assert moved == Cross("CAST_PREDICATED", "types", "INT8,FP16->FP16")
    load = "load_parameter_ram addr=sbuf[0:0x0]:fp32 first_entry=1 entry_count=2\n"
    assert not list(crosses(assemble(load), np.array(control)))


def test_how_many_crosses_are_within_reach():
    # Twelve types of sources and thirteen of results, seventeen or twenty-one operators, seven
    # control values of two states.
    counts = Counter(which[:2] for which in reachable_crosses(Generation.MARIANA))
    statistics = {"types": 12 * 3, "control values": 14 * (12 + 3)}
    assert counts == {
        **{(opcode.name, kind): n for opcode in FORWARD for kind, n in statistics.items()},
        ("TENSOR_TENSOR_ARITH_OP", "types"): 12 * 12 * 13,
        ("TENSOR_TENSOR_ARITH_OP", "operators"): 21 * (12 + 12 + 13),
        ("TENSOR_TENSOR_ARITH_OP", "control values"): 14 * (12 + 12 + 13),
        ("BATCH_NORM_BACK_PROP", "types"): 12 * 12 * 13,
        ("BATCH_NORM_BACK_PROP", "control values"): 14 * (12 + 12 + 13),
        ("TENSOR_TENSOR_BITVEC_OP", "types"): 6,
        ("TENSOR_TENSOR_BITVEC_OP", "operators"): 9 * 3 * 6,
        ("COPY_PREDICATED", "types"): 6 * 12,
        ("CAST_PREDICATED", "types"): 6 * 12 * 12,
        ("CAST_PREDICATED", "control values"): 14 * (12 + 12),
    }
    cayman = Counter(which[:2] for which in reachable_crosses(Generation.CAYMAN))
    assert counts - cayman == {("TENSOR_TENSOR_ARITH_OP", "operators"): 4 * (12 + 12 + 13)}


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
