"""Address words to pointers, with what can be wrong about them (isa_common.md 3.1 to 3.3)."""

from amaranth import *
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import MAX_CHANNELS, REGISTERS

from dve_rtl.config import EngineConfig
from dve_rtl.generations import PSUM_BASE, PSUM_STRIDE_BITS
from dve_rtl.payloads import Pointer

ADDRESS = 29
"""Bits of an on-chip byte address (isa_common.md 3.1)."""

_REGISTER_BITS = (REGISTERS - 1).bit_length()
_PARTITION_BITS = (MAX_CHANNELS - 1).bit_length()
_QUADRANT_PARTITION_BITS = 5


class WordForm(enum.Enum, shape=2):
    """How to read an address word."""

    ADDR4 = 0  # an operand's; its marker bits choose between immediate and register
    POINTER = 1  # an immediate's pointer field
    REGISTER = 2  # an immediate's register number


class AddressFetch(wiring.Component):
    """Address word to address, through the register file where it says so. Combinational.

    Parameters
    ----------
    config : EngineConfig
        Its generation decides what a word that names a register may hold beside the number.

    Members
    -------
    word : In(32)
        The word of the record.
    form : In(WordForm)
        How to read it.
    register_index : Out(6)
        Register to read, and
    register_value : In(32)
        what it holds, in the same clock cycle.
    address : Out(29)
        The byte address.
    malformed : Out(1)
        The word has no legal form, or the register holds more than an address. ``address`` means
        nothing then.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "word": In(32),
                "form": In(WordForm),
                "register_index": Out(_REGISTER_BITS),
                "register_value": In(32),
                "address": Out(ADDRESS),
                "malformed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        zeros_end = ADDRESS if self.config.traits.register_form_is_strict else 24
        number_bad = self.word[_REGISTER_BITS:8].any()
        from_register = Signal()
        form_bad = Signal()
        with m.Switch(self.form):
            with m.Case(WordForm.ADDR4):
                # Marker 0x80. Bits 30 and 29 (shape register, indirect) stay in the way of both
                # legal forms.
                m.d.comb += [
                    from_register.eq(self.word[ADDRESS:] == 0b100),
                    form_bad.eq(
                        Mux(
                            from_register,
                            number_bad | self.word[8:zeros_end].any(),
                            self.word[ADDRESS:].any(),
                        )
                    ),
                ]
            with m.Case(WordForm.POINTER):
                m.d.comb += form_bad.eq(self.word[ADDRESS:].any())
            with m.Case(WordForm.REGISTER):
                m.d.comb += [
                    from_register.eq(1),
                    form_bad.eq(number_bad | self.word[8:].any()),
                ]
        m.d.comb += [
            self.register_index.eq(self.word[:_REGISTER_BITS]),
            self.address.eq(Mux(from_register, self.register_value, self.word)),
            self.malformed.eq(form_bad | (from_register & self.register_value[ADDRESS:].any())),
        ]
        return m


class AddressCheck(wiring.Component):
    """Takes an address apart and places it. Combinational.

    Parameters
    ----------
    config : EngineConfig
        Gives the memory map, and the active bytes of a partition.

    Members
    -------
    address : In(29)
        Byte address.
    log2_bytes : In(2)
        Element size.
    channels : In(8)
        Partitions of the transfer.
    write : In(1)
        It is a destination.
    pointer : Out(Pointer)
        Meaningful if nothing below is set.
    misaligned, outside, misplaced : Out(1)
        Reasons 7, 8 and 9; a lower one makes a higher one meaningless.
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "address": In(ADDRESS),
                "log2_bytes": In(2),
                "channels": In(8),
                "write": In(1),
                "pointer": Out(Pointer),
                "misaligned": Out(1),
                "outside": Out(1),
                "misplaced": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        traits = self.config.traits
        # SBUF and PSUM are both power-of-two windows: bits above them select the region.
        sbuf_bits = traits.sbuf_stride_bits + _PARTITION_BITS
        psum_bits = PSUM_STRIDE_BITS + _PARTITION_BITS
        in_sbuf = self.address[sbuf_bits:] == 0
        in_psum = Signal()
        if traits.has_psum:
            m.d.comb += in_psum.eq(self.address[psum_bits:] == PSUM_BASE >> psum_bits)
        offset = Signal(traits.sbuf_stride_bits)  # not all of it is active: more than a Pointer's
        partition = Signal(_PARTITION_BITS)
        sizes = self.config.sbuf_active_bytes, self.config.psum_active_bytes
        active_bytes = Signal(range(max(sizes) + 1))
        with m.If(in_psum):
            m.d.comb += [
                offset.eq(self.address[:PSUM_STRIDE_BITS]),
                partition.eq(self.address[PSUM_STRIDE_BITS:psum_bits]),
                active_bytes.eq(self.config.psum_active_bytes),
            ]
        with m.Else():
            m.d.comb += [
                offset.eq(self.address[: traits.sbuf_stride_bits]),
                partition.eq(self.address[traits.sbuf_stride_bits : sbuf_bits]),
                active_bytes.eq(self.config.sbuf_active_bytes),
            ]

        quadrant = partition[_QUADRANT_PARTITION_BITS:]
        channel_limit = Array([128, 32, 64, 32])[quadrant]
        misalignment = [self.address[:log2].any() for log2 in range(4)]
        m.d.comb += [
            self.pointer.offset.eq(offset),
            self.pointer.quadrant.eq(quadrant),
            self.pointer.psum.eq(in_psum),
            self.misaligned.eq(Array(misalignment)[self.log2_bytes]),
            self.outside.eq(~(in_sbuf | in_psum) | (self.write & in_psum & (self.log2_bytes != 2))),
            self.misplaced.eq(
                partition[:_QUADRANT_PARTITION_BITS].any()
                | (self.channels > channel_limit)
                | (offset >= active_bytes)
            ),
        ]
        return m
