"""Resolves and places the five addresses of an instruction, one per clock."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from dve_golden.isa.enums import ImmSrc, Reason

from dve_rtl.config import EngineConfig
from dve_rtl.frontend.address import ADDRESS, AddressCheck, AddressFetch, WordForm
from dve_rtl.frontend.decode import Candidate, Slot
from dve_rtl.frontend.faults import fault_layout
from dve_rtl.frontend.packing import (
    LOG2_WORD_BYTES,
    is_packed,
    row_splits_a_word,
    steps_split_words,
)
from dve_rtl.memory.element import log2_bytes
from dve_rtl.payloads import Pointer

IMM0 = len(Slot)
IMM1 = IMM0 + 1
ITEMS = IMM1 + 1
"""Addresses of an instruction: the operands by Slot, then both immediates."""

PlacementFaults = fault_layout(
    Reason.ALIGNMENT,
    Reason.REGION,
    Reason.PARTITION,
    Reason.COUNT_ZERO,
    Reason.COUNT_MISMATCH,
    Reason.ADDRESSING_MODE,
    Reason.IMMEDIATE,
)


class _Fetched(data.Struct):
    """An address on its way from fetch to check."""

    valid: 1
    used: 1
    item: range(ITEMS)
    address: ADDRESS
    malformed: 1
    log2_bytes: 2
    has_zero_count: 1
    steps_bad: 1  # of a source that is walked by words of two elements
    row_bad: 1


class Placement(wiring.Component):
    """Turns address words into pointers. Latency 2 clocks, one address per clock.

    Parameters
    ----------
    config : EngineConfig
        Gives the memory map, and the active bytes of a partition.

    Members
    -------
    candidate : In(Candidate)
        The record in normal form; stable while its items are issued and one clock longer.
    issue : In(1)
        Fetch ``item`` in this clock cycle.
    item : In(range(5))
        A Slot, IMM0 or IMM1.
    register_index : Out(6)
        Register to read, and
    register_value : In(32)
        what it holds, in the same clock cycle.
    faults : Out(PlacementFaults)
        Reasons 7 to 10, 13 and 16 of the item issued in the previous clock cycle, and 11 of a
        source whose rows are not whole words.
    pointers : Out(ArrayLayout(Pointer, 5))
        Results, two clocks after the issue.
    live : Out(3)
        The operand is used and its address could be resolved; if not, it takes no part in
        reasons 7 to 12 and 14 (isa_common.md 5.8).
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "candidate": In(Candidate),
                "issue": In(1),
                "item": In(range(ITEMS)),
                "register_index": Out(6),
                "register_value": In(32),
                "faults": Out(PlacementFaults),
                "pointers": Out(data.ArrayLayout(Pointer, ITEMS)),
                "live": Out(len(Slot)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fetched = Signal(_Fetched)
        self._fetch(m, fetched)
        self._check(m, fetched)
        return m

    def _fetch(self, m: Module, fetched) -> None:
        m.submodules.fetch = fetch = AddressFetch(self.config)
        m.d.comb += [
            self.register_index.eq(fetch.register_index),
            fetch.register_value.eq(self.register_value),
        ]
        m.d.sync += [
            fetched.valid.eq(self.issue),
            fetched.used.eq(0),
            fetched.item.eq(self.item),
            fetched.address.eq(fetch.address),
            fetched.malformed.eq(fetch.malformed),
            fetched.steps_bad.eq(0),
            fetched.row_bad.eq(0),
        ]
        packed = is_packed(self.candidate.opcode, self.config.generation)
        with m.Switch(self.item):
            for slot in Slot:
                operand = self.candidate.operands[slot]
                counts = [operand.count[d] for d in range(len(operand.count))]
                in_words = packed & (slot != Slot.DST)
                with m.Case(slot):
                    m.d.comb += [
                        fetch.word.eq(operand.word),
                        fetch.form.eq(WordForm.ADDR4),
                    ]
                    m.d.sync += [
                        fetched.used.eq(operand.used),
                        fetched.log2_bytes.eq(
                            Mux(in_words, LOG2_WORD_BYTES, log2_bytes(operand.dtype))
                        ),
                        fetched.steps_bad.eq(in_words & steps_split_words(operand)),
                        fetched.row_bad.eq(in_words & row_splits_a_word(operand)),
                        fetched.has_zero_count.eq(Cat(*(count == 0 for count in counts)).any()),
                    ]
            for index in range(ITEMS - IMM0):
                immediate = self.candidate.immediates[index]
                in_register = immediate.source == ImmSrc.REGISTER
                with m.Case(IMM0 + index):
                    m.d.comb += [
                        fetch.word.eq(immediate.word),
                        fetch.form.eq(Mux(in_register, WordForm.REGISTER, WordForm.POINTER)),
                    ]
                    m.d.sync += [
                        fetched.used.eq(immediate.used),
                        fetched.log2_bytes.eq(log2_bytes(self.candidate.imm_dtype)),
                    ]

    def _check(self, m: Module, fetched) -> None:
        m.submodules.check = check = AddressCheck(self.config)
        m.d.comb += [
            check.address.eq(fetched.address),
            check.log2_bytes.eq(fetched.log2_bytes),
            check.channels.eq(self.candidate.channels),
            check.write.eq(fetched.item == Slot.DST),
        ]
        resolved = fetched.used & ~fetched.malformed
        misfit = check.misaligned | check.outside | check.misplaced
        is_operand = fetched.item < IMM0
        with m.If(fetched.valid):
            m.d.sync += self.pointers[fetched.item].eq(check.pointer)
        with m.If(fetched.valid & is_operand):
            m.d.sync += self.live.bit_select(fetched.item, 1).eq(resolved)
            m.d.comb += [
                self.faults.alignment.eq(resolved & (check.misaligned | fetched.steps_bad)),
                self.faults.region.eq(resolved & check.outside),
                self.faults.partition.eq(resolved & check.misplaced),
                self.faults.count_zero.eq(resolved & fetched.has_zero_count),
                self.faults.count_mismatch.eq(resolved & fetched.row_bad),
                self.faults.addressing_mode.eq(fetched.used & fetched.malformed),
            ]
        with m.If(fetched.valid & ~is_operand):
            m.d.comb += self.faults.immediate.eq(fetched.used & (fetched.malformed | misfit))
