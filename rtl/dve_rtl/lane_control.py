"""Control of the lanes: each slot's orders, delivered in the clock in which they count."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from dve_rtl.config import EngineConfig
from dve_rtl.convert.control import ConverterControl
from dve_rtl.host import HostAccess
from dve_rtl.lane_aggregate import Aggregation
from dve_rtl.lane_decode import OperatorDecode
from dve_rtl.lane_orders import (
    LOAD_LATENCY,
    LaneProgram,
    Result,
    control_layout,
    psum_address_bits,
    sbuf_address_bits,
)
from dve_rtl.lane_program import (
    BACK_PROP,
    GRAD_ACCUMULATE,
    PARAMETERS,
    PREPARE,
    SPREAD,
    STATISTICS,
    WEIGH,
    Schedule,
)
from dve_rtl.lane_tail import Tail
from dve_rtl.memory.element import log2_bytes
from dve_rtl.memory.store import MemoryWrite, active_lanes
from dve_rtl.payloads import DTYPE, Handler, Issue, Slot, SlotKind

PARAMETER_LATENCY = {name: 2 if name == "recip" else 1 for name in PARAMETERS}
"""Clocks from a group at the lane state to the value (see ``lane_state.py``)."""

LOADS = {
    "write_mean": (SlotKind.IMM_MEAN, SlotKind.LOAD_MEAN, SlotKind.FIRST),
    "write_scale": (SlotKind.IMM_SCALE, SlotKind.LOAD_C, SlotKind.FIRST_ODD),
    "write_a": (SlotKind.LOAD_A,),
    "write_b": (SlotKind.LOAD_B,),
    "write_n": (SlotKind.LOAD_MEAN,),
}
"""Slots that write a parameter when their element arrives."""

FIRSTS = (SlotKind.FIRST, SlotKind.FIRST_ODD)
PARTS = (SlotKind.PART_COUNT, SlotKind.PART_MEAN, SlotKind.PART_NVAR)
ELEMENTS = (SlotKind.ELEMENT, *FIRSTS, *PARTS)
IMMEDIATES = (SlotKind.IMM_MEAN, SlotKind.IMM_SCALE, *FIRSTS)
READS_NOTHING = (SlotKind.IDLE, SlotKind.PREPARE)


class Instruction(data.Struct):
    """What is the same for all slots of an instruction."""

    handler: Handler
    operator: 6
    pair: 1
    channels: 8
    src1_dtype: DTYPE
    dst_dtype: DTYPE
    elements: 10
    element_count: 32
    odd_count: 32
    recip_value: 32
    first_entry: 8


class LaneControl(wiring.Component):
    """Delays slots and taps them where units, state and memories need them.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    instruction : In(Instruction), begin : In(1), ended : In(1)
        Constant while it executes; its first clock, and a clock after its last effect.
    issue : In(Issue)
        Slot of this clock.
    spreads : In(1), divided : Out(1)
        Sweeps of an Aggregate: see ``lane_aggregate.Aggregation``.
    counts : In(ArrayLayout(32, lanes)), in_table : In(lanes)
        Of all lanes.
    count : Out(stream.Signature(32)), recip : In(stream.Signature(32))
        To and from the reciprocal unit.
    write : In(MemoryWrite)
        The store's memory write.
    converters : In(ConverterControl)
        Control values; constant while an instruction executes.
    host : In(HostAccess), host_psum, host_row, host_word, host_entry, host_n, host_recip
        The host's access.
    element : In(32), sums_valid : In(1)
        Of lane 0, which stands for all.
    control : Out(control_layout(config))
    state_enable : Out(lanes)
        Lanes whose parameters are written by a slot.
    result : Out(1)
        A result enters the narrowing converter; for the store.
    reading : Out(1)
        The slot of this clock uses read port 0.
    loaded : Out(1)
        The last parameter of a load has been written.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.schedule = Schedule(config)
        super().__init__(
            {
                "instruction": In(Instruction),
                "begin": In(1),
                "ended": In(1),
                "issue": In(Issue),
                "spreads": In(1),
                "divided": Out(1),
                "counts": In(data.ArrayLayout(32, config.lanes)),
                "in_table": In(config.lanes),
                "count": Out(stream.Signature(32)),
                "recip": In(stream.Signature(32)),
                "write": In(MemoryWrite),
                "converters": In(ConverterControl),
                "host": In(HostAccess),
                "host_psum": In(1),
                "host_row": In(7),
                "host_word": In(15),
                "host_entry": In(32),
                "host_n": In(32),
                "host_recip": In(32),
                "element": In(32),
                "sums_valid": In(1),
                "control": Out(control_layout(config)),
                "state_enable": Out(config.lanes),
                "result": Out(1),
                "reading": Out(1),
                "loaded": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, schedule, control = self.config, self.schedule, self.control
        arrival = LOAD_LATENCY + config.widen_latency
        back_prop_at = arrival + schedule.result(BACK_PROP)
        self._constants(m)
        m.submodules.tail = self._tail = tail = Tail(config)
        m.d.comb += [
            tail.begin.eq(self.begin),
            tail.ended.eq(self.ended),
            tail.sums_valid.eq(self.sums_valid & (control.program == LaneProgram.STATISTICS)),
            tail.halves.eq(control.halves),
            tail.elements.eq(self.instruction.elements),
            tail.even_count.eq(self.instruction.element_count),
            tail.odd_count.eq(self.instruction.odd_count),
            control.moments.eq(tail.control),
        ]
        self._aggregate(m)

        slots = [self.issue.slot]
        for clock in range(back_prop_at):
            slot = Signal(slots[0].shape(), name=f"slot_{clock + 1}")
            m.d.sync += slot.eq(slots[-1])
            with m.If(self.ended):
                # On a path longer than its own, its slots would still be on their way.
                m.d.sync += slot.kind.eq(SlotKind.IDLE)
            slots.append(slot)

        self._addresses(m)
        self._parameter_reads(m, slots, arrival)
        self._parameter_writes(m, slots[arrival])
        self._entries(m, slots[arrival])

        summing = Signal(Slot)
        with m.Switch(control.program):
            for code, program in (
                (LaneProgram.GRAD_ACCUMULATE, GRAD_ACCUMULATE),
                (LaneProgram.STATISTICS, STATISTICS),
                (LaneProgram.WEIGH, WEIGH),
                (LaneProgram.SPREAD, SPREAD),
            ):
                with m.Case(code):
                    m.d.comb += summing.eq(slots[arrival + schedule.start(program, "acc0")])
        multiplying = slots[arrival + schedule.start(PREPARE, "mul2")]
        prepared = slots[back_prop_at]
        m.d.comb += [
            control.first.eq(_is(slots[arrival].kind, FIRSTS)),
            control.sum_valid.eq(_is(summing.kind, ELEMENTS)),
            control.sum_last.eq(summing.last),
            control.sum_blank.eq(_is(summing.kind, PARTS[1:])),
            control.prepare.eq(multiplying.kind == SlotKind.PREPARE),
            control.write_prefactor.eq(prepared.kind == SlotKind.PREPARE),
            control.prefactor_group.eq(prepared.group),
        ]
        self._results(m, slots, arrival)
        return m

    def _aggregate(self, m):
        m.submodules.aggregation = self._aggregation = unit = Aggregation(self.config)
        wiring.connect(m, unit.count, wiring.flipped(self.count))
        wiring.connect(m, wiring.flipped(self.recip), unit.recip)
        aggregates = _is(self.control.program, (LaneProgram.WEIGH, LaneProgram.SPREAD))
        m.d.comb += [
            unit.begin.eq(self.begin),
            unit.channels.eq(self.instruction.channels),
            unit.spreads.eq(self.spreads),
            unit.sums_valid.eq(self.sums_valid & aggregates),
            self.divided.eq(unit.divided),
            unit.counts.eq(self.counts),
            unit.in_table.eq(self.in_table),
        ]

    def _constants(self, m):
        """What stays while an instruction executes."""
        control, instruction = self.control, self.instruction
        m.submodules.decode = self._decode = decode = OperatorDecode()
        m.d.comb += [
            decode.handler.eq(instruction.handler),
            decode.operator.eq(instruction.operator),
            decode.dtype.eq(instruction.dst_dtype),
            control.converters.eq(self.converters),
            control.operator.eq(decode.control),
            control.pair.eq(instruction.pair),
            # Also of what needs no program: elements must not get into the accumulators.
            control.program.eq(LaneProgram.TENSOR_TENSOR),
        ]
        with m.Switch(instruction.handler):
            with m.Case(Handler.GRAD_ACCUMULATE):
                m.d.comb += control.program.eq(LaneProgram.GRAD_ACCUMULATE)
            with m.Case(Handler.BACK_PROP):
                m.d.comb += control.program.eq(LaneProgram.BACK_PROP)
            with m.Case(Handler.STATS, Handler.STATS2):
                m.d.comb += [
                    control.program.eq(LaneProgram.STATISTICS),
                    control.halves.eq(instruction.handler == Handler.STATS2),
                ]
            with m.Case(Handler.AGGREGATE):
                m.d.comb += control.program.eq(
                    Mux(self.spreads, LaneProgram.SPREAD, LaneProgram.WEIGH)
                )
            with m.Case(Handler.BITVEC):
                m.d.comb += control.raw.eq(1)
            with m.Case(Handler.COPY_PREDICATED):
                m.d.comb += [control.raw.eq(1), control.predicated.eq(1)]
            with m.Case(Handler.CAST_PREDICATED):
                m.d.comb += [
                    # Without a conversion the bits pass as they are (isa_common.md 5.5).
                    control.raw.eq(instruction.src1_dtype == instruction.dst_dtype),
                    control.predicated.eq(1),
                ]
        m.d.comb += control.immediates.eq(
            ~_is(control.program, (LaneProgram.BACK_PROP, LaneProgram.TENSOR_TENSOR))
            # The host asks for the lane state, whatever the last instruction was.
            & ~self.host.state_read
        )

    def _addresses(self, m):
        """Memory reads and writes: the slot's and the store's, or the host's in their absence."""
        control, host = self.control, self.host
        read0, read1 = self.issue.read0, self.issue.read1
        m.d.comb += [
            self.reading.eq(~_is(self.issue.slot.kind, READS_NOTHING)),
            control.sbuf_read0.eq(self._sbuf_address(read0.row, read0.offset[3:])),
            control.sbuf_read1.eq(self._sbuf_address(read1.row, read1.offset[3:])),
            # Two PSUM sources are illegal, so one read port serves both.
            control.psum_read.eq(
                Mux(
                    read0.psum,
                    self._psum_address(read0.row, read0.offset[3:]),
                    self._psum_address(read1.row, read1.offset[3:]),
                )
            ),
        ]
        with m.If(host.memory_read):
            m.d.comb += [
                control.sbuf_read0.eq(self._sbuf_address(self.host_row, self.host_word)),
                control.psum_read.eq(self._psum_address(self.host_row, self.host_word)),
            ]
        for read, load, widen in (
            (read0, control.load0, control.widen0),
            (read1, control.load1, control.widen1),
        ):
            # The two elements of a pair are loaded as one of four bytes.
            m.d.sync += [
                load.psum.eq(read.psum),
                load.byte.eq(read.offset[:3]),
                load.dtype.eq(Mux(self.instruction.pair, Dtype.UINT32, read.dtype)),
                widen.eq(Mux(self.instruction.pair, Dtype.BF16, load.dtype)),
            ]

        write = self.write
        m.d.comb += [
            control.store_log2_bytes.eq(log2_bytes(self.instruction.dst_dtype)),
            control.store_byte.eq(write.offset[:3]),
            control.store_from_host.eq(host.memory_write),
            control.host_field.eq(host.field),
        ]
        with m.If(host.memory_write):
            m.d.comb += [
                control.sbuf_write.eq(~self.host_psum),
                control.psum_write.eq(self.host_psum),
                control.sbuf_write_address.eq(self._sbuf_address(self.host_row, self.host_word)),
                control.psum_write_address.eq(self._psum_address(self.host_row, self.host_word)),
            ]
        with m.Else():
            m.d.comb += [
                control.sbuf_write.eq(write.valid & ~write.psum),
                control.psum_write.eq(write.valid & write.psum),
                control.sbuf_write_address.eq(self._sbuf_address(write.row, write.offset[3:])),
                control.psum_write_address.eq(self._psum_address(write.row, write.offset[3:])),
            ]

    def _sbuf_address(self, row, word):
        word_bits = sbuf_address_bits(self.config) - self.config.group_bits
        return Cat(word[:word_bits], row[: self.config.group_bits])

    def _psum_address(self, row, word):
        word_bits = psum_address_bits(self.config) - self.config.group_bits
        return Cat(word[:word_bits], row[: self.config.group_bits])

    def _parameter_reads(self, m, slots, arrival):
        """Every parameter is asked for so that it is there when its unit works."""
        for name in PARAMETERS:
            taps = {}
            for program in (GRAD_ACCUMULATE, BACK_PROP, PREPARE):
                for unit, step in program.items():
                    if name in step.operands:
                        clock = arrival + self.schedule.start(program, unit)
                        taps[program is GRAD_ACCUMULATE] = slots[clock - PARAMETER_LATENCY[name]]
            target = getattr(self.control.groups, name)
            if len(taps) == 2:
                back_prop = self.control.program == LaneProgram.BACK_PROP
                m.d.comb += target.eq(Mux(back_prop, taps[False].group, taps[True].group))
            else:
                (slot,) = taps.values()
                m.d.comb += target.eq(slot.group)
            if name in ("mean", "scale"):  # where x0 of the even and of the odd ordinals is kept
                with m.If(self.control.program == LaneProgram.STATISTICS):
                    m.d.comb += target.eq(self._tail.group)
            self._aggregate_reads(m, name, target, slots, arrival)
            with m.If(self.host.state_read):
                m.d.comb += target.eq(self.host_row)

    def _aggregate_reads(self, m, name, target, slots, arrival):
        """What the sweeps of an Aggregate, its divisions and its tail ask for."""
        unit = self._aggregation
        if name in ("n", "mean", "recip"):
            with m.If(self.control.program == LaneProgram.WEIGH):
                m.d.comb += target.eq(unit.group)
        sub_at = arrival + self.schedule.start(SPREAD, "sub")
        spread = {
            "mean": slots[sub_at - PARAMETER_LATENCY["mean"]].group,
            "recip": unit.recip_group,
            "scale": unit.mean_group,  # the same mean, through a port of its own
        }
        if name in spread:
            with m.If(self.control.program == LaneProgram.SPREAD):
                m.d.comb += target.eq(spread[name])

    def _parameter_writes(self, m, arriving):
        control, host, instruction = self.control, self.host, self.instruction
        written = Signal()
        for strobe, kinds in LOADS.items():
            from_slot = _is(arriving.kind, kinds)
            from_host = getattr(host, strobe)
            m.d.comb += getattr(control, strobe).eq(from_slot | from_host)
            with m.If(from_host):
                m.d.comb += written.eq(1)
        m.d.comb += [
            control.write_bank.eq(_is(arriving.kind, IMMEDIATES)),
            control.write_group.eq(Mux(written, self.host_row, arriving.group)),
            control.value_from_host.eq(written),
            control.n_value.eq(Mux(written, self.host_n, self._tail.count)),
            control.recip_value.eq(Mux(written, self.host_recip, instruction.recip_value)),
            self.state_enable.eq(active_lanes(self.config, instruction.channels, arriving.group)),
        ]
        unit = self._aggregation
        with m.If(unit.keep | unit.match | unit.mean):
            m.d.comb += [
                control.write_bank.eq(1),
                control.write_group.eq(unit.write_group),
                control.values_from_sums.eq(unit.keep),
                control.value_from_product.eq(unit.mean),
                control.write_n.eq(unit.keep | unit.match),
                control.write_mean.eq(unit.keep | unit.mean),
                control.write_scale.eq(unit.mean),
                control.n_value.eq(unit.n_value),
                control.recip_value.eq(unit.recip_value),
                self.state_enable.eq(unit.enable),
            ]

    def _entries(self, m, arriving):
        """Parameter RAM: all lanes keep a copy of what lane 0 reads."""
        control, host = self.control, self.host
        loading = arriving.kind == SlotKind.LOAD_ENTRY
        entry = Signal(8)
        value = Signal(32)
        valid = Signal()
        m.d.sync += [
            valid.eq(loading),
            value.eq(self.element),
            self.loaded.eq(arriving.final & ~_is(arriving.kind, (SlotKind.IDLE, *ELEMENTS))),
        ]
        with m.If(self.begin):
            m.d.sync += entry.eq(self.instruction.first_entry)
        with m.Elif(valid):
            m.d.sync += entry.eq(entry + 1)
        from_host = host.write_entry | host.entry_read
        m.d.comb += [
            control.write_entry.eq(valid | host.write_entry),
            control.entry.eq(Mux(from_host, self.host_word, entry)),
            control.entry_value.eq(Mux(host.write_entry, self.host_entry, value)),
            control.entry_read.eq(host.entry_read),
        ]
        with m.If((control.program == LaneProgram.STATISTICS) & ~from_host):
            m.d.comb += [control.entry_read.eq(1), control.entry.eq(self._tail.entry)]

    def _results(self, m, slots, arrival):
        """Results one per clock: elements as they come, sums and moments one after the other."""
        control, schedule = self.control, self.schedule
        sums = (Result.SUM0, Result.SUM1, Result.SUM2)
        pending = Signal(len(sums))
        accumulates = control.program == LaneProgram.GRAD_ACCUMULATE
        m.d.sync += pending.eq(Cat(self.sums_valid & accumulates, pending[:-1]))

        # A raw result is written `bitvec_latency` after its element was loaded; the store hears of
        # every result `narrow_latency` before its write.
        raw = LOAD_LATENCY + schedule.bitvec_latency - self.config.narrow_latency
        element = Signal()
        with m.If(control.raw):
            m.d.comb += element.eq(slots[raw].kind == SlotKind.ELEMENT)
        with m.Else():
            with m.Switch(control.program):
                for code, program in (
                    (LaneProgram.BACK_PROP, BACK_PROP),
                    (LaneProgram.TENSOR_TENSOR, schedule.tensor_tensor),
                ):
                    with m.Case(code):
                        slot = slots[arrival + schedule.result(program)]
                        m.d.comb += element.eq(slot.kind == SlotKind.ELEMENT)
        m.d.comb += [
            self.result.eq(element | pending.any() | self._tail.result | self._aggregation.result),
            control.narrow.eq(self.instruction.dst_dtype),
            control.result.eq(self._decode.result),
        ]
        with m.If(control.program == LaneProgram.BACK_PROP):
            m.d.comb += control.result.eq(Result.BACK_PROP)
        with m.If(control.program == LaneProgram.STATISTICS):
            m.d.comb += control.result.eq(Mux(self._tail.is_count, Result.COUNT, Result.MOMENT))
        with m.If(control.program == LaneProgram.SPREAD):
            m.d.comb += control.result.eq(
                Mux(self._aggregation.is_mean, Result.MEAN, Result.BACK_PROP)
            )
        with m.If(accumulates):
            for position, which in enumerate(sums):
                with m.If(pending[position]):
                    m.d.comb += control.result.eq(which)


def _is(kind, kinds):
    return Cat(kind == k for k in kinds).any()
