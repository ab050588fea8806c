"""The sequencer's slots: what each handler issues, when, and what makes it wait."""

import pytest
from amaranth.sim import Simulator
from dve_golden.isa.enums import Dtype
from dve_golden.isa.generations import Generation
from dve_rtl.config import EngineConfig
from dve_rtl.fp32.accumulator import min_period
from dve_rtl.payloads import Handler, SlotKind
from dve_rtl.sequencer import Sequencer, pass_gap, statistics_gap

LANES = 8
SUNDA = EngineConfig(lanes=LANES, generation=Generation.SUNDA)
SIM = EngineConfig(lanes=LANES)
DEEP = EngineConfig(lanes=LANES, mul_latency=8, add_latency=7)

ELEMENTWISE = (
    *(Handler.TENSOR_TENSOR, Handler.BITVEC),
    *(Handler.COPY_PREDICATED, Handler.CAST_PREDICATED),
)
"""Handlers whose passes are elements and nothing else."""

RESULT_LATENCY = 40
"""Clocks from a slot to its result, as long as the sequencer cares."""


def pointer(offset, quadrant=0, psum=0):
    return {"offset": offset, "quadrant": quadrant, "psum": psum}


def walk(offset, count, *, step=(1, 1, 1), dtype=Dtype.FP32, **place):
    return {"start": pointer(offset, **place), "dtype": dtype, "step": step, "count": count}


def operation(handler, channels=1, **fields):
    """Two sources of two by two elements; both immediates in PSUM and another quadrant."""
    op = {
        "handler": handler,
        "channels": channels,
        "src0": walk(64, (2, 2, 1), step=(1, 5, 1), quadrant=1),
        "src1": walk(96, (2, 2, 1), step=(-1, 3, 1), dtype=Dtype.FP16, psum=1),
        "imm0": pointer(8, quadrant=2),
        "imm1": pointer(12, quadrant=3, psum=1),
        "imm_dtype": Dtype.BF16,
        "element_count": 0x40400000,
        **fields,
    }
    source = op["src0"]
    return op | {"src0": source | {"step": (*source["step"], 1), "count": (*source["count"], 1)}}


class Bench:
    """Runs operations one after the other and notes what the sequencer does in each clock.

    The last slot of an instruction is answered by ``done``, an element of a serial one by
    ``stored``, both ``RESULT_LATENCY`` clocks later; 1/N by ``RECIPROCAL``. An update is performed
    one clock after it is asked for, as the bank does.
    """

    RECIPROCAL = 0x3EAAAAAB

    def __init__(
        self,
        config,
        operations,
        *,
        hold=0,
        taken_after=0,
        result_latency=RESULT_LATENCY,
        next_sweep=lambda clock: False,
    ):
        self.dut = Sequencer(config)
        self.operations = operations
        self.hold = hold
        self.taken_after = taken_after
        self.result_latency = result_latency
        self.next_sweep = next_sweep
        self.second_sweeps = []  # whether a slot was issued when it had begun
        self.slots = []  # (clock, kind, group, last, final, read0, read1)
        self.begins = []
        self.ends = []
        self.counts = []
        self.recip_values = []
        self.updates = []  # clocks in which an update is performed
        sim = Simulator(self.dut)
        sim.add_clock(1e-8)
        sim.add_testbench(self.drive)
        sim.run()

    async def drive(self, ctx):
        dut = self.dut
        pending = list(self.operations)
        stored_at, done_at = set(), set()
        waited = 0
        counting = None
        updating = False
        clock = 0
        while pending:
            assert clock < 20000, "an instruction never ended"
            ctx.set(dut.i.payload, pending[0])
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.hold, clock < self.hold)
            ctx.set(dut.stored, clock in stored_at)
            ctx.set(dut.done, clock in done_at)
            ctx.set(dut.updated, updating)
            ctx.set(dut.next_sweep, self.next_sweep(clock))
            ctx.set(dut.count.ready, clock % 2)
            ctx.set(dut.recip.valid, counting is not None and clock >= counting + 5)
            ctx.set(dut.recip.payload, self.RECIPROCAL if ctx.get(dut.recip.valid) else 0)
            waited = waited + 1 if ctx.get(dut.completed) else 0
            ctx.set(dut.taken, waited > self.taken_after)

            if updating:
                self.updates.append(clock)
            updating = not updating and bool(ctx.get(dut.update))
            if ctx.get(dut.begin):
                self.begins.append(clock)
            slot = ctx.get(dut.issue.slot)
            if slot.kind != SlotKind.IDLE:
                reads = [ctx.get(read) for read in (dut.issue.read0, dut.issue.read1)]
                self.slots.append((clock, slot, *reads))
                self.recip_values.append(ctx.get(dut.recip_value))
                self.second_sweeps.append(ctx.get(dut.second_sweep))
                if slot.kind == SlotKind.ELEMENT:
                    stored_at.add(clock + self.result_latency)
                if slot.final:
                    done_at.add(clock + self.result_latency)
            if ctx.get(dut.count.valid) and ctx.get(dut.count.ready):
                self.counts.append(ctx.get(dut.count.payload))
                counting = clock
            if ctx.get(dut.recip.valid) and ctx.get(dut.recip.ready):
                counting = None
            if ctx.get(dut.i.ready):
                self.ends.append(clock)
                pending.pop(0)
            await ctx.tick()
            clock += 1

    @property
    def kinds(self):
        return [slot.kind for _, slot, _, _ in self.slots]

    @property
    def clocks(self):
        return [clock for clock, *_ in self.slots]


