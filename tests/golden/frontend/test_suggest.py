"""The nearest legal values: by hand, by brute force, and that each one mends what it is for."""

from dataclasses import replace
from typing import Any

import pytest
from dve_golden.frontend.inspection import field_bytes
from dve_golden.frontend.legality import validate
from dve_golden.frontend.suggest import apply, explain
from dve_golden.frontend.verdict import Suggestion
from dve_golden.isa.codec import decode, encode, walk
from dve_golden.isa.enums import Dtype, Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.operators import INTEGER_BAND
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_golden.isa.types import Scalar
from dve_golden.memory.address import (
    Geometry,
    Location,
    Region,
    address_of,
    locate,
    regions_of,
)
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from legal_records import (
    ADD_BF16,
    AGGREGATE,
    ARITH,
    BACK,
    BITVEC,
    CAST,
    COPY,
    GRAD1,
    GRAD2,
    LEGAL,
    LOAD1,
    LOAD2,
    NOP,
    PRAM,
    STATS,
    STATS2,
    SYNC,
    TRANSPOSE,
    geometry_of,
    variant,
)

Q1, Q2, Q3 = 0x0080_0000, 0x0100_0000, 0x0180_0000
PSUM = 0x0200_0000
NAN, INF, MINUS_INF = 0x7FC0_0000, 0x7F80_0000, 0xFF80_0000

REGISTERS = [0] * 64
REGISTERS[3] = 0x0000_FFFC
REGISTERS[4] = 0x8000_0040
REGISTERS[5] = 0x0210_0002
REGISTERS[62] = 0x2000_0000
REGISTERS[63] = 0x0000_0002


def explained(record, *, registers=REGISTERS, geometry=None):
    geometry = geometry or geometry_of(record[0])
    return explain(record, registers=registers, geometry=geometry)


# --- by hand; the legal records and their operands are in legal_records.py


