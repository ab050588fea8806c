"""Waits, updates and posts of the golden machine, against isa_common.md 1.4 to 1.6 and 5.8."""

from dataclasses import astuple

import numpy as np
import pytest
from dve_golden.frontend.sync import Post
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Dtype, Opcode, Reason, UpdateMode, WaitMode
from dve_golden.machine import Completion, Machine, WaitingError

MIN, MAX, MINUS_ONE = 0x8000_0000, 0x7FFF_FFFF, 0xFFFF_FFFF
WORDS = [0, 1, 2, MAX - 1, MAX, MIN, MIN + 1, MINUS_ONE - 1, MINUS_ONE]
INDEX, REGISTER = 200, 63

EVENT = Opcode.EVENT_SEMAPHORE


@pytest.fixture
def machine():
    return Machine(sbuf_bytes=64, psum_bytes=64)


def record(opcode=EVENT, *, wait=0, update=0, operands=(0, 0), at=(INDEX, INDEX), **fields):
    """A record with events; ``operands`` and ``at`` are of wait and update in this order."""
    values = {"events.semaphore_value": operands[0]}
    if opcode is EVENT:
        values = {"events.wait_value": operands[0], "events.update_value": operands[1]}
    events = {
        "events.wait_mode": wait,
        "events.wait_idx": at[0],
        "events.update_mode": update,
        "events.update_idx": at[1],
    }
    return encode(opcode, {**events, **values, **fields})


def load_ram(**events):
    """Reciprocal 5 becomes the word at the start of partition 0."""
    fields = {"addr": 0, "first_entry": 5, "entry_count": 1, "dtype": Dtype.FP32}
    return record(Opcode.LOAD_PARAMETER_RAM, **{**fields, **events})


def snapshot(machine):
    return {
        name: array.tobytes()
        for name, array in vars(machine).items()
        if isinstance(array, np.ndarray)
    }


def signed(word):
    return (word ^ MIN) - MIN


def waits(machine, instruction):
    """Whether an instruction waits; if it does, nothing may have changed."""
    before = snapshot(machine)
    try:
        machine.execute(instruction)
    except WaitingError:
        assert snapshot(machine) == before
        return True
    return False


# --- waits ----------------------------------------------------------------------------------

HOLDS = {
    WaitMode.SEM_EQ_IMM: "==",
    WaitMode.SEM_LT_IMM: "<",
    WaitMode.SEM_LE_IMM: "<=",
    WaitMode.SEM_GT_IMM: ">",
    WaitMode.SEM_GE_IMM: ">=",
}


def holds(relation, count, threshold):
    count, threshold = signed(count), signed(threshold)
    return {
        "==": count == threshold,
        "<": count < threshold,
        "<=": count <= threshold,
        ">": count > threshold,
        ">=": count >= threshold,
    }[relation]


@pytest.mark.parametrize("mode", HOLDS)
@pytest.mark.parametrize("register_form", [False, True])
def test_semaphore_waits_compare_as_signed_and_change_nothing(machine, mode, register_form):
    code = mode | 0x80 if register_form else mode
    assert not register_form or code in set(WaitMode)
    seen = set()
    for count in WORDS:
        for threshold in WORDS:
            machine.semaphores[INDEX] = count
            machine.registers[REGISTER] = threshold if register_form else 0x1234
            before = snapshot(machine)
            # The upper 24 bits of a register operand are ignored.
            value = 0xABCD_EF00 | REGISTER if register_form else threshold
            expected = holds(HOLDS[mode], count, threshold)
            assert waits(machine, record(wait=code, operands=(value, 77))) is not expected
            assert snapshot(machine) == before
            seen.add(expected)
    assert seen == {False, True}


EVENT_WAITS = {
    WaitMode.EVT_SET: (1, 1),
    WaitMode.EVT_SET_THEN_CLEAR: (1, 0),
    WaitMode.EVT_CLEAR: (0, 0),
    WaitMode.EVT_CLEAR_THEN_SET: (0, 1),
}
"""The bit that is awaited, and the bit afterwards."""


@pytest.mark.parametrize("mode", EVENT_WAITS)
def test_event_waits(machine, mode):
    awaited, after = EVENT_WAITS[mode]
    machine.semaphores[:] = 1 - awaited  # a bank of its own
    machine.events[:] = awaited
    machine.events[INDEX] = 1 - awaited
    assert waits(machine, record(wait=mode))
    machine.events[:] = 1 - awaited
    machine.events[INDEX] = awaited
    assert not waits(machine, record(wait=mode))
    expected = np.full(256, 1 - awaited, np.uint8)
    expected[INDEX] = after
    assert machine.events.tolist() == expected.tolist()


