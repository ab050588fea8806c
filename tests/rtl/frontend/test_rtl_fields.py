"""Single-field rules, exhaustively: every byte value of every mode, dtype and selector."""

from functools import cache
from itertools import product

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from dve_golden.isa.generations import Generation
from dve_rtl.frontend.decode import Decoder
from dve_rtl.frontend.fields import FieldCheck, FieldFaults
from frontend_bench import (
    BF16_OPERATORS,
    BITVEC,
    BP,
    CAST,
    COPY,
    GA,
    GA2,
    PL,
    PL2,
    PRAM,
    TENSOR_TENSOR_FAMILY,
    TT,
    record,
)


class DecodedFieldCheck(wiring.Component):
    record: In(512)
    faults: Out(FieldFaults)

    def __init__(self, generation: Generation):
        self.generation = generation
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = Decoder(self.generation)
        m.submodules.check = check = FieldCheck(self.generation)
        m.d.comb += [
            decoder.record.eq(self.record),
            check.i.eq(decoder.o),
            self.faults.eq(check.faults),
        ]
        return m


class Bench:
    """One simulation, run again for every list of records: elaboration costs most of the time."""

    def __init__(self, generation: Generation):
        self.dut = DecodedFieldCheck(generation)
        self.records: list[bytes] = []
        self.found: list[set[str]] = []
        self.sim = Simulator(self.dut)
        self.sim.add_testbench(self.apply)

    async def apply(self, ctx):
        for data in self.records:
            ctx.set(self.dut.record, int.from_bytes(data, "little"))
            await ctx.delay(1e-9)
            faults = ctx.get(self.dut.faults)
            self.found.append({name for name in FieldFaults.members if faults[name]})

    def run(self, records) -> list[set[str]]:
        if self.found:
            self.sim.reset()
        self.records, self.found = list(records), []
        self.sim.run()
        assert len(self.found) == len(self.records)
        return self.found


bench = cache(Bench)


def faults_of(records, generation=Generation.CAYMAN) -> list[set[str]]:
    """Names of the reasons found for each record."""
    return bench(generation).run(records)


def legal_values(make, count=256, reason=None, generation=Generation.CAYMAN) -> set[int]:
    """Values of one field for which no reason, or only ``reason``'s absence, is reported."""
    found = faults_of([make(value) for value in range(count)], generation)
    if reason is not None:
        assert all(faults <= {reason} for faults in found)
    return {value for value, faults in enumerate(found) if not faults}


@pytest.mark.parametrize(
    "opcode", [GA, GA2, PL, PL2, PRAM, *TENSOR_TENSOR_FAMILY], ids=lambda opcode: opcode.name
)
def test_legal_record_has_no_fault(opcode):
    assert faults_of([record(opcode)]) == [set()]


WAIT_IMMEDIATE = {*range(0x00, 0x08), 0x0E, 0x0F}
WAIT_REGISTER = {0x81, 0x82, 0x83, 0x84, 0x85}
UPDATE_IMMEDIATE = {
    *(0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x07, 0x09),
    *(0x11, 0x12, 0x13, 0x14, 0x15, 0x17, 0x19),
}
UPDATE_REGISTER = {0x85, 0x87, 0x89, 0x95, 0x97, 0x99}


@pytest.mark.parametrize(
    ("field", "reason", "immediate", "register"),
    [
        ("events__wait_mode", "wait", WAIT_IMMEDIATE, WAIT_REGISTER),
        ("events__update_mode", "update", UPDATE_IMMEDIATE, UPDATE_REGISTER),
    ],
)
@pytest.mark.parametrize(
    ("semaphore_value", "register_legal"),
    [(0, True), (63, True), (64, False), (255, False), (0xFFFFFF3F, True), (0x00000140, False)],
)
def test_event_modes(field, reason, immediate, register, semaphore_value, register_legal):
    legal = legal_values(
        lambda mode: record(BP, **{field: mode}, events__semaphore_value=semaphore_value),
        reason=reason,
    )
    assert legal == (immediate | register if register_legal else immediate)


FLOATS = {0xA, 0x7, 0x6}
INTEGERS = {0x2, 0x3, 0x4, 0x5, 0x8, 0x9}
PLAIN = FLOATS | INTEGERS | {0xD, 0xE, 0xF}