NEAR: tuple[tuple[Opcode, dict[str, Any], str, Any, str], ...] = (
    (BACK, {"header.inst_word_len": 64}, "header.inst_word_len", 16, "16"),
    # modes: the nearest code, of two the lower
    (NOP, {"events.wait_mode": 0x20}, "events.wait_mode", 0x0F, "evt_clear_then_set"),
    (NOP, {"events.wait_mode": 0x60}, "events.wait_mode", 0x81, "sem_eq_reg"),
    (NOP, {"events.update_mode": 0x06}, "events.update_mode", 0x05, "sem_add_imm_read"),
    # 0x85 is nearer, but its operand 64 is no register
    (
        NOP,
        {"events.wait_mode": 0x80, "events.semaphore_value": 64},
        *("events.wait_mode", 0x0F, "evt_clear_then_set"),
    ),
    (
        NOP,
        {"events.wait_mode": 0x85, "events.semaphore_value": 0xABCD_EF40},
        *("events.semaphore_value", 0xABCD_EF3F, "0xabcdef3f"),
    ),
    (
        SYNC,
        {"events.update_mode": 0x97, "events.update_value": 66},
        *("events.update_value", 63, "0x3f"),
    ),
    # element types: the same size first
    (GRAD1, {"in0_in1_dtype.lo": Dtype.UINT32}, "in0_in1_dtype.lo", Dtype.INT32, "int32"),
    (BACK, {"in0_in1_dtype.hi": Dtype.FP32R}, "in0_in1_dtype.hi", Dtype.FP32, "fp32"),
    (GRAD1, {"out_dtype": Dtype.FP8_EXP5}, "out_dtype", Dtype.FP16, "fp16"),
    (CAST, {"out_dtype": Dtype.FP32R}, "out_dtype", Dtype.FP32, "fp32"),
    (CAST, {"in0_in1_dtype.lo": Dtype.BF16}, "in0_in1_dtype.lo", Dtype.UINT16, "uint16"),
    # ... but of the types that agree with the other operands
    (BITVEC, {"in0_in1_dtype.hi": Dtype.FP16}, "in0_in1_dtype.hi", Dtype.INT32, "int32"),
    (BITVEC, {"in0_in1_dtype.hi": Dtype.INT8}, "in0_in1_dtype.hi", Dtype.INT32, "int32"),
    (
        BITVEC,
        {"in0_in1_dtype.lo": Dtype.UINT16, "in0_in1_dtype.hi": Dtype.UINT16, "out_dtype": 6},
        *("out_dtype", Dtype.UINT16, "uint16"),
    ),
    (COPY, {"out_dtype": Dtype.FP32R}, "out_dtype", Dtype.FP32, "fp32"),
    (COPY, {"out_dtype": Dtype.BF16}, "in0_in1_dtype.hi", Dtype.BF16, "bf16"),
    (ADD_BF16, {"in0_in1_dtype.lo": Dtype.FP16}, "in0_in1_dtype.lo", Dtype.BF16, "bf16"),
    # operators
    (ARITH, {"op": 0x07}, "op", 0x06, "mult"),
    (ARITH, {"op": 0x1E}, "op", 0x19, "absolute_value"),
    (ARITH, {"op": 0xC4}, "op", 0x04, "add"),
    (ARITH, {"op": 0xD6}, "op", 0x09, "min"),
    (BITVEC, {"op": 0x0D}, "op", 0x0C, "bitwise_xor"),
    (BITVEC, {"op": 0xC4}, "op", 0x11, "logical_shift_right"),
    (COPY, {"op": 4}, "op", 0, "0"),
    (ADD_BF16, {"op": 0}, "op", 4, "add"),
    (BACK, {"out_dtype": 0x1F}, "out_dtype", Dtype.FP32R, "fp32r"),
    (LOAD1, {"dtype": Dtype.UINT16}, "dtype", Dtype.BF16, "bf16"),
    (BACK, {"op": 9}, "op", 0, "0"),
    # alignment
    (BACK, {"src0.start_addr": 0x101}, "src0.start_addr", 0x100, "sbuf[0:0x100]"),
    (BACK, {"src0.start_addr": 0x103}, "src0.start_addr", 0x104, "sbuf[0:0x104]"),
    (BACK, {"src0.start_addr": 0x102}, "src0.start_addr", 0x100, "sbuf[0:0x100]"),
    # 0xffec is nearest, but the 24 bytes would leave the partition
    (BACK, {"src0.start_addr": 0xFFEB}, "src0.start_addr", 0xFFE8, "sbuf[0:0xffe8]"),
    # a pair of elements of two bytes
    (ADD_BF16, {"src0.start_addr": 0x102}, "src0.start_addr", 0x100, "sbuf[0:0x100]"),
    (ADD_BF16, {"src1.step_elem": (2, 4, -2)}, "src1.step_elem", (1, 4, -2), "1"),
    (ADD_BF16, {"src0.step_elem": (1, 3, 2)}, "src0.step_elem", (1, 2, 2), "2"),
    (ADD_BF16, {"src0.step_elem": (1, 2, -3)}, "src0.step_elem", (1, 2, -2), "-2"),
    (ADD_BF16, {"src0.step_elem": (1, 32767, 2)}, "src0.step_elem", (1, 32766, 2), "32766"),
    (ADD_BF16, {"src0.num_elem": (3, 2, 1)}, "src0.num_elem", (2, 2, 1), "2x2x1"),
    (ADD_BF16, {"src1.num_elem": (1, 6, 1)}, "src1.num_elem", (2, 6, 1), "2x6x1"),
    # region: what would be partition 128 of PSUM; two-byte results
    (BACK, {"src0.start_addr": 0x0240_0010}, "src0.start_addr", 0x0230_0010, "psum[96:0x10]"),
    (
        BACK,
        {"out_dtype": Dtype.BF16, "dst.start_addr": PSUM + 0x40},
        *("dst.start_addr", 0x40, "sbuf[0:0x40]"),
    ),
    # partitions and channels
    (BACK, {"num_active_channels": 0}, "num_active_channels", 1, "1"),
    (BACK, {"num_active_channels": 129}, "num_active_channels", 128, "128"),
    (
        BACK,
        {
            "num_active_channels": 129,
            **{f"{name}.start_addr": Q2 for name in ("src0", "src1", "dst")},
        },
        *("num_active_channels", 64, "64"),
    ),
    (BACK, {"dst.start_addr": 0x0140_0104}, "dst.start_addr", Q2 + 0x104, "sbuf[64:0x104]"),
    # partition 64 is nearer, but src0 is in quadrant 0
    (BACK, {"src1.start_addr": 0x0140_0104}, "src1.start_addr", 0x104, "sbuf[0:0x104]"),
    (PRAM, {"addr": 0x0000_0000 + 97 * 0x4_0000}, "addr", Q3, "sbuf[96:0x0]"),
    (LOAD1, {"src.start_addr": 0x1_0000}, "src.start_addr", 0xFFF4, "sbuf[0:0xfff4]"),
    # counts
    (BACK, {"src1.num_elem": (2, 0, 1)}, "src1.num_elem", (2, 3, 1), "2x3x1"),
    (BACK, {"src0.num_elem": (6, 1, 0)}, "src0.num_elem", (6, 1, 1), "1"),
    (PRAM, {"entry_count": 0}, "entry_count", 1, "1"),
    (BACK, {"src1.num_elem": (2, 2, 1)}, "src1.num_elem", (3, 2, 1), "3x2x1"),
    (BACK, {"dst.num_elem": (7, 5, 1)}, "dst.num_elem", (6, 1, 1), "6x1x1"),
    (GRAD1, {"dst.num_elem": (2,)}, "dst.num_elem", (3,), "3"),
    (LOAD1, {"src.num_elem": (3, 2)}, "src.num_elem", (3, 1), "3x1"),
    (LOAD2, {"src.num_elem": (1, 3)}, "src.num_elem", (1, 2), "1x2"),
    # 65535 * 65535 * 1 is the largest with these two; its steps are 0
    (
        BACK,
        {
            **{f"{name}.num_elem": (65535, 65535, 2) for name in ("src0", "src1", "dst")},
            **{f"{name}.step_elem": (0, 0, 0) for name in ("src0", "src1", "dst")},
        },
        *("src0.num_elem", (65535, 65535, 1), "65535x65535x1"),
    ),
    # ... of S4D2_BN
    (STATS, {"src.num_elem": (257, 1, 1, 1)}, "src.num_elem", (256, 1, 1, 1), "256x1x1x1"),
    (STATS, {"src.num_elem": (4, 5, 3, 5)}, "src.num_elem", (3, 5, 3, 5), "3x5x3x5"),
    (STATS2, {"src.num_elem": (600, 600, 1, 1)}, "src.num_elem", (512, 1, 1, 1), "512x1x1x1"),
    (AGGREGATE, {"src.num_elem": (5, 4, 1, 1)}, "src.num_elem", (6, 4, 1, 1), "6x4x1x1"),
    (AGGREGATE, {"src.num_elem": (2, 2, 2, 2)}, "src.num_elem", (3, 2, 2, 2), "3x2x2x2"),
    (TRANSPOSE, {"src.num_elem": (24, 24, 1, 1)}, "src.num_elem", (20, 24, 1, 1), "20x24x1x1"),
    (TRANSPOSE, {"src.num_elem": (33, 1, 1, 1)}, "src.num_elem", (32, 1, 1, 1), "32x1x1x1"),
    (TRANSPOSE, {"src.num_elem": (600, 33, 1, 1)}, "src.num_elem", (512, 1, 1, 1), "512x1x1x1"),
    (TRANSPOSE, {"num_active_channels": 33}, "num_active_channels", 32, "32"),
    (TRANSPOSE, {"num_active_channels": 129}, "num_active_channels", 128, "128"),
    (TRANSPOSE, {"num_active_channels": 0}, "num_active_channels", 32, "32"),
    (STATS2, {"dst.num_elem": (3, 3)}, "dst.num_elem", (2, 3), "2x3"),
    # placement
    (BACK, {"src1.start_addr": Q1 + 0x100}, "src1.start_addr", 0x100, "sbuf[0:0x100]"),
    (
        BACK,
        {"src0.start_addr": PSUM, "src1.start_addr": PSUM + 0x100},
        *("src1.start_addr", 0x100, "sbuf[0:0x100]"),
    ),
    # address words
    (BACK, {"dst.start_addr": 0x4000_0041}, "dst.start_addr", 0x40, "sbuf[0:0x40]"),
    (BACK, {"dst.start_addr": 0x8000_0100}, "dst.start_addr", 0x8000_0000, "r0"),
    (BACK, {"dst.start_addr": 0xC000_0006}, "dst.start_addr", 0x8000_0006, "r6"),
    # r63 is misaligned, r62 holds no address
    (BACK, {"dst.start_addr": 0x8000_0040}, "dst.start_addr", 0x8000_003D, "r61"),
    # walks
    (BACK, {"src0.step_elem": (-1, 1, 1)}, "src0.start_addr", 0x14, "sbuf[0:0x14]"),
    (LOAD1, {"reserved1": b"\x0a"}, "reserved1", b"\0", "0"),
    # immediates
    (GRAD2, {"imm0_imm1_src.hi": 0}, "imm0_imm1_src.hi", 1, "1"),
    # 1 is nearer, but 6 is no aligned pointer and is a register
    (GRAD2, {"imm1": 6, "imm0_imm1_src.hi": 0}, "imm0_imm1_src.hi", 2, "2"),
    (GRAD2, {"imm1": 99, "imm0_imm1_src.hi": 2}, "imm1", 61, "r61"),
    (GRAD1, {"imm0": 0x301}, "imm0", 0x300, "sbuf[0:0x300]"),
    (GRAD1, {"imm0": 0x2000_0300}, "imm0", 0x300, "sbuf[0:0x300]"),
    (GRAD1, {"imm0": Q1 + 0x4_0300}, "imm0", Q1 + 0x300, "sbuf[32:0x300]"),
    (GRAD1, {"imm0": 0x1_0000}, "imm0", 0xFFFC, "sbuf[0:0xfffc]"),
    (LOAD1, {"imm1": INF}, "imm1", 0x7F7F_FFFF, "0x7f7fffff"),
    (LOAD2, {"element_count": MINUS_INF}, "element_count", 0xFF7F_FFFF, "0xff7fffff"),
    (STATS, {"odd_count": INF}, "odd_count", 0x7F7F_FFFF, "0x7f7fffff"),
    (AGGREGATE, {"even_count": 0x3F80_0000}, "even_count", 0, "0"),
    (AGGREGATE, {"odd_count": NAN}, "odd_count", 0, "0"),
    (STATS2, {"in_dtype": Dtype.FP32R}, "in_dtype", Dtype.FP32, "fp32"),
    (PRAM, {"first_entry": 250}, "first_entry", 1, "1"),
    (PRAM, {"entry_count": 300}, "entry_count", 255, "255"),
)