def test_every_wait_mode_is_tested():
    registers = {mode | 0x80 for mode in HOLDS}
    assert {WaitMode.NONE, *HOLDS, *registers, *EVENT_WAITS} == set(WaitMode)


def test_a_wait_of_none_never_waits(machine):
    assert not waits(machine, record(wait=WaitMode.NONE, operands=(5, 5)))


# --- updates --------------------------------------------------------------------------------

READ, COMPLETE, FROM_REGISTER = 0x00, 0x10, 0x80
OPERAND = {0x5: lambda s, v: s + v, 0x7: lambda s, v: s - v, 0x9: lambda s, v: v}
"""Actions with an operand, by bits 3:0 of the mode."""

STEP = {0x3: 1, 0x4: -1}
BIT = {0x1: 1, 0x2: 0}


def test_every_update_mode_is_tested():
    modes = {action | when for action in (*OPERAND, *STEP, *BIT) for when in (READ, COMPLETE)}
    modes |= {action | when | FROM_REGISTER for action in OPERAND for when in (READ, COMPLETE)}
    assert modes == set(UpdateMode) - {UpdateMode.NONE}


@pytest.mark.parametrize("when", [READ, COMPLETE])
@pytest.mark.parametrize("register_form", [False, True])
@pytest.mark.parametrize("action", OPERAND)
def test_updates_with_an_operand_are_modulo_2_to_the_32(machine, action, register_form, when):
    mode = action | when | (FROM_REGISTER if register_form else 0)
    for count in WORDS:
        for operand in WORDS:
            machine.semaphores[:] = 0x5555_5555
            machine.semaphores[INDEX] = count
            machine.registers[:] = 0x1234
            machine.registers[REGISTER] = operand
            value = 0xABCD_EF00 | REGISTER if register_form else operand
            machine.execute(record(update=mode, operands=(9, value)))
            expected = OPERAND[action](count, operand) % (1 << 32)
            assert machine.semaphores[INDEX] == expected
            assert (np.delete(machine.semaphores, INDEX) == 0x5555_5555).all()
    assert not machine.events.any()


@pytest.mark.parametrize("when", [READ, COMPLETE])
@pytest.mark.parametrize("action", STEP)
def test_inc_and_dec_ignore_the_operand(machine, action, when):
    for count in WORDS:
        machine.semaphores[INDEX] = count
        machine.execute(record(update=action | when, operands=(0x77, 0x88)))
        assert machine.semaphores[INDEX] == (count + STEP[action]) % (1 << 32)


@pytest.mark.parametrize("when", [READ, COMPLETE])
@pytest.mark.parametrize("action", BIT)
def test_event_updates_are_idempotent(machine, action, when):
    for before in (0, 1):
        machine.events[:] = before
        machine.execute(record(update=action | when))
        assert machine.events[INDEX] == BIT[action]
        assert (np.delete(machine.events, INDEX) == before).all()
    assert not machine.semaphores.any()


def test_an_update_of_none_changes_nothing(machine):
    before = snapshot(machine)
    machine.execute(record(update=UpdateMode.NONE, operands=(5, 5)))
    assert snapshot(machine) == before


# --- both in one record ---------------------------------------------------------------------


def test_only_0xa0_has_separate_operands(machine):
    modes = {"wait": WaitMode.SEM_EQ_IMM, "update": UpdateMode.SEM_ADD_IMM_COMPLETE}
    machine.semaphores[INDEX] = 3
    machine.execute(record(EVENT, **modes, operands=(3, 5)))
    assert machine.semaphores[INDEX] == 8
    machine.execute(record(Opcode.NOP, **modes, operands=(8, 0)))
    assert machine.semaphores[INDEX] == 16


def test_the_side_effect_of_a_wait_precedes_the_update(machine):
    machine.events[INDEX] = 1
    again = record(wait=WaitMode.EVT_SET_THEN_CLEAR, update=UpdateMode.EVT_SET_COMPLETE)
    machine.execute(again)
    assert machine.events[INDEX] == 1
    machine.execute(record(wait=WaitMode.EVT_SET_THEN_CLEAR))
    assert waits(machine, again)


def test_indices_of_wait_and_update_are_their_own(machine):
    machine.semaphores[255] = 1
    instruction = record(
        wait=WaitMode.SEM_GE_IMM,
        update=UpdateMode.SEM_INC_READ,
        operands=(1, 0),
        at=(255, 0),
    )
    machine.execute(instruction)
    assert (machine.semaphores[0], machine.semaphores[255]) == (1, 1)


# --- order of isa_common.md 5.8 -------------------------------------------------------------


