"""One lane: memories, load, widen, units under a lane program, narrow, store.

A lane does what it is told, every clock, without a stall: all control comes from the engine and is
the same for every lane, but for the enables. Each control field says in which clock it counts.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import Dtype

from dve_rtl.alu.bitvec import Bitvec
from dve_rtl.config import WORD_BYTES, EngineConfig
from dve_rtl.convert.narrow import Narrow
from dve_rtl.convert.widen import Widen
from dve_rtl.lane_orders import (
    HostField,
    control_layout,
    psum_address_bits,
    sbuf_address_bits,
)
from dve_rtl.lane_program import (
    PARAMETERS,
    SECOND_STREAMS,
    STREAMS,
    Schedule,
)
from dve_rtl.lane_state import LaneState
from dve_rtl.lane_units import DelayLines, LaneUnits
from dve_rtl.memory.load import Load
from dve_rtl.memory.pack import Pack
from dve_rtl.memory.ram import Ram


class Lane(wiring.Component):
    """One lane of the engine; initiation interval 1 element.

    Parameters
    ----------
    config : EngineConfig
    primitive_ram : bool
        Use the Verilog RAM primitive (see ``memory/ram.py``).

    Members
    -------
    control : In(control_layout(config))
        The same for all lanes.
    state_enable, store_enable : In(1)
        This lane's channel takes part: in the writes of parameters in clock X, in the memory
        write in clock R + narrow_latency.
    host_data, host_bytes : In(64), In(8)
        Host write of this lane's word; bytes to write.
    sums_valid : Out(1)
        The sums of a pass, or those of a half, are there in the next clock. They stay for at
        least 8 more, those of statistics until its tail has taken them.
    element : Out(32)
        Widened element of source 0 in clock X.
    count : Out(32), in_table : Out(1)
        N of the group that ``control.groups.n`` says, and whether its reciprocal is an entry of
        the Parameter RAM: as ``LaneState`` has them.
    host_word : Out(64)
        What ``control.host_field`` selects.
    """

    def __init__(self, config: EngineConfig, *, primitive_ram: bool):
        self.config = config
        self.schedule = Schedule(config)
        self.primitive_ram = primitive_ram
        super().__init__(
            {
                "control": In(control_layout(config)),
                "state_enable": In(1),
                "store_enable": In(1),
                "host_data": In(64),
                "host_bytes": In(WORD_BYTES),
                "sums_valid": Out(1),
                "element": Out(32),
                "count": Out(32),
                "in_table": Out(1),
                "host_word": Out(64),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.units = units = LaneUnits(self.config)
        m.submodules.state = state = LaneState(self.config)
        m.d.comb += [units.control.eq(self.control), self.sums_valid.eq(units.sums_valid)]
        self._memories(m)
        raw = self._read(m)
        self._widen(m, raw, units)
        self._state(m, state, units)
        self._write(m, raw, units)
        self._host_view(m, state)
        return m

    def _memories(self, m: Module) -> None:
        control = self.control
        m.submodules.sbuf = self._sbuf = sbuf = Ram(
            depth=1 << sbuf_address_bits(self.config), reads=2, primitive=self.primitive_ram
        )
        m.submodules.psum = self._psum = psum = Ram(
            depth=1 << psum_address_bits(self.config), reads=1, primitive=self.primitive_ram
        )
        m.d.comb += [
            sbuf.read0_address.eq(control.sbuf_read0),
            sbuf.read1_address.eq(control.sbuf_read1),
            psum.read0_address.eq(control.psum_read),
        ]

    def _read(self, m: Module) -> list[Value]:
        """Elements of both sources as they are in memory; of a pair, both in one word."""
        words = (self._sbuf.read0_data, self._sbuf.read1_data)
        elements = []
        for port, word in enumerate(words):
            m.submodules[f"load{port}"] = load = Load()
            m.d.comb += [
                load.sbuf.eq(word),
                load.psum.eq(self._psum.read0_data),
                load.control.eq(getattr(self.control, f"load{port}")),
            ]
            elements.append(load.o)
        return elements

    def _widen(self, m: Module, raw: list[Value], units: LaneUnits) -> None:
        latency = self.config.widen_latency
        for port, element in enumerate(raw):
            m.submodules[f"widen{port}"] = widen = Widen(latency=latency)
            m.d.comb += [
                widen.i.eq(element),
                widen.dtype.eq(getattr(self.control, f"widen{port}")),
                widen.control.eq(self.control.converters),
                getattr(units, STREAMS[port]).eq(widen.o),
            ]
            if self.config.traits.pairs:
                first, second = element[:16], element[16:]
                m.submodules[f"widen_second{port}"] = other = Widen(latency=latency)
                m.d.comb += [
                    widen.i.eq(Cat(first, second & ~self.control.pair.replicate(16))),
                    other.i.eq(second),
                    other.dtype.eq(Dtype.BF16),
                    other.control.eq(self.control.converters),
                    getattr(units, SECOND_STREAMS[port]).eq(other.o),
                ]
        m.d.comb += self.element.eq(getattr(units, STREAMS[0]))

    def _state(self, m: Module, state: LaneState, units: LaneUnits) -> None:
        control = self.control
        from_units = control.values_from_sums | control.value_from_product
        units_value = Mux(control.value_from_product, units.product, units.sum1)
        m.d.comb += [
            state.immediates.eq(control.immediates),
            state.write_group.eq(control.write_group),
            state.write_bank.eq(control.write_bank),
            self.count.eq(state.n),
            self.in_table.eq(state.in_table),
            state.value.eq(
                Mux(
                    control.value_from_host,
                    self.host_data[:32],
                    Mux(from_units, units_value, self.element),
                )
            ),
            state.n_value.eq(Mux(control.values_from_sums, units.sum0, control.n_value)),
            state.recip_value.eq(control.recip_value),
            state.write_prefactor.eq(control.write_prefactor),
            state.prefactor_write_group.eq(control.prefactor_group),
            state.prefactor_value.eq(units.product),
            state.write_entry.eq(control.write_entry),
            state.entry.eq(control.entry),
            state.entry_value.eq(control.entry_value),
            state.entry_read.eq(control.entry_read),
        ]
        m.d.comb += units.entry.eq(state.entry_read_value)
        for name in PARAMETERS:
            m.d.comb += [
                getattr(state, f"{name}_group").eq(getattr(control.groups, name)),
                getattr(units, name).eq(getattr(state, name)),
            ]
        for name in ("mean", "scale", "a", "b", "n"):
            enable = getattr(control, f"write_{name}") & self.state_enable
            m.d.comb += getattr(state, f"write_{name}").eq(enable)

    def _write(self, m: Module, raw: list[Value], units: LaneUnits) -> None:
        """Narrowing, raw results, and the memory write."""
        config, control = self.config, self.control
        m.submodules.narrow = narrow = Narrow(latency=config.narrow_latency)
        m.submodules.bitvec = bitvec = Bitvec(latency=self.schedule.bitvec_latency)
        m.submodules.pack = pack = Pack(pairs=config.traits.pairs)
        m.d.comb += [
            narrow.i.eq(units.o),
            narrow.dtype.eq(control.narrow),
            narrow.control.eq(control.converters),
            bitvec.control.eq(control.operator.bitvec),
            bitvec.a.eq(raw[0]),
            bitvec.b.eq(raw[1]),
            pack.element.eq(Mux(control.raw, bitvec.o, narrow.o)),
            pack.log2_bytes.eq(control.store_log2_bytes),
            pack.byte.eq(control.store_byte),
        ]
        if config.traits.pairs:
            m.submodules.narrow_second = second = Narrow(latency=config.narrow_latency)
            m.d.comb += [
                second.i.eq(units.second),
                second.dtype.eq(control.narrow),
                second.control.eq(control.converters),
                pack.second.eq(second.o),
                pack.pair.eq(control.pair),
            ]

        takes_part = self.store_enable & (~control.predicated | self._predicate(m, raw[0]))
        word, enable = Signal.like(pack.word), Signal.like(pack.enable)
        m.d.comb += [word.eq(pack.word), enable.eq(pack.enable & takes_part.replicate(WORD_BYTES))]
        with m.If(control.store_from_host):
            m.d.comb += [word.eq(self.host_data), enable.eq(self.host_bytes)]
        for ram, strobe, address in (
            (self._sbuf, control.sbuf_write, control.sbuf_write_address),
            (self._psum, control.psum_write, control.psum_write_address),
        ):
            m.d.comb += [
                ram.write_address.eq(address),
                ram.write_data.eq(word),
                ram.write_enable.eq(enable & strobe.replicate(WORD_BYTES)),
            ]

    def _predicate(self, m: Module, element: Value) -> Value:
        """Whether the element of source 0 that belongs to the result being written is not zero."""
        true = Signal()
        m.d.comb += true.eq(element.any())
        delayed = DelayLines(m, {"true": true})
        schedule, config = self.schedule, self.config
        converted = config.widen_latency + schedule.result(schedule.tensor_tensor)
        return Mux(
            self.control.raw,
            delayed("true", schedule.bitvec_latency),
            delayed("true", converted + config.narrow_latency),
        )

    def _host_view(self, m: Module, state: LaneState) -> None:
        views = {
            HostField.N: state.n,
            HostField.MEAN: state.mean,
            HostField.A: state.a,
            HostField.B: state.b,
            HostField.C: state.scale,
            HostField.PARAMETER: state.entry_read_value,
            HostField.SBUF: self._sbuf.read0_data,
            HostField.PSUM: self._psum.read0_data,
        }
        with m.Switch(self.control.host_field):
            for field, view in views.items():
                with m.Case(field):
                    m.d.comb += self.host_word.eq(view)
