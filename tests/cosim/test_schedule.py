"""Who works when: passes fill the clocks between completions, units follow, shares add up."""

import json
from itertools import pairwise

import numpy as np
import pytest
from dve_cosim.clocks import FIRST_ISSUE_CLOCKS, overhead, tensor_tensor_tail
from dve_cosim.main_job import run_main_job
from dve_cosim.main_result import Workload
from dve_cosim.schedule import INSTRUCTIONS, SLOTS, TRACKS, schedule, utilisation
from dve_cosim.trace import as_trace
from dve_golden.batchnorm import Layer
from dve_golden.isa.enums import Dtype
from dve_golden.isa.text import split_records
from dve_golden.program import ProgramBuilder
from dve_rtl.config import PRESETS, EngineConfig
from dve_rtl.sequencer import pass_gap

SIM = PRESETS["sim"]


def program(channels=20, count=50):
    """One instruction of every kind that a backward pass has."""
    b = ProgramBuilder()
    x, dy, out = (b.sbuf(name, channels, count) for name in ("x", "dy", "out"))
    mask = b.sbuf("mask", channels, count, Dtype.UINT8)
    columns = b.sbuf("columns", channels, 8)
    for tensor in (x, dy, out, mask, columns):
        b.written_by_host(tensor)
    b.tensor_tensor(mask, x, dy, op="is_gt")
    b.copy_predicated(out, mask, dy)
    b.grad_accumulate(columns[:3], x, out, columns[3], columns[4])
    b.tensor_tensor(columns[5], columns[3], columns[4], op="mult")
    b.tensor_tensor(columns[6], columns[3], columns[4], op="subtract")
    b.param_load(columns[:2], columns[5], columns[3], count)
    b.back_prop(out, x, dy)
    b.cast_predicated(out, mask, dy)
    b.nop()
    return split_records(b.encode())


def timed(cycles=(500, 500, 500, 60, 60, 60, 500, 500, 20)):
    return list(zip(program(), cycles, strict=True))


def test_instructions_follow_each_other():
    found = [busy for busy in schedule(SIM, timed()) if busy.track == INSTRUCTIONS]
    assert [busy.start for busy in found] == [0, 500, 1000, 1500, 1560, 1620, 1680, 2180, 2680]
    assert [busy.name for busy in found[:3]] == [
        "tensor_tensor",
        "copy_predicated",
        "grad_accumulate2",
    ]


def test_no_unit_does_two_things_at_once():
    stretches = sorted(schedule(SIM, timed()), key=lambda busy: busy.start)
    for track in TRACKS:
        own = [busy for busy in stretches if busy.track == track]
        for before, after in pairwise(own):
            assert before.start + before.clocks <= after.start, track


def test_everything_happens_within_its_instruction():
    stretches = list(schedule(SIM, timed()))
    spans = {busy.sequence: busy for busy in stretches if busy.track == INSTRUCTIONS}
    for busy in stretches:
        whole = spans[busy.sequence]
        assert whole.start <= busy.start
        assert busy.start + busy.clocks <= whole.start + whole.clocks


@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_first_slot_comes_when_the_sequencer_issues_it(lanes):
    """At the documented cycles, counting back from the completion leads to the begin."""
    config = SIM.with_lanes(lanes)
    groups = -(-20 // lanes)
    record = program()[0]
    cycles = groups * 50 + overhead(config, tensor_tensor_tail(config))
    slots = [busy for busy in schedule(config, [(record, cycles)]) if busy.track == SLOTS]
    assert [busy.start for busy in slots] == [FIRST_ISSUE_CLOCKS + 50 * g for g in range(groups)]
    assert {busy.clocks for busy in slots} == {50}


def test_passes_of_a_fold_lie_a_gap_apart():
    slots = [b for b in schedule(SIM, timed()) if b.track == SLOTS and b.sequence == 2]
    assert [b.start - a.start for a, b in pairwise(slots)] == [50 + pass_gap(SIM)] * 2
    assert [busy.name for busy in slots] == ["group 0", "group 1", "group 2"]


def test_utilisation_is_busy_clocks_over_all():
    shares = utilisation(SIM, timed())
    total = 2700
    # Three groups of 50: IS_GT, CastPredicated through arith; GradAccum and BackProp through sub.
    assert shares["arith"] == 2 * 150 / total
    assert shares["sub"] == (2 * 150 + 3) / total
    assert shares["mul0"] == (2 * 150 + 3) / total
    assert shares["mul2"] == shares["acc2"] == 150 / total
    assert shares[SLOTS] == (5 * 150 + 2 * 3 + 3 * 4) / total
    assert INSTRUCTIONS not in shares


def test_trace_of_a_main_job(golden_runner):
    x, dy = np.random.default_rng(3).normal(size=(2, 30, 9))

    def slow(steps, **options):
        result = golden_runner(steps, **options)
        result.cycles[:] = 200
        return result

    layer = Layer.from_arrays(dy, x, x.mean(axis=0), np.ones(9), inv_std=np.ones(9))
    result = run_main_job(Workload("test", layer), config=EngineConfig(), run=slow)
    document = json.loads(as_trace(result))
    events = document["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert tuple(names.values()) == TRACKS
    stretches = [event for event in events if event["ph"] == "X"]
    instructions = [event for event in stretches if names[event["tid"]] == INSTRUCTIONS]
    assert sum(event["dur"] for event in instructions) == result.cycles == 200 * 8
    assert instructions[0]["args"]["text"].startswith("grad_accumulate2 channels=9 src0=sbuf[0:")
    assert sum(e["dur"] for e in stretches if names[e["tid"]] == "acc2") == 2 * 30
    assert {event["args"]["instruction"] for event in stretches} == set(range(8))
