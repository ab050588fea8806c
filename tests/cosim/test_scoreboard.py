"""The scoreboard finds a wrong bit, and shrinks a program to what it takes."""

from functools import partial

import numpy as np
import pytest
from dve_cosim.generator import ProgramGenerator, random_memories
from dve_cosim.scoreboard import Outcome, first_failure, golden, mismatch
from dve_cosim.state import ArchState
from dve_golden.isa.enums import Opcode
from dve_golden.isa.text import assemble, format_instruction, split_records
from dve_golden.memory.address import Geometry
from dve_rtl.config import EngineConfig

CONFIG = EngineConfig(sbuf_bytes=1024, psum_bytes=512)
reference = partial(golden, config=CONFIG)


@pytest.fixture
def programs():
    rng = np.random.default_rng(9)
    geometry = Geometry(sbuf_bytes=1024, psum_bytes=512)
    memories = random_memories(rng, geometry, special=0.0)
    generator = ProgramGenerator(rng, geometry, memories.registers)
    made = [generator.program(6) for _ in range(4)]
    state = ArchState.reset(CONFIG)
    for name in ("sbuf", "psum", "registers"):
        getattr(state, name)[:] = getattr(memories, name)
    return made, state


def corrupted(wrong, programs, states):
    """The golden machine with one bit of SBUF flipped after each program that is ``wrong``."""
    for program, outcome in zip(programs, reference(programs, states), strict=True):
        if wrong(split_records(program)):
            outcome.state.sbuf[127, 1023] ^= 0x10
        yield outcome


def loads_ram_twice(records):
    return [record[0] for record in records].count(Opcode.LOAD_PARAMETER_RAM) >= 2


def test_equal_sides_do_not_fail(programs):
    made, state = programs
    assert first_failure(made, {0: state}, suspect=reference, reference=reference) is None


def test_a_failure_shrinks_to_one_instruction(programs):
    made, state = programs
    culprit = split_records(made[2])[3]
    failure = first_failure(
        made,
        {0: state},
        suspect=partial(corrupted, lambda records: culprit in records),
        reference=reference,
    )
    assert failure is not None
    assert failure.program == culprit
    byte = failure.state.sbuf[127, 1023]
    text, message = str(failure).splitlines()
    assert text == format_instruction(culprit)
    assert message.startswith("sbuf[127, 1023]: got 0x")
    (*before, after) = reference([*made[:2], b"".join(split_records(made[2])[:3])], {0: state})
    assert len(before) == 2
    assert after.state.sbuf[127, 1023] == byte


def test_a_failure_of_two_instructions_keeps_both(programs):
    made, state = programs
    made = [b"".join(made)]
    assert loads_ram_twice(split_records(made[0]))
    failure = first_failure(
        made, {0: state}, suspect=partial(corrupted, loads_ram_twice), reference=reference
    )
    assert failure is not None
    records = split_records(failure.program)
    assert [record[0] for record in records] == [Opcode.LOAD_PARAMETER_RAM] * 2


def test_what_a_later_wait_is_for_is_kept():
    program = assemble(
        """
        load_parameter_ram addr=sbuf[0:0x0]:fp32 first_entry=1 entry_count=1
        nop
        event_semaphore update=sem_inc_complete:3
        nop wait=sem_ge_imm:3 value=1
        load_parameter_ram addr=sbuf[0:0x0]:fp32 first_entry=2 entry_count=1
        """
    )
    failure = first_failure(
        [program],
        {0: ArchState.reset(CONFIG)},
        suspect=partial(corrupted, loads_ram_twice),
        reference=reference,
    )
    assert failure is not None
    records = split_records(program)
    assert split_records(failure.program) in (
        [records[0], records[4]],  # the waiting NOP went first, then what it waited for
        [records[0], records[2], records[3], records[4]],
    )


def test_a_failure_that_needs_history_is_kept_whole(programs):
    made, state = programs
    calls = []

    def once(programs, states):
        calls.append(len(programs))
        yield from corrupted(lambda _: len(calls) == 1, programs, states)

    failure = first_failure(made, {0: state}, suspect=once, reference=reference)
    assert failure is not None
    assert failure.program == made[0]


def test_reloaded_states_take_the_place_of_what_was_left(programs):
    made, state = programs
    other = ArchState.copy_of(state)
    other.sbuf[:] ^= 1
    failure = first_failure(
        made,
        {0: state, 2: other},
        suspect=partial(corrupted, lambda records: records == split_records(made[2])),
        reference=reference,
    )
    assert failure is not None
    assert failure.program == made[2]
    assert (failure.state.sbuf == other.sbuf).all()


def test_a_wrong_completion_is_named():
    state = ArchState.reset(CONFIG)
    message = mismatch(Outcome(state, [0x65, 0x65], [0, 9]), Outcome(state, [0x65, 0x65], [0, 8]))
    assert message == (
        "instruction 1: got opcode 0x65 reason 9 (PARTITION), "
        "expected opcode 0x65 reason 8 (REGION)"
    )