@pytest.mark.parametrize(("opcode", "changes", "field", "value", "text"), NEAR)
def test_the_nearest_legal_value(opcode, changes, field, value, text):
    first = explained(variant(opcode, changes))[0]
    assert first.finding.field == field
    assert first.suggestion == Suggestion(field, value, text)


@pytest.mark.parametrize(
    ("opcode", "changes", "field", "register", "value", "text"),
    [
        (
            BACK,
            {"dst.start_addr": 0x8000_0003},
            *("dst.start_addr", 3, 0xFFE8, "r3 = sbuf[0:0xffe8]"),
        ),
        (
            BACK,
            {"src0.start_addr": 0x8000_0004},
            *("src0.start_addr", 4, 0x40, "r4 = sbuf[0:0x40]"),
        ),
        (
            GRAD2,
            {"imm1": 5, "imm0_imm1_src.hi": 2},
            *("imm1", 5, 0x0210_0000, "r5 = psum[32:0x0]"),
        ),
    ],
)
def test_what_a_register_should_hold(opcode, changes, field, register, value, text):
    suggestion = explained(variant(opcode, changes))[0].suggestion
    assert suggestion is not None
    assert suggestion == Suggestion(field, value, text, register)
    record, registers = apply(suggestion, variant(opcode, changes), REGISTERS)
    assert record == variant(opcode, changes)
    assert [i for i in range(64) if registers[i] != REGISTERS[i]] == [register]


