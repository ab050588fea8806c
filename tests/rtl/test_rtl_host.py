"""The host port: who waits for whom, and what each request does to the lanes."""

from dataclasses import dataclass, field

import pytest
from amaranth.sim import Simulator
from dve_rtl.config import EngineConfig
from dve_rtl.host import HostPort, Space
from dve_rtl.lane_orders import HostField

LANES = 4
CONFIG = EngineConfig(lanes=LANES)
CONTROL_VALUE = 1000
"""What the control value is in clock 0; it counts."""

ALL_BYTES = (1 << 8 * LANES) - 1
STROBES = (
    *("memory_write", "memory_read", "state_read", "entry_read"),
    *("write_mean", "write_scale", "write_a", "write_b", "write_n", "write_entry"),
    "write_control",
)


def lanes_of(values) -> int:
    return sum(value << 64 * lane for lane, value in enumerate(values))


def request(space, *, write=0, row=0, word=0, data=0, byte_enable=ALL_BYTES):
    return {
        "space": space,
        "write": write,
        "row": row,
        "word": word,
        "data": data,
        "byte_enable": byte_enable,
    }


@dataclass
class Seen:
    """What came out of the port, each with its clock."""

    strobes: list = field(default_factory=list)  # (clock, name, lane_enable, n_value, recip_value)
    accepted: list = field(default_factory=list)
    responses: list = field(default_factory=list)
    held: list = field(default_factory=list)
    fields: list = field(default_factory=list)  # field of the read, one clock after its strobe


def run(requests, *, clocks, reading=(), writing=(), busy=(), stall=()):
    """Offer requests as fast as they are taken.

    ``reading``, ``writing``, ``busy`` and ``stall`` hold the clocks in which the lanes use a
    port, an instruction executes, or the host does not take a response. The lanes answer a read
    with the number of the clock after it; the reciprocal of n is n + 1, three clocks later.
    """
    dut = HostPort(CONFIG)
    seen = Seen()

    async def bench(ctx):
        pending = list(requests)
        reciprocal = None
        for clock in range(clocks):
            ctx.set(dut.request.valid, bool(pending))
            if pending:
                ctx.set(dut.request.payload, pending[0])
            ctx.set(dut.reading, clock in reading)
            ctx.set(dut.writing, clock in writing)
            ctx.set(dut.idle, clock not in busy)
            ctx.set(dut.response.ready, clock not in stall)
            ctx.set(dut.words, clock)
            ctx.set(dut.control_value, CONTROL_VALUE + clock)
            ctx.set(dut.count.ready, reciprocal is None and clock % 2)
            ctx.set(dut.recip.valid, reciprocal is not None and clock >= reciprocal[0] + 3)
            ctx.set(dut.recip.payload, reciprocal[1] + 1 if reciprocal is not None else 0)

            access = ctx.get(dut.access)
            for name in STROBES:
                if getattr(access, name):
                    seen.strobes.append(
                        (
                            clock,
                            name,
                            ctx.get(dut.lane_enable),
                            ctx.get(dut.n_value),
                            ctx.get(dut.recip_value),
                        )
                    )
                    if name.endswith("read"):
                        seen.fields.append(None)
            if seen.fields and seen.fields[-1] is None and seen.strobes[-1][0] == clock - 1:
                seen.fields[-1] = access.field
            if ctx.get(dut.hold):
                seen.held.append(clock)
            if ctx.get(dut.response.valid) and ctx.get(dut.response.ready):
                seen.responses.append((clock, ctx.get(dut.response.payload)))
            if ctx.get(dut.recip.ready) and ctx.get(dut.recip.valid):
                reciprocal = None
            if ctx.get(dut.count.valid) and ctx.get(dut.count.ready):
                reciprocal = (clock, ctx.get(dut.count.payload))
            if pending and ctx.get(dut.request.ready):
                seen.accepted.append(clock)
                pending.pop(0)
            await ctx.tick()
        assert not pending, "a request was never accepted"

    sim = Simulator(dut)
    sim.add_clock(1e-8)
    sim.add_testbench(bench)
    sim.run()
    return seen


@pytest.mark.parametrize("space", [Space.SBUF, Space.PSUM])
def test_memory_writes_take_one_clock_each_and_wait_for_the_store(space):
    seen = run([request(space, write=1)] * 4, clocks=10, writing=(1, 2, 4), busy=range(10))
    assert [(clock, name) for clock, name, *_ in seen.strobes] == [
        (clock, "memory_write") for clock in (0, 3, 5, 6)
    ]
    assert seen.accepted == [0, 3, 5, 6]
    assert seen.held == []