def test_a_compute_record_waits_executes_and_updates(machine):
    machine.sbuf.view(np.float32)[0, 0] = 7.5
    instruction = load_ram(
        wait=WaitMode.SEM_GE_IMM, update=UpdateMode.SEM_SUB_IMM_COMPLETE, operands=(2, 2)
    )
    with pytest.raises(WaitingError):
        machine.execute(instruction)
    assert machine.parameter_ram[5] == np.float32(0.2)
    machine.post(Post.SEM_ADD, INDEX, 3)
    assert machine.execute(instruction) == Completion(0, 0x66, Reason.NONE)
    assert (machine.parameter_ram[5], machine.semaphores[INDEX]) == (7.5, 1)


def test_an_illegal_instruction_waits_and_updates_too(machine):
    before = machine.parameter_ram.tobytes()
    illegal = load_ram(
        wait=WaitMode.EVT_SET_THEN_CLEAR, update=UpdateMode.SEM_INC_READ, entry_count=0
    )
    assert waits(machine, illegal)
    machine.post(Post.EVT_SET, INDEX)
    assert machine.execute(illegal).reason is Reason.COUNT_ZERO
    assert (machine.events[INDEX], machine.semaphores[INDEX]) == (0, 1)
    assert machine.parameter_ram.tobytes() == before


def test_reserved_bytes_of_a_sequencer_record_do_not_stop_its_update(machine):
    for opcode, size in ((EVENT, 48), (Opcode.NOP, 52)):
        instruction = record(opcode, update=UpdateMode.SEM_INC_COMPLETE, reserved0=b"\1" * size)
        assert machine.execute(instruction).reason is Reason.RESERVED
    assert machine.semaphores[INDEX] == 2


@pytest.mark.parametrize(
    ("at", "byte", "reason"), [(0, 0x42, Reason.OPCODE), (1, 17, Reason.LENGTH)]
)
def test_reasons_1_and_2_neither_wait_nor_update(machine, at, byte, reason):
    instruction = bytearray(
        load_ram(wait=WaitMode.EVT_CLEAR_THEN_SET, update=UpdateMode.SEM_INC_READ)
    )
    instruction[at] = byte
    before = snapshot(machine)
    assert machine.execute(bytes(instruction)).reason is reason
    machine.events[INDEX] = 1  # now the wait would not hold
    assert machine.execute(bytes(instruction)).reason is reason
    machine.events[INDEX] = 0
    assert snapshot(machine) == before


def test_an_illegal_wait_does_not_wait_but_updates(machine):
    update = UpdateMode.SEM_ADD_IMM_COMPLETE
    undefined = sorted(set(range(256)) - set(WaitMode))
    for mode in undefined:
        instruction = record(wait=mode, update=update, operands=(1, 2))
        assert machine.execute(instruction).reason is Reason.WAIT
    assert machine.semaphores[INDEX] == 2 * len(undefined)
    missing = record(wait=WaitMode.SEM_GT_REG, update=update, operands=(64, 2))
    assert machine.execute(missing).reason is Reason.WAIT
    assert machine.semaphores[INDEX] == 2 * len(undefined) + 2
    assert not machine.events.any()


def test_an_illegal_update_waits_and_changes_nothing(machine):
    before = snapshot(machine)
    for mode in sorted(set(range(256)) - set(UpdateMode)):
        illegal = record(wait=WaitMode.EVT_SET_THEN_CLEAR, update=mode, operands=(1, 1))
        assert waits(machine, illegal)
        machine.post(Post.EVT_SET, INDEX)
        assert machine.execute(illegal).reason is Reason.UPDATE
        assert snapshot(machine) == before
    missing = record(update=UpdateMode.SEM_WR_REG_COMPLETE, operands=(0, 64))
    assert machine.execute(missing).reason is Reason.UPDATE
    assert snapshot(machine) == before


def test_registers_are_read_after_the_wait(machine):
    instruction = load_ram(wait=WaitMode.EVT_SET, addr=0x8000_0000 | REGISTER)
    assert waits(machine, instruction)
    machine.registers[REGISTER] = 2  # misaligned
    machine.post(Post.EVT_SET, INDEX)
    assert machine.execute(instruction).reason is Reason.ALIGNMENT


# --- waiting --------------------------------------------------------------------------------