@pytest.mark.parametrize(
    ("opcode", "changes", "reason"),
    [
        (BACK, {"header.opcode": 0x42}, Reason.OPCODE),
        (BACK, {"src0.step_elem": (32767, 1, 1)}, Reason.WALK),  # 640 KiB fit no partition
        (LOAD1, {"imm1": NAN}, Reason.IMMEDIATE),
        (BACK, {"src0.num_elem": (0, 0, 1)}, Reason.COUNT_MISMATCH),  # as many as src0: none
    ],
)
def test_where_there_is_nothing_near(opcode, changes, reason):
    (suggestion,) = {
        item.suggestion
        for item in explained(variant(opcode, changes))
        if item.finding.reason is reason
    }
    assert suggestion is None


@pytest.mark.parametrize(
    ("generation", "word", "value", "text"),
    [
        (Generation.SUNDA, 0x9F00_0006, 0x8000_0006, "r6"),
        (Generation.SUNDA, 0x3_0000, 0x2_FFE8, "sbuf[0:0x2ffe8]"),
        (Generation.MARIANA, 0x4_0000, 0x0, "sbuf[0:0x0]"),  # byte 0 of partition 1
        (Generation.MAVERICK, 0x0800_0010, 0x0600_0010, "sbuf[96:0x10]"),
        (Generation.MAVERICK, 0x0210_0000, 0x0200_0000, "sbuf[32:0x0]"),
    ],
)
def test_a_generation_has_its_own_nearest_addresses(generation, word, value, text):
    geometry = Geometry(sbuf_bytes=1 << 20, generation=generation)
    first = explained(variant(BACK, {"dst.start_addr": word}), geometry=geometry)[0]
    assert first.suggestion == Suggestion("dst.start_addr", value, text)