def deep(walk, step, count):
    """A walk with a fourth dimension."""
    return walk | {"step": (*walk["step"][:3], step), "count": (*walk["count"][:3], count)}


def place(read):
    return read.psum, read.row, read.offset, read.dtype


def rows(quadrant, groups):
    return [quadrant * 32 // LANES + group for group in range(groups)]


def test_grad_accumulate_reads_immediates_then_elements_in_every_group():
    bench = Bench(SIM, [operation(Handler.GRAD_ACCUMULATE, channels=17)])
    lead = [SlotKind.IMM_MEAN, SlotKind.IMM_SCALE]
    assert bench.kinds == 3 * (lead + 4 * [SlotKind.ELEMENT])
    assert [slot.group for _, slot, _, _ in bench.slots] == 6 * [0] + 6 * [1] + 6 * [2]
    passes = [bench.slots[i : i + 6] for i in (0, 6, 12)]
    for group, (mean, scale, *elements) in enumerate(passes):
        assert place(mean[2]) == (0, rows(2, 3)[group], 8, Dtype.BF16)
        assert place(scale[2]) == (1, rows(3, 3)[group], 12, Dtype.BF16)
        # 64 + 4 * (i0 + 5 * i1) and 96 + 2 * (-i0 + 3 * i1)
        row0, row1 = rows(1, 3)[group], rows(0, 3)[group]
        assert [place(e[2]) for e in elements] == [
            (0, row0, at, Dtype.FP32) for at in (64, 68, 84, 88)
        ]
        assert [place(e[3]) for e in elements] == [
            (1, row1, at, Dtype.FP16) for at in (96, 94, 102, 100)
        ]
        assert [e[1].last for e in elements] == [0, 0, 0, 1]
        assert [e[1].final for e in elements] == [0, 0, 0, group == 2]


@pytest.mark.parametrize("config", [SIM, DEEP], ids=["sim", "deep"])
@pytest.mark.parametrize("handler", [Handler.GRAD_ACCUMULATE, Handler.BACK_PROP])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_passes_are_a_gap_apart_and_first_elements_a_period(config, handler, count):
    one = walk(0, (count, 1, 1))
    bench = Bench(config, [operation(handler, channels=24, src0=one, src1=one)])
    elements = [clock for clock, slot, *_ in bench.slots if slot.kind == SlotKind.ELEMENT]
    firsts = elements[::count]
    period = max(count + pass_gap(config), min_period(config.add_latency))
    assert elements == [first + i for first in firsts for i in range(count)]
    assert firsts == [firsts[0] + period * group for group in range(3)]
    # The lead of a pass begins right behind the elements of the one before.
    leads = [c for c, slot, *_ in bench.slots if slot.kind in (SlotKind.PREPARE, SlotKind.IMM_MEAN)]
    assert leads[1:] == [first + count for first in firsts[:-1]]
    assert bench.begins[0] + 2 == leads[0]


def test_the_gap_covers_the_prefactor():
    for mul_latency in range(1, 9):
        assert pass_gap(EngineConfig(mul_latency=mul_latency)) == max(8, mul_latency + 2)


def test_back_prop_prepares_before_each_pass():
    bench = Bench(SIM, [operation(Handler.BACK_PROP, channels=9)])
    assert bench.kinds == 2 * ([SlotKind.PREPARE] + 4 * [SlotKind.ELEMENT])
    prepares = [slot.group for _, slot, _, _ in bench.slots if slot.kind == SlotKind.PREPARE]
    assert prepares == [0, 1]


@pytest.mark.parametrize(
    ("handler", "immediates", "elements"),
    [
        (Handler.PARAM_LOAD, [SlotKind.LOAD_MEAN], "ABC"),
        (Handler.PARAM_LOAD2, [SlotKind.LOAD_MEAN, SlotKind.LOAD_A], "BC"),
    ],
)
def test_parameter_loads_form_the_reciprocal_first(handler, immediates, elements):
    source = walk(16, (1, len(elements), 1), step=(1, -2, 1), dtype=Dtype.FP16)
    bench = Bench(SIM, [operation(handler, channels=16, src0=source)])
    kinds = immediates + [SlotKind[f"LOAD_{name}"] for name in elements]
    assert bench.kinds == 2 * kinds
    assert bench.counts == [0x40400000]
    assert set(bench.recip_values) == {Bench.RECIPROCAL}
    assert bench.clocks == [bench.clocks[0] + i for i in range(len(bench.slots))]
    for group in range(2):
        slots = bench.slots[group * len(kinds) :]
        assert place(slots[0][2]) == (0, rows(2, 2)[group], 8, Dtype.BF16)
        if len(immediates) == 2:
            assert place(slots[1][2]) == (1, rows(3, 2)[group], 12, Dtype.BF16)
        for index in range(len(elements)):
            read = slots[len(immediates) + index][2]
            assert place(read) == (0, rows(0, 2)[group], 16 - 4 * index, Dtype.FP16)


def test_parameter_ram_is_loaded_without_a_lead():
    source = walk(0, (256, 1, 1), quadrant=3)
    bench = Bench(SIM, [operation(Handler.LOAD_PARAMETER_RAM, src0=source)])
    assert bench.kinds == 256 * [SlotKind.LOAD_ENTRY]
    assert bench.clocks == list(range(bench.begins[0] + 2, bench.begins[0] + 2 + 256))
    assert [place(read)[:3] for _, _, read, _ in bench.slots] == [
        (0, rows(3, 1)[0], 4 * entry) for entry in range(256)
    ]
    assert [slot.final for _, slot, _, _ in bench.slots] == 255 * [0] + [1]
    assert bench.counts == []


@pytest.mark.parametrize("result_latency", [2, 3, 8, 9, 10, 40])
def test_serial_elements_wait_for_the_one_before(result_latency):
    op = operation(Handler.BACK_PROP, channels=16, serial=1)
    bench = Bench(SIM, [op], result_latency=result_latency)
    elements = [clock for clock, slot, *_ in bench.slots if slot.kind == SlotKind.ELEMENT]
    assert len(elements) == 8
    for pass_start in (0, 4):
        first, *others = elements[pass_start : pass_start + 4]
        # The element is written in the clock in which `stored` is high, and read one clock later.
        assert others == [first + (result_latency + 1) * i for i in (1, 2, 3)]
    assert elements[4] == elements[3] + max(pass_gap(SIM), result_latency) + 1


@pytest.mark.parametrize("handler", ELEMENTWISE)
def test_elementwise_passes_have_no_lead_and_no_gap(handler):
    bench = Bench(SIM, [operation(handler, channels=17)])
    assert bench.kinds == 12 * [SlotKind.ELEMENT]
    assert bench.clocks == [bench.begins[0] + 2 + i for i in range(12)]
    assert [slot.group for _, slot, _, _ in bench.slots] == [g for g in range(3) for _ in range(4)]
    assert [slot.last for _, slot, _, _ in bench.slots] == 3 * [0, 0, 0, 1]
    assert [slot.final for _, slot, _, _ in bench.slots] == 11 * [0] + [1]
    for group in range(3):
        elements = bench.slots[4 * group :][:4]
        assert [place(e[2]) for e in elements] == [
            (0, rows(1, 3)[group], at, Dtype.FP32) for at in (64, 68, 84, 88)
        ]
        assert [place(e[3]) for e in elements] == [
            (1, rows(0, 3)[group], at, Dtype.FP16) for at in (96, 94, 102, 100)
        ]
    assert not bench.counts


@pytest.mark.parametrize("handler", ELEMENTWISE)
@pytest.mark.parametrize("result_latency", [3, 7, 40])
def test_serial_passes_without_a_lead_wait_as_elements_do(handler, result_latency):
    op = operation(handler, channels=16, serial=1)
    bench = Bench(SIM, [op], result_latency=result_latency)
    first = bench.clocks[0]
    assert bench.clocks == [first + (result_latency + 1) * i for i in range(8)]


def test_a_pair_is_one_slot():
    pairs = {
        "src0": walk(64, (4, 2, 1), step=(1, 6, 1), dtype=Dtype.BF16, quadrant=1),
        "src1": walk(32, (2, 2, 2), step=(1, -4, 8), dtype=Dtype.BF16, quadrant=1),
    }
    bench = Bench(SUNDA, [operation(Handler.TENSOR_TENSOR, channels=9, pair=1, **pairs)])
    assert len(bench.slots) == 2 * 4
    assert bench.clocks == [bench.clocks[0] + i for i in range(8)]
    assert [slot.last for _, slot, _, _ in bench.slots] == 2 * [0, 0, 0, 1]
    assert [read.offset for _, _, read, _ in bench.slots] == 2 * [64, 68, 76, 80]
    assert [read.offset for _, _, _, read in bench.slots] == 2 * [32, 24, 48, 40]


def test_a_serial_instruction_does_not_wait_for_what_a_load_before_it_never_stores():
    load = operation(Handler.PARAM_LOAD, src0=walk(0, (3, 1, 1)))
    bench = Bench(SIM, [load, operation(Handler.BACK_PROP, serial=1)])
    elements = [clock for clock, slot, *_ in bench.slots if slot.kind == SlotKind.ELEMENT]
    assert elements == [elements[0] + (RESULT_LATENCY + 1) * i for i in range(4)]


def test_pipelined_elements_do_not_wait():
    bench = Bench(SIM, [operation(Handler.BACK_PROP)])
    first = bench.clocks[1]
    assert bench.clocks[1:] == [first + i for i in range(4)]


def test_an_instruction_begins_after_the_one_before_has_ended():
    operations = [
        operation(Handler.GRAD_ACCUMULATE),
        operation(Handler.BACK_PROP, serial=1),
        operation(Handler.BACK_PROP, reason=7),
        operation(Handler.PARAM_LOAD, src0=walk(0, (3, 1, 1))),
    ]
    bench = Bench(SIM, operations, taken_after=3)
    assert len(bench.ends) == 4
    assert len(bench.begins) == 3  # the illegal one executes nothing
    finals = [clock for clock, slot, *_ in bench.slots if slot.final]
    for final, end in zip(finals, (bench.ends[0], bench.ends[1], bench.ends[3]), strict=True):
        assert end == final + RESULT_LATENCY + 1 + 3  # completed, and taken three clocks later
    assert bench.begins == [0, bench.ends[0] + 1, bench.ends[2] + 1]
    assert bench.ends[2] == bench.ends[1] + 2 + 3


def test_hold_keeps_the_next_instruction_from_beginning():
    bench = Bench(SIM, [operation(Handler.BACK_PROP)] * 2, hold=30)
    assert bench.begins == [30, bench.ends[0] + 1]


def update(*, on_read):
    return {"valid": 1, "on_read": on_read, "action": 3, "index": 9}


@pytest.mark.parametrize("handler", [Handler.GRAD_ACCUMULATE, Handler.BACK_PROP])
def test_an_update_on_read_comes_when_the_last_source_is_read(handler):
    bench = Bench(SIM, [operation(handler, channels=17, update=update(on_read=1))])
    (final,) = (clock for clock, slot, *_ in bench.slots if slot.final)
    # The final slot is at the memories; the bank takes one clock more.
    assert bench.updates == [final + 1]
    assert bench.ends == [final + RESULT_LATENCY + 1]


@pytest.mark.parametrize("handler", [Handler.GRAD_ACCUMULATE, Handler.BACK_PROP])
def test_an_update_on_completion_comes_after_the_last_effect_and_before_the_completion(handler):
    bench = Bench(SIM, [operation(handler, channels=17, update=update(on_read=0))])
    (final,) = (clock for clock, slot, *_ in bench.slots if slot.final)
    assert len(bench.updates) == 1
    assert final + RESULT_LATENCY < bench.updates[0] < bench.ends[0]


@pytest.mark.parametrize("on_read", [0, 1])
@pytest.mark.parametrize(
    "fields", [{"handler": Handler.BACK_PROP, "reason": 7}, {"handler": Handler.SYNCHRONISE}]
)
def test_what_does_not_execute_updates_once_before_its_completion(fields, on_read):
    bench = Bench(SIM, [operation(**fields, update=update(on_read=on_read))])
    assert not bench.slots
    assert not bench.begins
    assert len(bench.updates) == 1
    assert bench.updates[0] < bench.ends[0]


def test_no_update_where_none_is_owed():
    kinds = (Handler.GRAD_ACCUMULATE, Handler.PARAM_LOAD, Handler.SYNCHRONISE)
    loads = {Handler.PARAM_LOAD: {"src0": walk(0, (3, 1, 1))}}
    bench = Bench(SIM, [operation(handler, **loads.get(handler, {})) for handler in kinds])
    assert len(bench.ends) == 3
    assert not bench.updates


@pytest.mark.parametrize("config", [SIM, DEEP])
@pytest.mark.parametrize(
    ("handler", "firsts"),
    [
        (Handler.STATS, [SlotKind.FIRST]),
        (Handler.STATS2, [SlotKind.FIRST, SlotKind.FIRST_ODD]),
    ],
)
def test_statistics_begin_at_once_and_wait_between_passes(config, handler, firsts):
    op = operation(handler, channels=9)
    op["src0"] = deep(op["src0"], 40, 2)
    bench = Bench(config, [op])
    kinds = firsts + (8 - len(firsts)) * [SlotKind.ELEMENT]
    assert bench.kinds == 2 * kinds
    second = 8 + statistics_gap(config)
    first_clock = bench.begins[0] + 2
    assert bench.clocks == [first_clock + at + i for at in (0, second) for i in range(8)]
    # 64 + 4 * (i0 + 5 * i1 + 40 * i3)
    offsets = [64 + 4 * (i0 + 5 * i1 + 40 * i3) for i3 in (0, 1) for i1 in (0, 1) for i0 in (0, 1)]
    assert [read.offset for _, _, read, _ in bench.slots] == 2 * offsets


@pytest.mark.parametrize("handler", [Handler.STATS, Handler.STATS2])
def test_statistics_of_one_element(handler):
    bench = Bench(SIM, [operation(handler, channels=9, src0=walk(64, (1, 1, 1)))])
    assert bench.kinds == 2 * [SlotKind.FIRST]
    assert [slot.last for _, slot, _, _ in bench.slots] == [1, 1]
    assert [slot.final for _, slot, _, _ in bench.slots] == [0, 1]
    assert bench.clocks[1] - bench.clocks[0] == 1 + statistics_gap(SIM)


@pytest.mark.parametrize("config", [SIM, DEEP])
def test_an_aggregate_sweeps_twice(config):
    op = operation(Handler.AGGREGATE, channels=17, src0=walk(64, (3, 3, 1), quadrant=1))
    op["src0"] = deep(op["src0"], 40, 2)
    turn = 200
    bench = Bench(config, [op], next_sweep=lambda clock: clock == turn)
    tuples = 6 * [SlotKind.PART_COUNT, SlotKind.PART_MEAN, SlotKind.PART_NVAR]
    assert bench.kinds == 6 * tuples
    period = 18 + 8
    sweeps = (bench.begins[0] + 2, turn + 2)
    starts = [first + period * group for first in sweeps for group in range(3)]
    assert bench.clocks == [start + i for start in starts for i in range(18)]
    assert bench.second_sweeps == 54 * [0] + 54 * [1]
    assert [slot.final for _, slot, _, _ in bench.slots] == 107 * [0] + [1]
    assert [slot.last for _, slot, _, _ in bench.slots] == 6 * (17 * [0] + [1])
    groups = [slot.group for _, slot, _, _ in bench.slots]
    assert groups == 2 * [g for g in range(3) for _ in range(18)]
    sweep = [place(read) for _, _, read, _ in bench.slots[:54]]
    assert [place(read) for _, _, read, _ in bench.slots[54:]] == sweep
    offsets = [64 + 4 * (i0 + i1 + 40 * i3) for i3 in (0, 1) for i1 in range(3) for i0 in range(3)]
    assert [offset for _, _, offset, _ in sweep] == 3 * offsets


def test_an_update_on_read_waits_for_the_second_sweep():
    op = operation(Handler.AGGREGATE, src0=walk(64, (3, 1, 1)), update=update(on_read=1))
    bench = Bench(SIM, [op, op], next_sweep=lambda clock: clock % 64 == 50)
    finals = [clock for clock, slot, *_ in bench.slots if slot.final]
    assert bench.updates == [final + 1 for final in finals]
    assert bench.second_sweeps == 2 * (3 * [0] + 3 * [1])
