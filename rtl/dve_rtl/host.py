"""Host port: a word of every lane of a partition row at a time, beside the running engine.

The element path never waits for the host: SBUF and PSUM are accessed in clocks in which the lanes
do not use the port, lane state, Parameter RAM and control values between instructions. A host
access that races with an instruction on the same bytes is ordered by nothing; use completions.
"""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import WORD_BYTES, EngineConfig
from dve_rtl.lane_orders import HostField


class Space(enum.Enum, shape=3):
    """What a host request addresses."""

    SBUF = 0
    PSUM = 1
    STATE = 2
    PARAMETER_RAM = 3
    CONTROL = 4


def request_layout(config: EngineConfig) -> data.StructLayout:
    """A host request.

    ``data`` and ``byte_enable`` hold one 64-bit word for each lane, lane 0 lowest. For SBUF and
    PSUM, ``row`` is partition // lanes and ``word`` the byte in partition // 8. For STATE, ``row``
    is channel // lanes, ``word`` the field in the order N, mean, A, B, C, and a lane is written if
    its lowest byte is enabled. For PARAMETER_RAM, ``word`` is the entry, in lane 0's data; for
    CONTROL, it is the control value (see ``convert/registers.py``), in lane 0's data as well. All
    but memories have 32 bits, in the low half of the word; the other half reads as 0.
    """
    return data.StructLayout(
        {
            "data": 64 * config.lanes,
            "byte_enable": WORD_BYTES * config.lanes,
            "word": 15,
            "row": 7,
            "space": Space,
            "write": 1,
        }
    )


class HostAccess(data.Struct):
    """What the host does to the lanes in this clock; its row, word and data are the request's."""

    memory_write: 1
    memory_read: 1
    state_read: 1
    write_mean: 1
    write_scale: 1
    write_a: 1
    write_b: 1
    write_n: 1
    write_entry: 1
    entry_read: 1
    write_control: 1
    field: HostField  # of the read begun in the clock before


