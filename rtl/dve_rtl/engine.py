"""Top: wires the regions, nothing else."""

from amaranth import *
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import REGISTERS

from dve_rtl.completion import CompletionPort
from dve_rtl.config import EngineConfig
from dve_rtl.convert.registers import ControlRegisters
from dve_rtl.fp32.reciprocal import Reciprocal
from dve_rtl.frontend.frontend import FrontEnd
from dve_rtl.host import HostPort, Space, request_layout
from dve_rtl.lane import Lane
from dve_rtl.lane_control import LaneControl
from dve_rtl.memory.store import Store
from dve_rtl.payloads import Completion, Handler, RegisterRequest, SyncRequest, Waiting
from dve_rtl.sequencer import Sequencer
from dve_rtl.sync.bank import SyncBank

LANE_MODULE = "dve_lane"


class Engine(wiring.Component):
    """The batch-norm path of the vector engine.

    One instruction executes at a time, in order; the next one is gathered and validated meanwhile.
    GradAccumulate and BackProp take one element per lane and clock. At reset the streams are
    empty; memories, lane state, registers and control values keep what they hold (power-on: zero,
    the Parameter RAM its reciprocals, the control values those of the generation).

    Parameters
    ----------
    config : EngineConfig
    portable : bool
        Describe everything in Amaranth, for its simulator, instead of instantiating the lane
        module and the RAM primitive of the exported Verilog.

    Members
    -------
    instruction : In(stream.Signature(beat_bits))
        64-byte records in beats; the first beat carries byte 0 in its lowest bits.
    completion : Out(stream.Signature(Completion))
        One for each record, in order.
    host_request : In(stream.Signature(request_layout(config)))
    host_response : Out(stream.Signature(64 * lanes))
        Memories, lane state, Parameter RAM and control values (see ``host.py``).
    register_request : In(stream.Signature(RegisterRequest))
    register_response : Out(stream.Signature(32))
        Address registers; one response for each read.
    sync_request : In(stream.Signature(SyncRequest))
    sync_response : Out(stream.Signature(32))
        Semaphores and events, as the other engines see them; one response for each read.
    waiting : Out(Waiting)
        The wait that holds the instruction stream up, if one does.
    idle : Out(1)
        No instruction executes or waits to: all whose last beat was accepted before this clock
        have ended, though a completion may still be on offer.
    """

    def __init__(self, config: EngineConfig, *, portable: bool = False):
        self.config = config
        self.portable = portable
        super().__init__(
            {
                "instruction": In(stream.Signature(config.beat_bits)),
                "completion": Out(stream.Signature(Completion)),
                "host_request": In(stream.Signature(request_layout(config))),
                "host_response": Out(stream.Signature(64 * config.lanes)),
                "register_request": In(stream.Signature(RegisterRequest)),
                "register_response": Out(stream.Signature(32)),
                "sync_request": In(stream.Signature(SyncRequest)),
                "sync_response": Out(stream.Signature(32)),
                "waiting": Out(Waiting),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        now = Signal(32)
        m.d.sync += now.eq(now + 1)

        m.submodules.frontend = frontend = FrontEnd(config)
        m.submodules.sequencer = sequencer = Sequencer(config)
        m.submodules.control = control = LaneControl(config)
        m.submodules.store = store = Store(config)
        m.submodules.host = host = HostPort(config)
        m.submodules.control_registers = registers = ControlRegisters(config.generation)
        m.submodules.reciprocal = reciprocal = Reciprocal()
        m.submodules.sync_bank = bank = SyncBank()
        m.submodules.completion_port = completion = CompletionPort()

        wiring.connect(m, wiring.flipped(self.instruction), frontend.beats)
        wiring.connect(m, frontend.o, sequencer.i)
        wiring.connect(m, wiring.flipped(self.host_request), host.request)
        wiring.connect(m, host.response, wiring.flipped(self.host_response))
        wiring.connect(m, completion.o, wiring.flipped(self.completion))
        wiring.connect(m, wiring.flipped(self.sync_request), bank.request)
        wiring.connect(m, bank.response, wiring.flipped(self.sync_response))
        self._registers(m, frontend)
        self._reciprocals(m, sequencer, control, host, reciprocal)

        op = sequencer.i.p
        instruction = control.instruction
        pair = op.pair if config.traits.pairs else 0
        m.d.comb += [
            frontend.now.eq(now),
            # semaphores and events
            bank.wait.eq(frontend.wait),
            bank.waiting.eq(frontend.test),
            frontend.met.eq(bank.met),
            self.waiting.eq(frontend.waiting),
            bank.update.eq(op.update),
            bank.update.valid.eq(sequencer.update),
            sequencer.updated.eq(bank.updated),
            self.idle.eq(frontend.idle & sequencer.idle),
            # sequencer
            sequencer.hold.eq(host.hold),
            sequencer.stored.eq(store.write.valid),
            sequencer.done.eq(store.done | control.loaded),
            sequencer.taken.eq(completion.ready),
            # completion
            completion.valid.eq(sequencer.completed),
            completion.opcode.eq(op.opcode),
            completion.reason.eq(op.reason),
            completion.accepted_at.eq(op.accepted_at),
            completion.now.eq(now),
            # lane control
            instruction.handler.eq(op.handler),
            instruction.operator.eq(op.operator),
            instruction.pair.eq(pair),
            instruction.src1_dtype.eq(op.src1.dtype),
            instruction.channels.eq(op.channels),
            instruction.dst_dtype.eq(op.dst.dtype),
            instruction.elements.eq(op.elements),
            instruction.element_count.eq(op.element_count),
            instruction.odd_count.eq(op.odd_count),
            instruction.recip_value.eq(sequencer.recip_value),
            instruction.first_entry.eq(op.first_entry),
            control.spreads.eq(sequencer.second_sweep),
            sequencer.next_sweep.eq(control.divided),
            control.begin.eq(sequencer.begin),
            control.ended.eq(sequencer.completed),
            control.issue.eq(sequencer.issue),
            control.write.eq(store.write),
            control.converters.eq(registers.control),
            control.host.eq(host.access),
            control.host_psum.eq(host.request.p.space == Space.PSUM),
            control.host_row.eq(host.request.p.row),
            control.host_word.eq(host.request.p.word),
            control.host_entry.eq(host.request.p.data[:32]),
            control.host_n.eq(host.n_value),
            control.host_recip.eq(host.recip_value),
            # store
            store.dst.eq(op.dst),
            store.channels.eq(op.channels),
            store.pair.eq(pair),
            store.begin.eq(sequencer.begin),
            store.result.eq(control.result),
            # control values
            registers.word.eq(host.request.p.word),
            registers.write.eq(host.access.write_control),
            registers.data.eq(host.request.p.data[:32]),
            host.control_value.eq(registers.value),
            # host
            host.reading.eq(control.reading),
            host.writing.eq(store.write.valid),
            host.idle.eq(sequencer.idle),
        ]
        self._lanes(m, control, store, host)
        return m

    def _lanes(self, m, control, store, host):
        state_enable = Mux(control.control.value_from_host, host.lane_enable, control.state_enable)
        for index in range(self.config.lanes):
            sums_valid = Signal(name=f"sums_valid_{index}")
            element = Signal(32, name=f"element_{index}")
            count = Signal(32, name=f"count_{index}")
            in_table = Signal(name=f"in_table_{index}")
            inputs = {
                "control": control.control,
                "state_enable": state_enable[index],
                "store_enable": store.enable[index],
                "host_data": host.request.p.data.word_select(index, 64),
                "host_bytes": host.request.p.byte_enable.word_select(index, 8),
            }
            outputs = {
                "sums_valid": sums_valid,
                "element": element,
                "count": count,
                "in_table": in_table,
                "host_word": host.words.word_select(index, 64),
            }
            if self.portable:
                m.submodules[f"lane_{index}"] = lane = Lane(self.config, primitive_ram=False)
                m.d.comb += [getattr(lane, name).eq(value) for name, value in inputs.items()]
                m.d.comb += [value.eq(getattr(lane, name)) for name, value in outputs.items()]
            else:
                word = Signal(64, name=f"host_word_{index}")
                m.d.comb += outputs["host_word"].eq(word)
                m.submodules[f"lane_{index}"] = Instance(
                    LANE_MODULE,
                    i_clk=ClockSignal(),
                    i_rst=ResetSignal(),
                    **{f"i_{name}": Value.cast(value) for name, value in inputs.items()},
                    **{f"o_{name}": v for name, v in (outputs | {"host_word": word}).items()},
                )
            m.d.comb += [control.counts[index].eq(count), control.in_table[index].eq(in_table)]
            if index == 0:  # all lanes do the same in the same clock: one speaks for all
                m.d.comb += [control.sums_valid.eq(sums_valid), control.element.eq(element)]

    def _registers(self, m, frontend):
        """Address registers: read by the validator, written and read by the host."""
        m.submodules.registers = registers = memory.Memory(
            shape=unsigned(32), depth=REGISTERS, init=[]
        )
        write = registers.write_port()
        operand = registers.read_port(domain="comb")
        view = registers.read_port(domain="comb")
        request, response = self.register_request, self.register_response
        free = ~response.valid | response.ready
        m.d.comb += [
            operand.addr.eq(frontend.register_index),
            frontend.register_value.eq(operand.data),
            view.addr.eq(request.p.index),
            request.ready.eq(request.p.write | free),
            write.addr.eq(request.p.index),
            write.data.eq(request.p.value),
            write.en.eq(request.valid & request.p.write),
        ]
        with m.If(free):
            m.d.sync += [
                response.valid.eq(request.valid & ~request.p.write),
                response.p.eq(view.data),
            ]

    def _reciprocals(self, m, sequencer, control, host, reciprocal):
        """One unit serves parameter loads, Aggregate, and between instructions host writes of N."""
        with m.If(sequencer.idle):
            wiring.connect(m, host.count, reciprocal.i)
            wiring.connect(m, reciprocal.o, host.recip)
        with m.Elif(sequencer.i.p.handler == Handler.AGGREGATE):
            wiring.connect(m, control.count, reciprocal.i)
            wiring.connect(m, reciprocal.o, control.recip)
        with m.Else():
            wiring.connect(m, sequencer.count, reciprocal.i)
            wiring.connect(m, reciprocal.o, sequencer.recip)
