"""Write side of a lane: from an element, or a pair, to a memory word."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from dve_rtl.config import WORD_BYTES
from dve_rtl.memory.ram import WORD_BITS

SIZES = 3
"""Sizes of an element: 1, 2 and 4 bytes."""


class Pack(wiring.Component):
    """Places an element, or two adjacent ones, in a word; combinational.

    They are repeated over the word and only their own bytes enabled, so that no shifter is needed.

    Parameters
    ----------
    pairs : bool
        Whether two elements can come at once.

    Members
    -------
    element, second : In(32)
        Right-aligned; what is above their size is ignored.
    pair : In(1)
        ``second`` is written behind ``element``. Not used without ``pairs``.
    log2_bytes : In(2)
        Element size, 0 to 2.
    byte : In(3)
        Place in the word; a multiple of the size, of a pair's twice the size.
    word : Out(64), enable : Out(8)
        Word, and bytes of it to write.
    """

    element: In(32)
    second: In(32)
    pair: In(1)
    log2_bytes: In(2)
    byte: In(3)
    word: Out(WORD_BITS)
    enable: Out(WORD_BYTES)

    def __init__(self, *, pairs: bool):
        self._pairs = pairs
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        with m.Switch(self.log2_bytes):
            for size in range(SIZES):
                bits = 8 << size
                with m.Case(size):
                    self._place(m, self.element[:bits])
                    if self._pairs:
                        with m.If(self.pair):
                            self._place(m, Cat(self.element[:bits], self.second[:bits]))
        return m

    def _place(self, m, value):
        count = len(value) // 8
        m.d.comb += [
            self.word.eq(value.replicate(WORD_BYTES // count)),
            self.enable.eq(Const((1 << count) - 1, WORD_BYTES) << self.byte),
        ]