@pytest.mark.parametrize("space", [Space.SBUF, Space.PSUM])
def test_memory_reads_take_two_clocks_each_and_wait_for_the_lanes(space):
    seen = run([request(space)] * 4, clocks=12, reading=(2, 3), busy=range(12))
    assert [(clock, name) for clock, name, *_ in seen.strobes] == [
        (clock, "memory_read") for clock in (0, 4, 6, 8)
    ]
    # The word is there one clock after the address, the response one clock later.
    assert seen.responses == [(2, 1), (6, 5), (8, 7), (10, 9)]
    assert set(seen.fields) == {HostField[space.name]}
    assert seen.held == []


def test_a_response_waits_until_it_is_taken():
    seen = run([request(Space.SBUF)] * 3, clocks=30, stall=(*range(2, 9), 11, 12))
    assert [word for _, word in seen.responses] == [clock + 1 for clock, *_ in seen.strobes]
    assert [clock for clock, _ in seen.responses] == [9, 13, 15]
    # No read begins while its response has no place to go.
    assert [clock for clock, *_ in seen.strobes] == [0, 9, 13]


@pytest.mark.parametrize(
    ("word", "strobe"),
    [
        (HostField.MEAN, "write_mean"),
        (HostField.A, "write_a"),
        (HostField.B, "write_b"),
        (HostField.C, "write_scale"),
    ],
)
def test_state_is_written_between_instructions(word, strobe):
    enable = 0x01 | 0xF0 << 8 | 0x01 << 16  # the lowest byte of lanes 0 and 2
    seen = run(
        [request(Space.STATE, write=1, word=word.value, byte_enable=enable)],
        clocks=10,
        busy=range(5),
    )
    assert [step[:3] for step in seen.strobes] == [(5, strobe, 0b0101)]
    assert seen.accepted == [5]
    assert seen.held == list(range(6))


def test_n_is_written_lane_by_lane_with_its_reciprocal():
    enable = ALL_BYTES & ~(0xFF << 8)  # all but lane 1
    values = (10, 20, 30, 40)
    seen = run(
        [
            request(Space.STATE, write=1, word=0, data=lanes_of(values), byte_enable=enable),
            request(Space.STATE, write=1, word=HostField.A.value),
        ],
        clocks=60,
    )
    *counts, following = seen.strobes
    assert [step[1:] for step in counts] == [
        ("write_n", 1 << lane, values[lane], values[lane] + 1) for lane in (0, 2, 3)
    ]
    assert following[1] == "write_a"
    assert seen.accepted[0] < following[0]
    assert seen.held == list(range(following[0] + 1))


@pytest.mark.parametrize("word", range(5))
def test_state_reads_name_their_field(word):
    seen = run([request(Space.STATE, word=word)], clocks=8, busy=range(2))
    assert [step[:2] for step in seen.strobes] == [(2, "state_read")]
    assert seen.fields == [HostField(word)]
    assert seen.responses == [(4, 3)]


def test_parameter_ram_waits_for_the_instruction_too():
    seen = run(
        [request(Space.PARAMETER_RAM, write=1), request(Space.PARAMETER_RAM)],
        clocks=10,
        busy=range(3),
    )
    assert [step[:2] for step in seen.strobes] == [(3, "write_entry"), (4, "entry_read")]
    assert seen.fields == [HostField.PARAMETER]
    assert seen.responses == [(6, 5)]
    assert seen.held == list(range(5))


def test_control_values_are_accessed_between_instructions():
    requests = [request(Space.CONTROL, write=1, word=word, data=word) for word in range(3)]
    seen = run([*requests, request(Space.CONTROL, word=2)] * 2, clocks=24, busy=range(5))
    # Writes take one clock each; of a read the value in its clock counts.
    assert [(clock, name) for clock, name, *_ in seen.strobes] == [
        (clock, "write_control") for clock in (5, 6, 7, 9, 10, 11)
    ]
    assert seen.responses == [(10, CONTROL_VALUE + 8), (14, CONTROL_VALUE + 12)]
    assert set(range(5)) <= set(seen.held)


def test_a_read_of_the_lanes_behind_one_of_a_control_value():
    seen = run([request(Space.CONTROL), request(Space.SBUF), request(Space.CONTROL)], clocks=12)
    assert [word for _, word in seen.responses] == [CONTROL_VALUE, 3, CONTROL_VALUE + 4]