class HostPort(wiring.Component):
    """Serves host requests in order; one write per clock, one read per two clocks at best.

    Writing N takes the reciprocal unit once for every enabled lane, because the stored general
    reciprocal must follow N.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    request : In(stream.Signature(request_layout(config)))
    response : Out(stream.Signature(64 * lanes))
        One for each read.
    words : In(64 * lanes)
        ``host_word`` of every lane.
    control_value : In(32)
        The control value that the request names.
    reading, writing : In(1)
        The lanes use read port 0, or the write port, in this clock.
    idle : In(1)
        No instruction executes.
    hold : Out(1)
        Do not begin one.
    access : Out(HostAccess)
    lane_enable : Out(lanes)
        Lanes whose state is written.
    n_value : Out(32), recip_value : Out(32)
        N to write, and its general reciprocal.
    count : Out(stream.Signature(32)), recip : In(stream.Signature(32))
        To and from the reciprocal unit.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "request": In(stream.Signature(request_layout(config))),
                "response": Out(stream.Signature(64 * config.lanes)),
                "words": In(64 * config.lanes),
                "control_value": In(32),
                "reading": In(1),
                "writing": In(1),
                "idle": In(1),
                "hold": Out(1),
                "access": Out(HostAccess),
                "lane_enable": Out(config.lanes),
                "n_value": Out(32),
                "recip_value": Out(32),
                "count": Out(stream.Signature(32)),
                "recip": In(stream.Signature(32)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request, access = self.request, self.access
        in_memory = (request.p.space == Space.SBUF) | (request.p.space == Space.PSUM)
        fetching = Signal()  # a read was begun in the clock before
        of_lanes = Signal()  # it reads the lanes, else the control value
        control_value = Signal(32)
        field = Signal(HostField)
        enabled = Cat(request.p.byte_enable[WORD_BYTES * i] for i in range(self.config.lanes))
        m.d.comb += [self.lane_enable.eq(enabled), access.field.eq(field)]

        begin_read = Signal()
        with m.If(self.response.ready):
            m.d.sync += self.response.valid.eq(0)
        with m.If(fetching):
            m.d.sync += [
                self.response.p.eq(Mux(of_lanes, self.words, control_value)),
                self.response.valid.eq(1),
            ]
        m.d.sync += [fetching.eq(begin_read), control_value.eq(self.control_value)]
        can_read = ~fetching & (~self.response.valid | self.response.ready)

        with m.If(begin_read):
            m.d.sync += of_lanes.eq(request.p.space != Space.CONTROL)
            with m.Switch(request.p.space):
                with m.Case(Space.SBUF):
                    m.d.sync += field.eq(HostField.SBUF)
                with m.Case(Space.PSUM):
                    m.d.sync += field.eq(HostField.PSUM)
                with m.Case(Space.STATE):
                    # The first five fields have the codes of their words.
                    m.d.sync += field.eq(request.p.word[:3])
                with m.Case(Space.PARAMETER_RAM):
                    m.d.sync += field.eq(HostField.PARAMETER)

        lane = Signal(range(max(self.config.lanes, 2)))  # Verilog has no vector of zero bits
        last_lane = lane == self.config.lanes - 1
        m.d.comb += [
            self.n_value.eq(request.p.data.word_select(lane, 64)[:32]),
            self.count.p.eq(self.n_value),
            self.recip_value.eq(self.recip.p),
        ]
        with m.FSM():
            with m.State("SERVE"):
                m.d.sync += lane.eq(0)
                with m.If(request.valid & in_memory):
                    with m.If(request.p.write):
                        m.d.comb += [
                            access.memory_write.eq(~self.writing),
                            request.ready.eq(~self.writing),
                        ]
                    with m.Else():
                        m.d.comb += [
                            access.memory_read.eq(can_read & ~self.reading),
                            begin_read.eq(access.memory_read),
                            request.ready.eq(access.memory_read),
                        ]
                with m.Elif(request.valid):
                    m.d.comb += self.hold.eq(1)
                    with m.If(self.idle):
                        self._state_access(m, can_read, begin_read)
            with m.State("COUNT"):
                m.d.comb += [self.hold.eq(1), self.count.valid.eq(enabled.bit_select(lane, 1))]
                with m.If(~self.count.valid):
                    m.next = "NEXT_LANE"
                with m.Elif(self.count.ready):
                    m.next = "RECIPROCAL"
            with m.State("RECIPROCAL"):
                m.d.comb += [
                    self.hold.eq(1),
                    self.recip.ready.eq(1),
                    access.write_n.eq(self.recip.valid),
                    self.lane_enable.eq(1 << lane),
                ]
                with m.If(self.recip.valid):
                    m.next = "NEXT_LANE"
            with m.State("NEXT_LANE"):
                m.d.comb += [self.hold.eq(1), request.ready.eq(last_lane)]
                m.d.sync += lane.eq(lane + 1)
                m.next = "COUNT"
                with m.If(last_lane):
                    m.next = "SERVE"
        return m

    def _state_access(self, m, can_read, begin_read):
        """Lane state, Parameter RAM and control values, between instructions."""
        request, access = self.request, self.access
        parameter = request.p.space == Space.PARAMETER_RAM
        control = request.p.space == Space.CONTROL
        with m.If(~request.p.write):
            m.d.comb += [
                begin_read.eq(can_read),
                request.ready.eq(can_read),
                access.state_read.eq(can_read & ~parameter & ~control),
                access.entry_read.eq(can_read & parameter),
            ]
        with m.Elif(parameter):
            m.d.comb += [access.write_entry.eq(1), request.ready.eq(1)]
        with m.Elif(control):
            m.d.comb += [access.write_control.eq(1), request.ready.eq(1)]
        with m.Elif(request.p.word == HostField.N.value):
            m.next = "COUNT"
        with m.Else():
            m.d.comb += request.ready.eq(1)
            with m.Switch(request.p.word):
                for word, strobe in (
                    (HostField.MEAN, access.write_mean),
                    (HostField.A, access.write_a),
                    (HostField.B, access.write_b),
                    (HostField.C, access.write_scale),
                ):
                    with m.Case(word.value):
                        m.d.comb += strobe.eq(1)