@pytest.mark.parametrize(
    ("opcode", "field", "count", "legal"),
    [
        (GA, "in0_in1_dtype__lo", 16, FLOATS | {0x8}),
        (GA, "in0_in1_dtype__hi", 16, FLOATS | {0x8}),
        (GA, "out_dtype", 256, FLOATS),
        (GA, "immediate_dtype", 256, FLOATS | {0x8, 0x0}),
        (GA2, "in0_in1_dtype__lo", 16, FLOATS | {0x8}),
        (GA2, "in0_in1_dtype__hi", 16, FLOATS | {0x8}),
        (GA2, "immediate_out_dtype__lo", 16, FLOATS | {0x8}),
        (GA2, "immediate_out_dtype__hi", 16, FLOATS),
        (PL, "dtype", 256, FLOATS),
        (PL2, "src_dtype", 256, FLOATS),
        (PL2, "immediate_dtype", 256, FLOATS),
        (PRAM, "dtype", 256, {0xA}),
        (BP, "in0_in1_dtype__lo", 16, PLAIN),
        (BP, "in0_in1_dtype__hi", 16, PLAIN),
        (BP, "out_dtype", 256, PLAIN | {0xB}),
        (TT, "in0_in1_dtype__lo", 16, PLAIN),
        (TT, "in0_in1_dtype__hi", 16, PLAIN),
        (TT, "out_dtype", 256, PLAIN | {0xB}),
        (COPY, "in0_in1_dtype__lo", 16, INTEGERS),
        (CAST, "in0_in1_dtype__lo", 16, INTEGERS),
        (CAST, "in0_in1_dtype__hi", 16, PLAIN),
        (CAST, "out_dtype", 256, PLAIN),
    ],
)
def test_dtypes(opcode, field, count, legal):
    found = legal_values(lambda code: record(opcode, **{field: code}), count, "dtype")
    assert found == legal


SAME = {  # which two types of a legal record, and which three, are one
    BITVEC: lambda lo, hi, out: lo == hi == out and out in INTEGERS,
    COPY: lambda lo, hi, out: lo in INTEGERS and hi == out and out in PLAIN,
}


@pytest.mark.parametrize("opcode", SAME, ids=lambda opcode: opcode.name)
def test_types_that_must_agree(opcode):
    # Every pair of sources, and results up to the first code whose low nibble repeats.
    types = list(product(range(16), range(16), range(18)))
    found = faults_of(
        record(opcode, in0_in1_dtype__lo=lo, in0_in1_dtype__hi=hi, out_dtype=out)
        for lo, hi, out in types
    )
    legal = [codes for codes, faults in zip(types, found, strict=True) if not faults]
    assert all(faults <= {"dtype"} for faults in found)
    assert legal == [codes for codes in types if SAME[opcode](*codes)]


@pytest.mark.parametrize("opcode", BF16_OPERATORS, ids=lambda opcode: opcode.name)
@pytest.mark.parametrize(
    ("field", "count", "legal"),
    [
        ("in0_in1_dtype__lo", 16, {0x6}),
        ("in0_in1_dtype__hi", 16, {0x6}),
        ("out_dtype", 256, PLAIN | {0xB}),
    ],
)
def test_dtypes_of_the_bf16_opcodes(opcode, field, count, legal):
    make = lambda code: record(opcode, **{field: code})  # noqa: E731
    assert legal_values(make, count, "dtype", Generation.SUNDA) == legal


@pytest.mark.parametrize(
    ("opcode", "field", "count", "legal"),
    [
        (GA2, "imm0_imm1_src__lo", 16, {1, 2}),
        (GA2, "imm0_imm1_src__hi", 16, {1, 2}),
        (PL, "imm0_src", 256, {0, 1, 2}),
        (PL2, "imm0_src", 256, {0, 1, 2}),
        (PL2, "imm1_src", 256, {0, 1, 2}),
    ],
)
def test_selectors(opcode, field, count, legal):
    found = legal_values(lambda code: record(opcode, **{field: code}), count, "immediate")
    assert found == legal


