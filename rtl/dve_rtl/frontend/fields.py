"""Rules on single fields: everything but addresses, counts and walks (isa_common.md 5.8)."""

from collections.abc import Iterable

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2
from dve_golden.isa.enums import (
    INST_WORD_LEN,
    MAX_CHANNELS,
    PARAMETER_RAM_ENTRIES,
    REGISTER_OPERAND,
    REGISTERS,
    Reason,
    UpdateMode,
    WaitMode,
)
from dve_golden.isa.generations import Generation

from dve_rtl.frontend.decode import Candidate, Slot
from dve_rtl.frontend.faults import fault_layout
from dve_rtl.frontend.rules import Rules, rules_of
from dve_rtl.payloads import Handler


def among(code, legal: Iterable[int]) -> Value:
    """Whether a code is one of ``legal``; no code is when ``legal`` is empty."""
    return Value.cast(code).matches(*sorted(int(value) for value in legal))


FieldFaults = fault_layout(
    Reason.OPCODE,
    Reason.LENGTH,
    Reason.WAIT,
    Reason.UPDATE,
    Reason.DTYPE,
    Reason.OPERATOR,
    Reason.PARTITION,
    Reason.RESERVED,
    Reason.IMMEDIATE,
)


class FieldCheck(wiring.Component):
    """Judges the fields that need no arithmetic. Combinational.

    Parameters
    ----------
    generation : Generation
        Whose opcodes and operators.

    Members
    -------
    i : In(Candidate)
        The record in normal form.
    faults : Out(FieldFaults)
        Reasons 1 to 6 and 15 in full; 9 for the channel count; 16 for selectors, count
        immediates and the range of Parameter RAM entries.
    """

    i: In(Candidate)
    faults: Out(FieldFaults)

    def __init__(self, generation: Generation = Generation.CAYMAN):
        self.generation = generation
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        i, faults = self.i, self.faults
        channels_split = Signal()
        infinite = i.element_count[23:31].all() | i.odd_count[23:31].all()
        m.d.comb += [
            faults.opcode.eq(i.handler == Handler.BAD_OPCODE),
            faults.length.eq(i.inst_word_len != INST_WORD_LEN),
            faults.wait.eq(self._mode_fault(i.wait_mode, WaitMode, i.wait_value)),
            faults.update.eq(self._mode_fault(i.update_mode, UpdateMode, i.update_value)),
            faults.partition.eq(
                (i.handler != Handler.SYNCHRONISE)
                & ((i.channels == 0) | (i.channels > MAX_CHANNELS) | channels_split)
            ),
            faults.reserved.eq(i.reserved),
        ]
        selector_bad = Signal()
        counts_bad = Signal()
        with m.Switch(i.opcode):
            for opcode, rules in rules_of(self.generation).items():
                with m.Case(opcode):
                    m.d.comb += [
                        faults.dtype.eq(self._dtype_fault(rules)),
                        faults.operator.eq(~among(i.op, rules.operators)),
                        selector_bad.eq(self._selector_fault(rules)),
                    ]
                    if rules.channel_multiple != 1:
                        multiple = exact_log2(rules.channel_multiple)
                        m.d.comb += channels_split.eq(i.channels[:multiple].any())
                    if rules.no_counts:
                        m.d.comb += counts_bad.eq(Cat(i.element_count[:31], i.odd_count[:31]).any())

        entry_count = i.operands[Slot.SRC0].count[0]
        entries_bad = (i.handler == Handler.LOAD_PARAMETER_RAM) & (
            (entry_count > PARAMETER_RAM_ENTRIES)
            | (i.first_entry + entry_count > PARAMETER_RAM_ENTRIES)
        )
        m.d.comb += faults.immediate.eq(selector_bad | infinite | counts_bad | entries_bad)
        return m

    @staticmethod
    def _mode_fault(mode, defined, value) -> Value:
        takes_register = (mode & REGISTER_OPERAND).any()
        register_bad = value[:8] >= REGISTERS
        return ~among(mode, defined) | (takes_register & register_bad)

    def _dtype_fault(self, rules: Rules) -> Value:
        legal = {Slot.SRC0: rules.src0, Slot.SRC1: rules.src1, Slot.DST: rules.dst}
        written = {slot: self.i.operands[slot].dtype for slot in legal}
        faults = [
            self.i.operands[slot].used & ~among(written[slot], dtypes)
            for slot, dtypes in legal.items()
        ]
        faults += [written[slot] != written[Slot.DST] for slot in sorted(rules.typed_like_dst)]
        if rules.immediates:
            faults.append(~among(self.i.imm_dtype, rules.immediates))
        return Cat(*faults).any()

    def _selector_fault(self, rules: Rules) -> Value:
        immediates = [self.i.immediates[index] for index in range(len(self.i.immediates))]
        return Cat(*(imm.used & ~among(imm.source, rules.selectors) for imm in immediates)).any()
