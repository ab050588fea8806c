"""The fuzzer finds a wrong bit, shrinks the program that shows it, and writes it as a case."""

from functools import partial

import numpy as np
import pytest
from dve_cosim.case import Case
from dve_cosim.corners import LONGEST, MOST_WORK
from dve_cosim.coverage import Bin, bin_of
from dve_cosim.errors import EngineError
from dve_cosim.fuzz import fuzz
from dve_cosim.fuzz_batch import PROGRAMS, is_long, make_batch
from dve_cosim.long_programs import long_programs
from dve_cosim.reachable import reachable_bins
from dve_cosim.reference import geometry_of
from dve_cosim.scoreboard import Outcome, first_failure, golden, golden_afresh, rtl
from dve_cosim.state import ArchState
from dve_cosim.workloads import work_of
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import assemble, split_records
from dve_rtl.config import EngineConfig

CONFIG = EngineConfig(lanes=4, sbuf_bytes=1024, psum_bytes=512)
reference = partial(golden, config=CONFIG)


def campaign(suspect, *, count: int | None = 128, seed=3, **options):
    return fuzz(
        seed=seed,
        count=count,
        config=CONFIG,
        illegal=0.3,
        suspect=suspect,
        reference=reference,
        **options,
    )


def wrong_where(culprit, programs, states):
    """The golden machine, whose SBUF has a wrong bit once a ``culprit`` has executed."""
    for program, outcome in zip(programs, reference(programs, states), strict=True):
        if any(map(culprit, split_records(program))):
            outcome.state.sbuf[5, 77] ^= 0x20
        yield outcome


def loads_parameters(record):
    return record[0] == Opcode.LOAD_PARAMETER_RAM and record[1] == 16


# --- finding and shrinking ------------------------------------------------------------------


def test_equal_sides_run_to_the_end():
    seen = []
    result = campaign(
        partial(golden_afresh, config=CONFIG), count=100, progress=lambda *step: seen.append(step)
    )
    assert result.failure is None
    assert (result.programs, result.batch) == (100, -1)
    assert seen == [("fuzz", 64, 100), ("fuzz", 100, 100)]
    assert sum(result.bins.values()) == result.instructions > 200


def test_a_wrong_bit_is_found_and_shrunk_to_one_instruction(tmp_path):
    suspect = partial(wrong_where, loads_parameters)
    result = campaign(suspect)
    assert result.failure is not None
    assert len(result.failure.program) == 64
    assert loads_parameters(result.failure.program)
    assert result.failure.message.startswith("sbuf[5, 77]: got 0x")
    assert result.name == f"fuzz_3_{result.batch}"

    for suffix, data in result.case.files().items():
        (tmp_path / f"case{suffix}").write_bytes(data)
    case = Case.load(tmp_path / "case.bin")
    assert case.config(4) == CONFIG
    again = first_failure([case.program], {0: case.state}, suspect=suspect, reference=reference)
    assert again is not None
    assert again.message == result.failure.message


def test_a_failure_in_a_later_batch_stops_the_campaign_there():
    target = make_batch(3, 1, config=CONFIG, illegal=0.3).programs[40]
    last = split_records(target)[-1]
    result = campaign(partial(wrong_where, lambda record: record == last))
    assert (result.batch, result.programs) == (1, 128)
    assert result.failure is not None
    assert result.failure.program == last


def test_a_failure_across_programs_keeps_the_batch():
    def only_long_programs(programs, states):
        for program, outcome in zip(programs, reference(programs, states), strict=True):
            outcome.state.psum[0, 0] ^= len(program) > 20 * 64
            yield outcome

    result = campaign(only_long_programs, count=12)
    assert result.failure is not None
    assert len(result.failure.program) == 21 * 64
    assert result.failure.message.startswith("psum[0, 0]")


def test_a_failure_that_does_not_come_again_keeps_the_batch():
    calls = []

    def once(programs, states):
        calls.append(programs)
        yield from wrong_where(lambda _: len(calls) == 1, programs, states)

    result = campaign(once, count=64)
    assert result.failure is not None
    assert result.failure.program == make_batch(3, 0, config=CONFIG, illegal=0.3).joined


def test_a_hang_is_a_difference(monkeypatch):
    def run_batches(programs, *, config, reloads):
        """Ends like a simulator in which no instruction of length 16 and opcode 0x66 completes."""
        for program, outcome in zip(programs, reference(programs, reloads), strict=True):
            if any(map(loads_parameters, split_records(program))):
                raise EngineError("simulation failed: instruction 0 did not complete")
            yield Result(outcome)

    class Result:
        def __init__(self, outcome):
            self.state = outcome.state
            self.opcode, self.reason = np.array(outcome.opcode), np.array(outcome.reason)

    monkeypatch.setattr("dve_cosim.scoreboard.run_batches", run_batches)
    result = campaign(partial(rtl, config=CONFIG))
    assert result.failure is not None
    assert len(result.failure.program) == 64
    assert result.failure.message == "simulation failed: instruction 0 did not complete"


def test_time_ends_a_campaign(monkeypatch):
    monkeypatch.setattr("dve_cosim.fuzz.BATCHES_PER_RUN", 1)
    result = campaign(reference, count=None, seconds=0.0)
    assert result.programs == PROGRAMS
    assert result.failure is None


# --- programs -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def batches():
    return [make_batch(11, number, config=CONFIG, illegal=0.3) for number in range(2)]


