"""Whether pipelining an element-wise instruction could be told from executing it in order."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.frontend.decode import Slot
from dve_rtl.payloads import OFFSET, Pointer


class AliasCheck(wiring.Component):
    """Compares the bytes of both sources with those of the destination (isa_common.md 4.3).

    A source is safe if it lies in another memory or quadrant, if its bytes and the
    destination's are disjoint ranges, or if both are the same injective walk: then an element is
    read before its own write, and by no other ordinal. Latency 1 clock, one operand per clock.

    Members
    -------
    valid : In(1)
        An operand is present; the destination comes first.
    operand : In(2)
        Its Slot.
    start : In(Pointer)
        Where it starts.
    log2_bytes : In(2)
        Its element size.
    first, last : In(19)
        Its first and last byte in partition.
    same : In(1)
        Its steps and counts are the destination's.
    injective : In(1)
        No two ordinals of the destination's walk meet.
    serial : Out(1)
        Some source seen since the last destination is not provably safe.
    """

    valid: In(1)
    operand: In(2)
    start: In(Pointer)
    log2_bytes: In(2)
    first: In(OFFSET)
    last: In(OFFSET)
    same: In(1)
    injective: In(1)
    serial: Out(1)

    def elaborate(self, platform):
        m = Module()
        dst_start = Signal(Pointer)
        dst_log2_bytes = Signal(2)
        dst_first = Signal(OFFSET)
        dst_last = Signal(OFFSET)

        same_partitions = (self.start.psum == dst_start.psum) & (
            self.start.quadrant == dst_start.quadrant
        )
        overlaps = (self.first <= dst_last) & (dst_first <= self.last)
        in_place = (
            self.same
            & self.injective
            & (self.start.offset == dst_start.offset)
            & (self.log2_bytes == dst_log2_bytes)
        )
        with m.If(self.valid):
            with m.If(self.operand == Slot.DST):
                m.d.sync += [
                    dst_start.eq(self.start),
                    dst_log2_bytes.eq(self.log2_bytes),
                    dst_first.eq(self.first),
                    dst_last.eq(self.last),
                    self.serial.eq(0),
                ]
            with m.Elif(same_partitions & overlaps & ~in_place):
                m.d.sync += self.serial.eq(1)
        return m
