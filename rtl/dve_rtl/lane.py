"""One lane: memories, load, widen, fp32 units under a lane program, narrow, store.

A lane does what it is told, every clock, without a stall: all control comes from the engine and is
the same for every lane, but for the enables. Each control field says in which clock it counts.
"""

from amaranth import *
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from dve_rtl.config import WORD_BYTES, EngineConfig
from dve_rtl.convert.control import ConverterControl, reset_values
from dve_rtl.convert.narrow import Narrow
from dve_rtl.convert.widen import Widen
from dve_rtl.fp32.accumulator import Accumulator
from dve_rtl.fp32.adder import Adder
from dve_rtl.fp32.multiplier import Multiplier
from dve_rtl.lane_program import (
    ACCUMULATORS,
    BACK_PROP,
    GRAD_ACCUMULATE,
    MULTIPLIERS,
    PARAMETERS,
    PREPARE,
    RESULT_OF_BACK_PROP,
    UNITS,
    Action,
    Program,
    Schedule,
)
from dve_rtl.lane_state import LaneState
from dve_rtl.memory.element import log2_bytes
from dve_rtl.memory.load import Load, LoadControl
from dve_rtl.memory.ram import Ram
from dve_rtl.payloads import DTYPE

LOAD_LATENCY = 2
"""Clocks from an address at the memories to an element at the converter: RAM, then Load."""


class LaneProgram(enum.Enum, shape=1):
    """The table of ``lane_program`` that an instruction runs under."""

    GRAD_ACCUMULATE = 0
    BACK_PROP = 1


class Result(enum.Enum, shape=2):
    """What the narrowing converter takes."""

    SUM0 = 0
    SUM1 = 1
    SUM2 = 2
    ELEMENT = 3


class HostField(enum.Enum, shape=3):
    """What a host read sees of a lane; the lane state comes first, in its architectural order."""

    N = 0
    MEAN = 1
    A = 2
    B = 3
    C = 4
    PARAMETER = 5
    SBUF = 6
    PSUM = 7