def test_programs_follow_from_seed_and_number(batches):
    again = make_batch(11, 1, config=CONFIG, illegal=0.3)
    assert again.programs == batches[1].programs
    for name, array in again.state.arrays().items():
        assert array.tobytes() == getattr(batches[1].state, name).tobytes()
    assert make_batch(12, 1, config=CONFIG, illegal=0.3).programs != again.programs


def test_work_is_bounded_but_for_the_long_ones(batches):
    known = iter(long_programs(Generation.CAYMAN).values())
    for batch in batches:
        assert len(batch.programs) == PROGRAMS
        for at, program in enumerate(batch.programs, batch.number * PROGRAMS):
            records = split_records(program)
            work = sum(work_of(record) for record in records if is_legal(record, batch.state))
            if is_long(at):
                without_events = [record[12:] for record in split_records(next(known))]
                assert [record[12:] for record in records] == without_events
            else:
                assert work <= MOST_WORK


def test_random_long_programs_follow_the_known_ones():
    batch = make_batch(11, 2100 // PROGRAMS, config=CONFIG, illegal=0.3)
    (program,) = (
        program for at, program in enumerate(batch.programs, batch.number * PROGRAMS) if is_long(at)
    )
    assert len(program) == 64
    assert work_of(program) == LONGEST


def is_legal(record, state):
    verdict = validate(record, registers=state.registers, geometry=geometry_of(CONFIG))
    return verdict.reason is Reason.NONE


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_illegal_records(share):
    batch = make_batch(5, 0, config=CONFIG, illegal=share)
    records = split_records(batch.joined)
    illegal = sum(not is_legal(record, batch.state) for record in records)
    assert 0.6 * share <= illegal / len(records) <= 1.1 * share


def test_no_wait_is_in_vain(batches):
    (outcome,) = reference([batches[0].joined], {0: batches[0].state})
    assert isinstance(outcome, Outcome)
    assert len(outcome.opcode) == len(batches[0].joined) // 64


# --- bins -----------------------------------------------------------------------------------

PLACES = "src0=sbuf[0:0x0]:fp32:4 src1=psum[0:0x0]:bf16:4"
BACK_PROP = ("BATCH_NORM_BACK_PROP", "NONE")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            f"back_prop channels=4 {PLACES} dst=psum[0:0x80]:fp32r:4",
            Bin(*BACK_PROP, "32,16->32", "SBUF,PSUM->PSUM", "apart,apart"),
        ),
        (
            f"back_prop channels=4 {PLACES} dst=sbuf[0:0x0]:fp32:4",
            Bin(*BACK_PROP, "32,16->32", "SBUF,PSUM->SBUF", "in place,apart"),
        ),
        (
            f"back_prop channels=4 {PLACES} dst=sbuf[0:0x4]:fp32:4",
            Bin(*BACK_PROP, "32,16->32", "SBUF,PSUM->SBUF", "feeds,apart"),
        ),
        (
            f"back_prop channels=4 {PLACES} dst=psum[0:0x4]:fp32:4",
            Bin(*BACK_PROP, "32,16->32", "SBUF,PSUM->PSUM", "apart,feeds"),
        ),
        (
            "back_prop channels=4 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x8]:fp32:4"
            " dst=sbuf[0:0x4]:fp32:4",
            Bin(*BACK_PROP, "32,32->32", "SBUF,SBUF->SBUF", "feeds,overlaps"),
        ),
        (
            f"tensor_tensor channels=4 op=is_gt {PLACES} dst=sbuf[0:0x0]:fp8_exp3:4",
            Bin("TENSOR_TENSOR_ARITH_OP", "NONE", "32,16->8", "SBUF,PSUM->SBUF", "overlaps,apart"),
        ),
        (
            f"tensor_tensor channels=4 op=re_lu {PLACES} dst=sbuf[0:0x0]:fp8_exp3:4",
            Bin("TENSOR_TENSOR_ARITH_OP", "OPERATOR"),
        ),
        (
            "tensor_tensor_add_bf16 channels=4 src0=sbuf[0:0x0]:bf16:4 src1=sbuf[0:0x8]:bf16:4"
            " dst=sbuf[0:0x8]:bf16:4",
            Bin("TENSOR_TENSOR_ADD_BF16", "OPCODE"),  # sunda's only
        ),
        (
            f"back_prop channels=0 {PLACES} dst=sbuf[0:0x4]:fp32:4",
            Bin("BATCH_NORM_BACK_PROP", "PARTITION"),
        ),
        (
            "param_load channels=2 src=psum[0:0x0]:bf16:3 imm0=sbuf[0:0x0] imm1=1.0",
            Bin("BATCH_NORM_PARAM_LOAD", "NONE", "BF16", "PSUM"),
        ),
        (
            "load_parameter_ram addr=sbuf[0:0x0]:fp32 first_entry=1 entry_count=2",
            Bin("LOAD_PARAMETER_RAM", "NONE", "FP32", "SBUF"),
        ),
        (".record 42" + 63 * "00", Bin("unknown", "OPCODE")),
    ],
)
def test_bins(line, expected):
    registers = ArchState.reset(CONFIG).registers
    found = bin_of(assemble(f"{line}\n"), registers, geometry_of(CONFIG))
    assert found == expected
    assert found in reachable_bins(Generation.CAYMAN)