@pytest.mark.parametrize(
    "opcode", [GA, GA2, PL, PL2, *TENSOR_TENSOR_FAMILY], ids=lambda opcode: opcode.name
)
def test_channels(opcode):
    found = legal_values(lambda n: record(opcode, num_active_channels=n), 256, "partition")
    assert found == set(range(1, 129))


@pytest.mark.parametrize(
    "opcode", [GA, GA2, PL, PL2, PRAM, *TENSOR_TENSOR_FAMILY], ids=lambda opcode: opcode.name
)
def test_inst_word_len(opcode):
    make = lambda n: record(opcode, header__inst_word_len=n)  # noqa: E731
    assert legal_values(make, 256, "length") == {16}


ARITHMETIC = {0x00, 0x04, 0x05, 0x06, 0x08, 0x09, *range(0x0D, 0x10), *range(0x12, 0x1A)}
OPERATORS = {
    BP: {0x00},
    TT: ARITHMETIC,
    BITVEC: {*range(0x00, 0x04), 0x0A, 0x0B, 0x0C, 0x10, 0x11},
    COPY: {0x00},
    CAST: {0x00},
}
"""Of sunda and cayman (isa_common.md 5.4, 6.2)."""


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("opcode", OPERATORS, ids=lambda opcode: opcode.name)
def test_operator_byte(opcode, generation):
    expected = OPERATORS[opcode]
    if opcode is TT and generation in (Generation.MARIANA, Generation.MAVERICK):
        expected = ARITHMETIC | {*range(0x20, 0x24)}
    make = lambda op: record(opcode, op=op)  # noqa: E731
    assert legal_values(make, 256, "operator", generation) == expected


@pytest.mark.parametrize("opcode", BF16_OPERATORS, ids=lambda opcode: opcode.name)
def test_operator_byte_of_the_bf16_opcodes(opcode):
    make = lambda op: record(opcode, op=op)  # noqa: E731
    expected = {BF16_OPERATORS[opcode]}
    assert legal_values(make, 256, "operator", Generation.SUNDA) == expected


def test_debug_bytes_are_free():
    records = [record(op, header__debug_cmd=0xFE, header__debug_hint=0xFF) for op in (GA, PRAM)]
    assert faults_of(records) == [set(), set()]


RESERVED_BYTES = {
    GA: set(),
    GA2: set(),
    PL: {*range(12, 16), 33, *range(35, 44), *range(49, 64)},
    PL2: {*range(24, 28), *range(35, 40), *range(50, 64)},
    PRAM: set(range(21, 64)),
    **{opcode: set() for opcode in TENSOR_TENSOR_FAMILY},
}


@pytest.mark.parametrize("opcode", RESERVED_BYTES, ids=lambda opcode: opcode.name)
def test_every_bit_of_reserved_bytes(opcode):
    base = int.from_bytes(record(opcode), "little")
    bits = range(8 * 12, 8 * 64)
    found = faults_of([(base ^ 1 << bit).to_bytes(64, "little") for bit in bits])
    reserved = [bit for bit, faults in zip(bits, found, strict=True) if "reserved" in faults]
    assert reserved == [bit for bit in bits if bit // 8 in RESERVED_BYTES[opcode]]


@pytest.mark.parametrize(("opcode", "field"), [(PL, "imm1"), (PL2, "element_count")])
@pytest.mark.parametrize(
    ("pattern", "finite"),
    [
        (0x00000000, True),
        (0x80000001, True),
        (0x7F7FFFFF, True),
        (0xFF7FFFFF, True),
        (0x7F800000, False),
        (0xFF800000, False),
        (0x7F800001, False),
        (0xFFFFFFFF, False),
    ],
)
def test_element_count_is_finite(opcode, field, pattern, finite):
    expected = set() if finite else {"immediate"}
    assert faults_of([record(opcode, **{field: pattern})]) == [expected]


@pytest.mark.parametrize(
    ("first", "count", "legal"),
    [
        (0, 256, True),
        (255, 1, True),
        (0, 257, False),
        (1, 256, False),
        (256, 1, False),
        (65535, 1, False),
        (65535, 65535, False),
        (1, 65535, False),
    ],
)
def test_parameter_ram_range(first, count, legal):
    expected = set() if legal else {"immediate"}
    assert faults_of([record(PRAM, first_entry=first, entry_count=count)]) == [expected]