def test_findings_are_those_of_the_verdict():
    record = variant(BACK, {"num_active_channels": 0, "op": 1, "src0.start_addr": 1})
    findings = validate(record, registers=REGISTERS).findings
    assert tuple(item.finding for item in explained(record)) == findings
    assert explained(variant(BACK, {})) == ()


# --- by hypothesis: a suggestion mends what it is for

geometries = st.builds(
    Geometry,
    sbuf_bytes=st.sampled_from([8, 1024, 1 << 16, 1 << 20]),
    psum_bytes=st.sampled_from([8, 512, 1 << 14]),
    generation=st.sampled_from(list(Generation)),
)
register_files = st.lists(
    st.one_of(st.integers(0, 1 << 16), st.integers(0, 0x240_0000), st.integers(0, (1 << 32) - 1)),
    min_size=64,
    max_size=64,
)
changed_bytes = st.lists(st.tuples(st.integers(1, 63), st.integers(0, 255)), min_size=1, max_size=6)


def changed(opcode, changes):
    record = bytearray(variant(opcode, {}))
    for at, value in changes:
        record[at] = value
    return bytes(record)


illegal_records = st.one_of(
    st.builds(changed, st.sampled_from(list(Opcode)), changed_bytes),
    st.builds(
        lambda opcode, rest: bytes([opcode, 16]) + rest,
        st.sampled_from(list(Opcode)),
        st.binary(min_size=62, max_size=62),
    ),
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(illegal_records, register_files, geometries)
def test_a_suggestion_removes_its_finding(record, registers, geometry):
    for item in explain(record, registers=registers, geometry=geometry):
        finding, suggestion = item.finding, item.suggestion
        if suggestion is None:
            continue
        assert suggestion.field == finding.field
        after, held = apply(suggestion, record, registers)
        # Nothing but this field, or one register, is touched.
        differing = {i for i in range(64) if after[i] != record[i]}
        if suggestion.register is None:
            first, last = field_bytes(Opcode(record[0]), finding.field)
            assert differing <= set(range(first, last + 1))
            assert list(held) == registers
        else:
            assert not differing
            assert {i for i in range(64) if held[i] != registers[i]} == {suggestion.register}
        remaining = validate(after, registers=held, geometry=geometry).findings
        assert (finding.reason, finding.field) not in {(f.reason, f.field) for f in remaining} or (
            finding.bytes not in {f.bytes for f in remaining if f.reason is finding.reason}
        )


# --- by brute force: no value of a byte is better

BYTES = {
    opcode: {
        name: leaf.bits
        for name, _, leaf in walk(record)
        if isinstance(leaf, Scalar) and leaf.bits <= 8 and name != "header.opcode"
    }
    for opcode, record in STRUCT_OF_OPCODE.items()
}


def broken(record, finding, registers, geometry, before):
    """Rules that a value of the finding's field breaks here or anew; None if not mended."""
    after = {f.key for f in validate(record, registers=registers, geometry=geometry).findings}
    return None if finding.key in after else len(after - before)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(illegal_records, register_files, geometries)
def test_no_value_of_a_byte_is_better(record, registers, geometry):
    opcode, fields = decode(record)
    items = explain(record, registers=registers, geometry=geometry)
    for item in items:
        finding = item.finding
        if finding.field not in BYTES[opcode]:
            continue
        before = {other.finding.key for other in items if other.finding.field != finding.field}
        scores = {}
        for value in range(1 << BYTES[opcode][finding.field]):
            tried = encode(opcode, {**fields, finding.field: value})
            score = broken(tried, finding, registers, geometry, before)
            if score is not None:
                scores[value] = score
        assert item.suggestion is not None
        chosen = item.suggestion.value
        assert scores[chosen] == min(scores.values())
        if finding.reason is Reason.DTYPE:
            continue  # their nearness is not that of the codes
        present = fields[finding.field]
        assert isinstance(present, int)
        if finding.reason is Reason.OPERATOR and present >= INTEGER_BAND:
            continue  # an operator on integers may have a namesake
        nearest = min(scores, key=lambda value: (scores[value], abs(value - present), value))
        assert chosen == nearest


# --- and no start address

GENERATE = (Phase.explicit, Phase.generate)
"""To shrink a failure would take minutes, and the records are small as they are."""


def distance(place, start):
    """Memory, then partition, then byte; of two equally near the lower."""
    partitions, bytes_ = place.partition - start.partition, place.offset - start.offset
    other = place.region is not start.region
    return other, abs(partitions), partitions, abs(bytes_), bytes_


small_geometries = st.builds(
    Geometry,
    sbuf_bytes=st.sampled_from([16, 48]),
    psum_bytes=st.sampled_from([8, 24]),
    generation=st.sampled_from(list(Generation)),
)
starts = st.builds(
    Location,
    st.sampled_from(list(Region)),
    st.sampled_from([0, 1, 31, 32, 40, 64, 96, 127]),
    st.integers(0, 50),
)


@settings(derandomize=True, max_examples=15, deadline=None, phases=GENERATE)
@given(
    geometry=small_geometries,
    places=st.tuples(starts, starts, starts),
    steps=st.tuples(*[st.integers(-2, 2)] * 3),
    out=st.sampled_from([Dtype.FP32, Dtype.BF16]),
    channels=st.sampled_from([1, 32, 33, 65]),
)
def test_no_start_address_is_better(geometry, places, steps, out, channels):
    generation = geometry.generation
    places = [
        place if place.region in regions_of(generation) else replace(place, region=Region.SBUF)
        for place in places
    ]
    names = ("src0", "src1", "dst")
    fields = {**LEGAL[BACK], "num_active_channels": channels, "out_dtype": out}
    for name, place in zip(names, places, strict=True):
        fields[f"{name}.start_addr"] = address_of(place, generation)
        fields[f"{name}.step_elem"] = steps
        fields[f"{name}.num_elem"] = (3, 2, 1)
    items = explain(encode(BACK, fields), registers=REGISTERS, geometry=geometry)
    everywhere = [
        Location(region, partition, offset)
        for region in regions_of(generation)
        for partition in range(0, 128, 32)
        for offset in range(geometry.active(region))
    ]
    for item in items:
        finding = item.finding
        before = {other.finding.key for other in items if other.finding.field != finding.field}
        start = places[names.index(finding.field.partition(".")[0])]
        scores = {}
        for place in everywhere:
            tried = encode(BACK, {**fields, finding.field: address_of(place, generation)})
            score = broken(tried, finding, REGISTERS, geometry, before)
            if score is not None:
                scores[place] = score
        if not scores:
            assert item.suggestion is None
            continue
        nearest = min(scores, key=lambda place: (scores[place], *distance(place, start)))
        assert item.suggestion is not None
        assert isinstance(item.suggestion.value, int)
        chosen = locate(item.suggestion.value, generation)
        assert chosen is not None
        if chosen in scores:
            assert chosen == nearest
        else:  # it stays in a partition that no address may start in, and mends what it can
            assert chosen.partition == start.partition
            assert scores[nearest] > 0


def test_every_reason_has_an_example():
    first = {explained(variant(opcode, changes))[0].finding.reason for opcode, changes, *_ in NEAR}
    assert first == set(Reason) - {Reason.NONE, Reason.OPCODE}