def test_an_error_names_instruction_and_condition(machine):
    machine.execute(record())
    machine.semaphores[INDEX] = MINUS_ONE
    machine.registers[REGISTER] = 4
    with pytest.raises(WaitingError) as caught:
        machine.execute(load_ram(wait=WaitMode.SEM_GT_REG, operands=(REGISTER, 0)))
    error = caught.value
    assert (error.sequence, error.opcode, error.wait_mode) == (1, 0x66, WaitMode.SEM_GT_REG)
    assert (error.index, error.threshold, error.value) == (INDEX, 4, -1)
    assert error.completions == ()
    assert str(error) == (
        "instruction 1 (load_parameter_ram) waits for semaphore 200 > 4 (sem_gt_reg), but it is -1"
    )
    with pytest.raises(WaitingError) as caught:
        machine.execute(record(wait=WaitMode.EVT_SET_THEN_CLEAR, at=(3, 0)))
    assert str(caught.value) == (
        "instruction 1 (event_semaphore) waits for event 3 == 1 (evt_set_then_clear), but it is 0"
    )


@pytest.mark.parametrize(
    ("mode", "count", "threshold", "needed"),
    [
        (WaitMode.SEM_EQ_IMM, 0, MINUS_ONE, -1),
        (WaitMode.SEM_LT_IMM, 0, MINUS_ONE, -2),
        (WaitMode.SEM_LT_IMM, 0, MIN, None),
        (WaitMode.SEM_LE_IMM, 0, MIN, -(1 << 31)),
        (WaitMode.SEM_GT_IMM, 0, 7, 8),
        (WaitMode.SEM_GT_IMM, 0, MAX, None),
        (WaitMode.SEM_GE_IMM, 0, MAX, (1 << 31) - 1),
        (WaitMode.SEM_GE_REG, 0, REGISTER, 9),
    ],
)
def test_an_error_says_what_to_post(machine, mode, count, threshold, needed):
    machine.semaphores[INDEX] = count
    machine.registers[REGISTER] = 9
    instruction = record(wait=mode, operands=(threshold, 0))
    with pytest.raises(WaitingError) as caught:
        machine.execute(instruction)
    if needed is None:
        assert caught.value.remedy == "no value of semaphore 200 ends that"
        return
    assert caught.value.remedy == f"another engine has to set semaphore 200 to {needed}"
    machine.post(Post.SEM_SET, INDEX, needed)
    assert not waits(machine, instruction)


def test_an_error_says_which_event_to_post(machine):
    for wait, needed in ((WaitMode.EVT_SET, 1), (WaitMode.EVT_CLEAR, 0)):
        machine.events[INDEX] = 1 - needed
        with pytest.raises(WaitingError) as caught:
            machine.execute(record(wait=wait))
        assert caught.value.remedy == f"another engine has to set event 200 to {needed}"


def test_a_run_can_be_taken_up_where_it_waits(machine):
    program = record(update=UpdateMode.SEM_INC_READ) + bytes([0x42]) + bytes(63)
    program += record(wait=WaitMode.SEM_EQ_IMM, operands=(2, 0)) + record(Opcode.NOP)
    with pytest.raises(WaitingError, match=r"instruction 2 .* == 2 .* is 1$") as caught:
        machine.run(program)
    done = caught.value.completions
    assert [astuple(completion) for completion in done] == [(0, 0xA0, 0), (1, 0x42, 1)]
    machine.post(Post.SEM_ADD, INDEX, 1)
    rest = machine.run(program[64 * len(done) :])
    assert [astuple(completion) for completion in rest] == [(2, 0xA0, 0), (3, 0xA4, 0)]


@pytest.mark.parametrize(
    ("kind", "before", "value", "after"),
    [
        (Post.SEM_SET, 5, MINUS_ONE, MINUS_ONE),
        (Post.SEM_SET, 5, -2, MINUS_ONE - 1),
        (Post.SEM_ADD, MAX, 1, MIN),
        (Post.SEM_ADD, MINUS_ONE, 3, 2),
        (Post.SEM_SUB, 0, 1, MINUS_ONE),
        (Post.SEM_SUB, 7, 7, 0),
    ],
)
def test_posts_to_a_semaphore(machine, kind, before, value, after):
    machine.semaphores[INDEX] = before
    machine.post(kind, INDEX, value)
    expected = np.zeros(256, np.uint32)
    expected[INDEX] = after
    assert machine.semaphores.tolist() == expected.tolist()
    assert not machine.events.any()


def test_posts_to_an_event(machine):
    for kind, after in ((Post.EVT_SET, 1), (Post.EVT_SET, 1), (Post.EVT_CLR, 0), (Post.EVT_CLR, 0)):
        machine.post(kind, 255, 7)
        assert np.flatnonzero(machine.events).tolist() == [255] * after
    assert not machine.semaphores.any()


@pytest.mark.parametrize("index", [-1, 256])
@pytest.mark.parametrize("kind", Post)
def test_posts_elsewhere_are_refused(machine, kind, index):
    before = snapshot(machine)
    with pytest.raises(ValueError, match=f"numbered 0 to 255, got {index}"):
        machine.post(kind, index, 1)
    assert snapshot(machine) == before