def sbuf_address_bits(config: EngineConfig) -> int:
    return exact_log2(config.groups * config.sbuf_bytes // WORD_BYTES)


def psum_address_bits(config: EngineConfig) -> int:
    return exact_log2(config.groups * config.psum_bytes // WORD_BYTES)


def control_layout(config: EngineConfig) -> data.StructLayout:
    """Control of a lane; each field with the clock in which it counts.

    ``A`` is the clock in which an address is at the memories, ``X = A + 2 + widen_latency`` the
    one in which widened elements arrive, ``R`` the one in which a result goes into the narrowing
    converter.
    """
    group = config.group_bits
    return data.StructLayout(
        {
            # constant while an instruction executes
            "program": LaneProgram,
            "immediates": 1,  # mean and scale are those of GradAccumulate, not the lane state
            # A: memory addresses; a word address is partition row, then word in partition
            "sbuf_read0": sbuf_address_bits(config),
            "sbuf_read1": sbuf_address_bits(config),
            "psum_read": psum_address_bits(config),
            # A + 1
            "load0": LoadControl,
            "load1": LoadControl,
            # A + 2
            "widen0": DTYPE,
            "widen1": DTYPE,
            # one clock (recip: two clocks) before the unit that takes the parameter
            "groups": data.StructLayout({name: group for name in PARAMETERS}),
            # with the operands of the accumulators
            "sum_valid": 1,
            "sum_last": 1,
            # with the operands of the last multiplier
            "prepare": 1,
            # when its result is there
            "write_prefactor": 1,
            "prefactor_group": group,
            # X: parameters to keep
            "write_mean": 1,
            "write_scale": 1,
            "write_a": 1,
            "write_b": 1,
            "write_n": 1,
            "write_bank": 1,
            "write_group": group,
            "n_value": 32,
            "recip_value": 32,
            "value_from_host": 1,
            # Parameter RAM
            "write_entry": 1,
            "entry": 8,
            "entry_value": 32,
            "entry_read": 1,
            # R
            "result": Result,
            "narrow": DTYPE,
            # R + narrow_latency: memory write
            "store_dtype": DTYPE,
            "store_byte": 3,
            "store_from_host": 1,
            "sbuf_write": 1,
            "psum_write": 1,
            "sbuf_write_address": sbuf_address_bits(config),
            "psum_write_address": psum_address_bits(config),
            # A + 1
            "host_field": HostField,
        }
    )


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
        The sums of a pass are there in the next clock and stay for at least 8 more.
    element : Out(32)
        Widened element of source 0 in clock X.
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
                "host_word": Out(64),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Nothing writes the control values yet.
        self._converters = Signal(ConverterControl, init=reset_values(self.config.generation))
        elements = self._read(m)
        m.d.comb += self.element.eq(elements["src0"])
        state = self._state(m)
        results = self._units(m, elements, state)
        self._write(m, results)
        self._host_view(m, state)
        return m

    def _read(self, m: Module) -> dict[str, Value]:
        """Memories, element selection and widening."""
        config, control = self.config, self.control
        m.submodules.sbuf = sbuf = Ram(
            depth=1 << sbuf_address_bits(config), reads=2, primitive=self.primitive_ram
        )
        m.submodules.psum = psum = Ram(
            depth=1 << psum_address_bits(config), reads=1, primitive=self.primitive_ram
        )
        self._sbuf, self._psum = sbuf, psum
        m.d.comb += [
            sbuf.read0_address.eq(control.sbuf_read0),
            sbuf.read1_address.eq(control.sbuf_read1),
            psum.read0_address.eq(control.psum_read),
        ]
        elements = {}
        for port in range(2):
            m.submodules[f"load{port}"] = load = Load()
            m.submodules[f"widen{port}"] = widen = Widen(latency=config.widen_latency)
            m.d.comb += [
                load.sbuf.eq((sbuf.read0_data, sbuf.read1_data)[port]),
                load.psum.eq(psum.read0_data),
                load.control.eq(getattr(control, f"load{port}")),
                widen.i.eq(load.o),
                widen.dtype.eq(getattr(control, f"widen{port}")),
                widen.control.eq(self._converters),
            ]
            elements[f"src{port}"] = widen.o
        return elements

    def _state(self, m: Module) -> LaneState:
        control = self.control
        m.submodules.state = state = LaneState(self.config)
        m.d.comb += [
            state.immediates.eq(control.immediates),
            state.write_group.eq(control.write_group),
            state.write_bank.eq(control.write_bank),
            state.value.eq(Mux(control.value_from_host, self.host_data[:32], self.element)),
            state.n_value.eq(control.n_value),
            state.recip_value.eq(control.recip_value),
            state.write_prefactor.eq(control.write_prefactor),
            state.prefactor_write_group.eq(control.prefactor_group),
            state.write_entry.eq(control.write_entry),
            state.entry.eq(control.entry),
            state.entry_value.eq(control.entry_value),
            state.entry_read.eq(control.entry_read),
        ]
        for name in PARAMETERS:
            m.d.comb += getattr(state, f"{name}_group").eq(getattr(control.groups, name))
        for name in ("mean", "scale", "a", "b", "n"):
            enable = getattr(control, f"write_{name}") & self.state_enable
            m.d.comb += getattr(state, f"write_{name}").eq(enable)
        return state

    def _units(self, m: Module, elements: dict[str, Value], state: LaneState) -> dict[str, Value]:
        """The seven fp32 units, with operands as the lane programs say."""
        config, control = self.config, self.control
        units = {}
        for name in UNITS:
            if name in MULTIPLIERS:
                unit = Multiplier(latency=config.mul_latency, target=config.target)
            elif name in ACCUMULATORS:
                unit = Accumulator(adder_latency=config.add_latency)
            else:
                unit = Adder(latency=config.add_latency)
            m.submodules[name] = units[name] = unit
        results = elements | {name: unit.o for name, unit in units.items()}
        delayed = _DelayLines(m, results)

        def operand(program: Program, unit: str, source: str) -> Value:
            if source in PARAMETERS:
                return getattr(state, source)
            return delayed(source, self.schedule.delay(program, unit, source))

        for name, unit in units.items():
            for port in ("a", "b"):
                choices = []
                for condition, program in (
                    (control.program == LaneProgram.GRAD_ACCUMULATE, GRAD_ACCUMULATE),
                    (control.prepare, PREPARE),
                    (control.program == LaneProgram.BACK_PROP, BACK_PROP),
                ):
                    source = getattr(program[name], port) if name in program else None
                    if source is not None:
                        choices.append((condition, operand(program, name, source)))
                m.d.comb += getattr(unit, port).eq(_select(choices))
            if name not in MULTIPLIERS:
                subtracts = {p[name].action for p in (GRAD_ACCUMULATE, BACK_PROP) if name in p}
                m.d.comb += unit.subtract.eq(Action.SUBTRACT in subtracts)
            if name in ACCUMULATORS:
                m.d.comb += [
                    unit.accumulate.eq(control.program == LaneProgram.GRAD_ACCUMULATE),
                    unit.valid.eq(control.sum_valid),
                    unit.last.eq(control.sum_last),
                ]

        m.d.comb += self.sums_valid.eq(units[ACCUMULATORS[0]].sum_valid)
        sums = {name: Signal(32, name=f"{name}_sum") for name in ACCUMULATORS}
        with m.If(self.sums_valid):
            m.d.sync += [sums[name].eq(units[name].sum) for name in ACCUMULATORS]
        m.d.comb += state.prefactor_value.eq(results[RESULT_OF_BACK_PROP])
        return {name: sums[name] for name in ACCUMULATORS} | {
            RESULT_OF_BACK_PROP: results[RESULT_OF_BACK_PROP]
        }

    def _write(self, m: Module, results: dict[str, Value]) -> None:
        """Narrowing and the memory write."""
        config, control = self.config, self.control
        m.submodules.narrow = narrow = Narrow(latency=config.narrow_latency)
        m.d.comb += [narrow.dtype.eq(control.narrow), narrow.control.eq(self._converters)]
        with m.Switch(control.result):
            for result, name in zip(
                (Result.SUM0, Result.SUM1, Result.SUM2, Result.ELEMENT),
                (*ACCUMULATORS, RESULT_OF_BACK_PROP),
                strict=True,
            ):
                with m.Case(result):
                    m.d.comb += narrow.i.eq(results[name])

        # An element is written at its place in the word by repeating it over the word and
        # enabling its bytes: no shifter.
        size = Signal(2)
        word = Signal(64)
        enable = Signal(WORD_BYTES)
        m.d.comb += size.eq(log2_bytes(control.store_dtype))
        with m.Switch(size):
            for log2 in range(3):
                with m.Case(log2):
                    m.d.comb += [
                        word.eq(narrow.o[: 8 << log2].replicate(8 >> log2)),
                        enable.eq(Const((1 << (1 << log2)) - 1, WORD_BYTES) << control.store_byte),
                    ]
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
            with m.If(~control.store_from_host & ~self.store_enable):
                m.d.comb += ram.write_enable.eq(0)

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


class _DelayLines:
    """Registers that hold a value for some clocks, shared by all who ask for the same."""

    def __init__(self, m: Module, sources: dict[str, Value]):
        self._m = m
        self._lines: dict[str, list[Value]] = {name: [v] for name, v in sources.items()}

    def __call__(self, source: str, clocks: int) -> Value:
        line = self._lines[source]
        while len(line) <= clocks:
            stage = Signal(32, name=f"{source}_after_{len(line)}")
            self._m.d.sync += stage.eq(line[-1])
            line.append(stage)
        return line[clocks]


def _select(choices: list[tuple[Value, Value]]) -> Value:
    """The first choice whose condition holds; the last needs none."""
    if not choices:
        return Const(0, 32)
    *conditional, (_, chosen) = choices
    for condition, value in reversed(conditional):
        chosen = Mux(condition, value, chosen)
    return chosen
