"""Beats of the instruction stream to 64-byte records (isa_common.md 1.1)."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import RECORD_BYTES

from dve_rtl.config import BEAT_BITS

RECORD_BITS = 8 * RECORD_BYTES


class GatheredRecord(data.Struct):
    """One instruction as it arrived."""

    record: RECORD_BITS  # byte 0 in the lowest bits
    accepted_at: 32  # value of the clock counter in the cycle its last beat was accepted


class Gather(wiring.Component):
    """Assembles records from beats.

    While a record waits at ``o``, the beats of the next one are accepted up to its last, which
    moves in when ``o`` is free. Latency: one clock after the last beat. Throughput: one beat per
    clock, without a gap between records.

    Parameters
    ----------
    beat_bits : int
        Width of one beat: 32, 64, 128, 256 or 512.

    Members
    -------
    beats : In(stream.Signature(beat_bits))
        The first beat of a record carries byte 0 in its lowest bits.
    now : In(32)
        Free-running clock counter.
    o : Out(stream.Signature(GatheredRecord))
        Records in order.

    Raises
    ------
    ValueError
        If ``beat_bits`` is none of the widths above.
    """

    def __init__(self, beat_bits: int):
        if beat_bits not in BEAT_BITS:
            raise ValueError(f"beat_bits must be one of {BEAT_BITS}, got {beat_bits}")
        self.beat_bits = beat_bits
        super().__init__(
            {
                "beats": In(stream.Signature(beat_bits)),
                "now": In(32),
                "o": Out(stream.Signature(GatheredRecord)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        payload = self.beats.payload
        free = ~self.o.valid | self.o.ready
        if self.beat_bits == RECORD_BITS:
            is_last = Const(1)
            record = payload
        else:
            # Every beat but the last; shifting down leaves the first one lowest.
            early = Signal(RECORD_BITS - self.beat_bits)
            position = Signal(range(RECORD_BITS // self.beat_bits))
            is_last = position.all()
            record = Cat(early, payload)
            with m.If(self.beats.valid & self.beats.ready):
                m.d.sync += position.eq(position + 1)
                with m.If(~is_last):
                    m.d.sync += early.eq(record[self.beat_bits :])

        m.d.comb += self.beats.ready.eq(~is_last | free)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.beats.valid & is_last & free):
            m.d.sync += [
                self.o.p.record.eq(record),
                self.o.p.accepted_at.eq(self.now),
                self.o.valid.eq(1),
            ]
        return m
