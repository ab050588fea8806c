"""Legality as a whole: order of the reasons, vectors of the specification, what findings say."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from dve_golden.frontend.inspection import field_bytes
from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import Fields, decode, encode
from dve_golden.isa.enums import Dtype, Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import Geometry
from hypothesis import given, settings
from hypothesis import strategies as st
from legal_records import (
    ADD_BF16,
    AGGREGATE,
    ARITH,
    BACK,
    BITVEC,
    CAST,
    COPY,
    GRAD2,
    LEGAL,
    LOAD1,
    NOP,
    PRAM,
    SYNC,
    TRANSPOSE,
    geometry_of,
    variant,
)

VECTORS = sorted((Path(__file__).parents[2] / "vectors").glob("*.npz"))


# --- reasons 1 and 2: first and alone


def test_other_opcodes_are_reason_1_alone():
    for opcode in sorted(set(range(256)) - set(Opcode)):
        # Everything else is wrong as well, the length included.
        verdict = validate(bytes([opcode]) + b"\xff" * 63)
        (finding,) = verdict.findings
        assert verdict.reason is finding.reason is Reason.OPCODE
        assert (finding.field, finding.bytes) == ("header.opcode", (0, 0))


@pytest.mark.parametrize(
    ("opcode", "note"),
    [
        (0x42, "TENSOR_REDUCE_ARITH_OP: known, not implemented"),
        (0x6C, "MAX8: known, not implemented"),
        (0x7C, "known, not implemented"),  # another engine's
        (0xFF, "the sentinel INVALID, never an instruction"),
        (0x8A, "TENSOR_TENSOR_ADD_BF16: unknown, not an opcode of cayman"),  # removed after SUNDA
        (0xE2, "RAND2: unknown, not an opcode of cayman"),  # added with MARIANA
        (0x00, "unknown, not an opcode of cayman"),
    ],
)
def test_opcode_finding_tells_known_from_unknown(opcode, note):
    (finding,) = validate(bytes([opcode]) + bytes(63)).findings
    assert finding.value == f"{opcode:#04x}, {note}"


@pytest.mark.parametrize("opcode", Opcode)
@pytest.mark.parametrize("length", [0, 15, 17, 0x40])
def test_length_is_reason_2_alone(opcode, length):
    record = bytes([opcode, length]) + b"\xff" * 62
    verdict = validate(record, geometry=geometry_of(opcode))
    (finding,) = verdict.findings
    assert verdict.reason is finding.reason is Reason.LENGTH
    assert (finding.field, finding.bytes) == ("header.inst_word_len", (1, 1))


def test_a_record_has_64_bytes():
    with pytest.raises(ValueError, match="64 bytes long, got 65"):
        validate(bytes(65))


# --- precedence

MALFORMED = 0x4000_0000
OUTSIDE = 0x0240_0000
NAN = 0x7FC0_0000

_TENSOR_FAULTS: dict[Reason, Fields] = {
    Reason.OPCODE: {"header.opcode": 0x42},
    Reason.LENGTH: {"header.inst_word_len": 15},
    Reason.WAIT: {"events.wait_mode": 0xFF},
    Reason.UPDATE: {"events.update_mode": 0xFF},
    Reason.DTYPE: {"in0_in1_dtype.hi": Dtype.FP32R},
    Reason.OPERATOR: {"op": 1},
    Reason.ALIGNMENT: {"src0.start_addr": 0x202},
    Reason.REGION: {"out_dtype": Dtype.BF16, "dst.start_addr": 0x0200_0000},
    Reason.PARTITION: {"num_active_channels": 0},
    Reason.COUNT_ZERO: {"src1.num_elem": (0, 3, 1)},
    Reason.COUNT_MISMATCH: {"dst.num_elem": (7, 1, 1)},
    Reason.SOURCE_PLACEMENT: {"src1.start_addr": 0x0080_0000},
    Reason.ADDRESSING_MODE: {"dst.start_addr": MALFORMED},
    Reason.WALK: {"src0.step_elem": (-32768, 1, 1)},
}

_STATISTICS_FAULTS: dict[Reason, Fields] = {
    Reason.WAIT: {"events.wait_mode": 0x08},
    Reason.UPDATE: {"events.update_mode": 0x06},
    Reason.DTYPE: {"in_dtype": Dtype.FP32R},
    Reason.ALIGNMENT: {"src.start_addr": 0x202},
    Reason.REGION: {"src.start_addr": OUTSIDE},
    Reason.PARTITION: {"num_active_channels": 31},
    Reason.COUNT_ZERO: {"src.num_elem": (2, 3, 0, 1)},
    Reason.COUNT_MISMATCH: {"dst.num_elem": (5, 1)},
    Reason.ADDRESSING_MODE: {"dst.start_addr": 0x8000_0100},
    Reason.WALK: {"src.step_elem": (1, 1, 1, 32767)},
    Reason.RESERVED: {"reserved1": b"\0\0\0\1"},
    Reason.IMMEDIATE: {"odd_count": NAN},
}
FAULTS: dict[Opcode, dict[Reason, Fields]] = {
    BACK: _TENSOR_FAULTS,
    ARITH: {**_TENSOR_FAULTS, Reason.OPERATOR: {"op": 0xC4}},
    BITVEC: {
        **_TENSOR_FAULTS,
        Reason.DTYPE: {"in0_in1_dtype.lo": Dtype.UINT32},
        Reason.OPERATOR: {"op": 4},
        Reason.REGION: {"dst.start_addr": OUTSIDE},
    },
    COPY: {
        **_TENSOR_FAULTS,
        Reason.DTYPE: {"in0_in1_dtype.lo": Dtype.FP32},
        Reason.REGION: {"dst.start_addr": OUTSIDE},
    },
    CAST: _TENSOR_FAULTS,
    ADD_BF16: {
        **_TENSOR_FAULTS,
        Reason.OPERATOR: {"op": 6},
        Reason.COUNT_MISMATCH: {"src1.num_elem": (3, 2, 1)},
        Reason.WALK: {"src0.start_addr": 0xFFFC},
    },
    GRAD2: {
        Reason.WAIT: {"events.wait_mode": 0x08},
        Reason.UPDATE: {"events.update_mode": 0x06},
        Reason.DTYPE: {"immediate_out_dtype.hi": Dtype.INT32},
        Reason.ALIGNMENT: {"src0.start_addr": 0x202},
        Reason.REGION: {"src0.start_addr": OUTSIDE},
        Reason.PARTITION: {"num_active_channels": 129},
        Reason.COUNT_ZERO: {"src1.num_elem": (2, 3, 0)},
        Reason.COUNT_MISMATCH: {"dst.num_elem": (2,)},
        Reason.SOURCE_PLACEMENT: {"src1.start_addr": 0x0100_0000},
        Reason.ADDRESSING_MODE: {"dst.start_addr": 0x8000_0100},
        Reason.WALK: {"src1.step_elem": (1, 32767, 1)},
        Reason.IMMEDIATE: {"imm0_imm1_src.hi": 0},
    },
    LOAD1: {
        Reason.WAIT: {"events.wait_mode": 0x80},
        Reason.UPDATE: {"events.update_mode": 0x10},
        Reason.DTYPE: {"dtype": Dtype.FP32R},
        Reason.ALIGNMENT: {"src.start_addr": 0x201},
        Reason.REGION: {"src.start_addr": OUTSIDE},
        Reason.PARTITION: {"num_active_channels": 200},
        Reason.COUNT_ZERO: {"src.num_elem": (3, 0)},
        Reason.COUNT_MISMATCH: {"src.num_elem": (3, 2)},
        Reason.ADDRESSING_MODE: {"src.start_addr": 0x2000_0000},
        Reason.WALK: {"src.step_elem": (-1, 1)},
        Reason.RESERVED: {"reserved2": bytes(8) + b"\1"},
        Reason.IMMEDIATE: {"imm1": NAN},
    },
    TRANSPOSE: _STATISTICS_FAULTS,
    AGGREGATE: {
        **_STATISTICS_FAULTS,
        Reason.PARTITION: {"num_active_channels": 0},
        Reason.COUNT_MISMATCH: {"src.num_elem": (4, 1, 1, 1)},
        Reason.WALK: {"dst.step_elem": (-1, 1), "dst.start_addr": 0},
        Reason.ADDRESSING_MODE: {"src.start_addr": MALFORMED},
        Reason.IMMEDIATE: {"even_count": 0x3F80_0000},
    },
    PRAM: {
        Reason.DTYPE: {"dtype": Dtype.BF16},
        Reason.ALIGNMENT: {"addr": 0x101},
        Reason.COUNT_ZERO: {"entry_count": 0},
        Reason.RESERVED: {"reserved0": bytes(20) + b"\1" + bytes(22)},
        Reason.IMMEDIATE: {"first_entry": 257},
    },
}

SILENCED = {
    *(Reason.ALIGNMENT, Reason.REGION, Reason.PARTITION, Reason.COUNT_ZERO),
    *(Reason.COUNT_MISMATCH, Reason.SOURCE_PLACEMENT, Reason.WALK),
}
"""What a malformed address word leaves unsaid of its operand (isa_common.md 5.8 c)."""


def operand(changes):
    return next(iter(changes)).partition(".")[0]


PAIRS = [
    (opcode, low, high)
    for opcode, faults in FAULTS.items()
    for low, high in combinations(faults, 2)
    if not faults[low].keys() & faults[high].keys()
    and not (
        Reason.ADDRESSING_MODE in (low, high)
        and {low, high} & SILENCED
        and operand(faults[low]) == operand(faults[high])
    )
]


@pytest.mark.parametrize(
    ("opcode", "reason"),
    [(opcode, reason) for opcode, faults in FAULTS.items() for reason in faults],
)
def test_one_fault(opcode, reason):
    record = variant(opcode, FAULTS[opcode][reason])
    assert validate(record, geometry=geometry_of(opcode)).reason is reason


@pytest.mark.parametrize("opcode", FAULTS)
def test_of_two_faults_the_lower_reason_is_reported(opcode):
    pairs = [(low, high) for owner, low, high in PAIRS if owner is opcode]
    assert pairs
    wrong = []
    for low, high in pairs:
        record = variant(opcode, FAULTS[opcode][low] | FAULTS[opcode][high])
        verdict = validate(record, geometry=geometry_of(opcode))
        reasons = [finding.reason for finding in verdict.findings]
        alone = low in (Reason.OPCODE, Reason.LENGTH)
        if verdict.reason is not low or reasons != sorted(reasons) or (alone and reasons != [low]):
            wrong.append((low, high, reasons))
    assert not wrong


@pytest.mark.parametrize(
    "silent",
    [
        {"src.num_elem": (0, 3)},
        {"src.num_elem": (2, 2)},
        {"src.step_elem": (-32768, -32768)},
        {"src.num_elem": (65535, 65535)},
    ],
)
def test_a_malformed_address_word_silences_its_operand(silent):
    verdict = validate(variant(LOAD1, {"src.start_addr": 0x2000_0001, **silent}))
    assert [finding.reason for finding in verdict.findings] == [Reason.ADDRESSING_MODE]


def test_the_entry_count_is_part_of_the_silenced_operand():
    verdict = validate(variant(PRAM, {"addr": MALFORMED, "entry_count": 0}))
    assert verdict.reason is Reason.ADDRESSING_MODE


def test_channels_and_types_are_no_part_of_the_silenced_operand():
    changes = {"src.start_addr": MALFORMED, "num_active_channels": 0, "dtype": Dtype.INT8}
    reasons = [finding.reason for finding in validate(variant(LOAD1, changes)).findings]
    assert reasons == [Reason.DTYPE, Reason.PARTITION, Reason.ADDRESSING_MODE]


# --- vectors of isa_common.md section 13

VECTOR_13_1 = bytes.fromhex(
    "41 10 00 00  00 00 00 00  00 00 00 00  AA 0A 04 80"
    "00 00 00 00  01 00 01 00  01 00 00 02  01 00 01 00"
    "00 08 00 00  01 00 01 00  01 00 00 02  01 00 01 00"
    "00 10 00 00  01 00 01 00  01 00 00 02  01 00 01 00"
)


def vector(*changes, opcode=0x41, op=0x04):
    record = bytearray(VECTOR_13_1)
    record[0], record[14] = opcode, op
    for at, data in changes:
        data = bytes.fromhex(data)
        record[at : at + len(data)] = data
    return bytes(record)


ADDRESS_VECTORS = (
    (((32, "00008400"),), Reason.PARTITION),  # 13.3: src1 in partition 33
    (((32, "00008000"), (15, "20")), Reason.SOURCE_PLACEMENT),
    (((16, "00000002"), (32, "00080002")), Reason.SOURCE_PLACEMENT),  # 13.4
    (((16, "00000002"), (32, "00080000")), Reason.NONE),
    (((48, "00000002"), (13, "06")), Reason.REGION),  # 13.5
    (((48, "00000002"), (13, "0A")), Reason.NONE),
    (((48, "00000002"), (13, "0B")), Reason.NONE),
)


@pytest.mark.parametrize("generation", list(Generation)[:3])
@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (VECTOR_13_1, Reason.NONE),
        (vector((12, "88 08"), op=0xC4), Reason.OPERATOR),  # 13.2
        *((vector(*changes), reason) for changes, reason in ADDRESS_VECTORS),
        *((vector(*changes, opcode=0x65, op=0), reason) for changes, reason in ADDRESS_VECTORS),
        (vector((12, "73 06"), opcode=0x99, op=0), Reason.NONE),  # 13.6
        (vector((12, "73 06"), opcode=0x99, op=4), Reason.OPERATOR),
        (vector((12, "73 06"), opcode=0x72, op=0), Reason.DTYPE),
        (vector((12, "AA 0B"), opcode=0x65, op=0), Reason.NONE),  # 13.7
        (vector((12, "AA 0C"), opcode=0x65, op=0), Reason.DTYPE),
        (vector((12, "AB 0A"), opcode=0x65, op=0), Reason.DTYPE),
        (vector((12, "55 05"), opcode=0x51, op=0x0A), Reason.NONE),  # 13.8
        (vector((12, "55 04"), opcode=0x51, op=0x0A), Reason.DTYPE),
        (vector((12, "AA 0A"), opcode=0x51, op=0x0A), Reason.DTYPE),
    ],
)
def test_vectors_of_the_specification(record, reason, generation):
    assert validate(record, geometry=Geometry(generation=generation)).reason is reason


def test_vector_13_2_has_a_legal_neighbour():
    """Of its types and its operator only the operator is out of place."""
    assert validate(vector((12, "88 08"))).legal
    verdict = validate(vector((12, "88 08"), op=0xC4))
    assert [finding.reason for finding in verdict.findings] == [Reason.OPERATOR]


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_independent_vectors_are_legal(path):
    with np.load(path) as arrays:
        program, registers = arrays["program"], arrays["registers"]
    geometry = Geometry(sbuf_bytes=1024, psum_bytes=512)
    for record in program:
        verdict = validate(record.tobytes(), registers=registers, geometry=geometry)
        assert verdict.findings == ()


# --- findings


@pytest.mark.parametrize(
    ("opcode", "changes", "where", "value"),
    [
        (BACK, {"src1.num_elem": (2, 0, 1)}, (44, 45), "0"),
        (BACK, {"src0.start_addr": 0x0081_0002}, (16, 19), "sbuf[32:0x10002]"),
        (BACK, {"src1.start_addr": 0x0140_0104}, (32, 35), "sbuf[80:0x104]"),
        (BACK, {"src0.start_addr": OUTSIDE}, (16, 19), "0x02400000"),
        (BACK, {"op": 9}, (14, 14), "0x09"),
        (BACK, {"num_active_channels": 129}, (15, 15), "129"),
        (
            BACK,
            {"dst.start_addr": 0x8000_0003},
            (48, 51),
            "r3 = sbuf[0:0xfffc], reaches bytes 0xfffc to 0x10013",
        ),
        (
            BACK,
            {"src0.step_elem": (-1, 1, 1)},
            (16, 19),
            "sbuf[0:0x0], reaches bytes -0x14 to 0x3",
        ),
        (BACK, {"src0.start_addr": 0x8000_0004}, (16, 19), "r4 = 0x80000000"),
        (GRAD2, {"imm1": 3, "imm0_imm1_src.hi": 0}, (62, 62), "0"),
        (GRAD2, {"imm1": 5, "imm0_imm1_src.hi": 2}, (56, 59), "r5 = psum[32:0x2]"),
        (GRAD2, {"immediate_out_dtype.lo": 3}, (61, 61), "uint8"),
        (LOAD1, {"reserved1": b"\x0a"}, (33, 33), "0a"),
        (LOAD1, {"imm1": NAN}, (28, 31), "0x7fc00000"),
        (PRAM, {"first_entry": 250}, (16, 17), "250, with 255 entries"),
        (PRAM, {"events.wait_mode": 0x20}, (4, 4), "0x20"),
        (NOP, {"events.wait_mode": 0x85, "events.semaphore_value": 64}, (8, 11), "register 64"),
        (SYNC, {"events.wait_mode": 0x81, "events.wait_value": 65}, (8, 11), "register 65"),
        (
            SYNC,
            {"events.update_mode": 0x97, "events.update_value": 66},
            (12, 15),
            "register 66",
        ),
    ],
)
def test_a_finding_names_place_and_value(opcode, changes, where, value):
    registers = [0, 0, 0, 0xFFFC, 0x8000_0000, 0x0210_0002, *[0] * 58]
    finding = validate(variant(opcode, changes), registers=registers).findings[0]
    assert (finding.bytes, finding.value) == (where, value)


def test_a_wrong_start_is_weighed_against_the_channels():
    (finding,) = validate(
        variant(PRAM, {"addr": 0x0080_0000 + 0x4_0000}), registers=[0] * 64
    ).findings
    assert "1 channels start at partition 0 or 32 or 64 or 96" in finding.rule
    changes = {f"{name}.start_addr": 0x0180_0000 for name in ("src0", "src1", "dst")}
    verdict = validate(variant(BACK, {"num_active_channels": 64, **changes}))
    assert {finding.reason for finding in verdict.findings} == {Reason.PARTITION}
    assert "64 channels start at partition 0 or 64" in verdict.findings[0].rule


def test_geometry_decides_where_a_partition_ends():
    record = variant(LOAD1, {"src.start_addr": 1024 - 12, "imm0": 1020})
    assert validate(record, geometry=Geometry(sbuf_bytes=1024)).legal
    verdict = validate(record, geometry=Geometry(sbuf_bytes=1016))
    assert [finding.reason for finding in verdict.findings] == [Reason.WALK, Reason.IMMEDIATE]
    # Beyond the 224 KiB of the generation there is nothing, whatever is configured.
    past = variant(LOAD1, {"src.start_addr": 0x3_8000})
    assert validate(past, geometry=Geometry(sbuf_bytes=1 << 18)).reason is Reason.PARTITION
    at_end = variant(LOAD1, {"src.start_addr": 0x3_8000 - 12})
    assert validate(at_end, geometry=Geometry(sbuf_bytes=1 << 18)).legal


# --- properties

small_counts = st.tuples(*[st.integers(1, 4)] * 3)
small_steps = st.tuples(*[st.integers(-5, 5)] * 3)


@settings(derandomize=True)
@given(
    counts=small_counts,
    steps=small_steps,
    start=st.integers(0, 31),
    dtype=st.sampled_from([Dtype.FP32, Dtype.FP16]),
)
def test_walk_rule_equals_visiting_every_element(counts, steps, start, dtype):
    size = 4 if dtype == Dtype.FP32 else 2
    offsets = [
        size * (start + i0 * steps[0] + i1 * steps[1] + i2 * steps[2])
        for i0 in range(counts[0])
        for i1 in range(counts[1])
        for i2 in range(counts[2])
    ]
    inside = min(offsets) >= 0 and max(offsets) + size <= 128
    total = (len(offsets), 1, 1)
    fields = {
        **LEGAL[BACK],
        "in0_in1_dtype.lo": dtype,
        "src0.start_addr": size * start,
        "src0.step_elem": steps,
        "src0.num_elem": counts,
        "src1.num_elem": total,
        "dst.num_elem": total,
        **{f"{name}.start_addr": 0 for name in ("src1", "dst")},
        **{f"{name}.step_elem": (0, 0, 0) for name in ("src1", "dst")},
    }
    verdict = validate(encode(BACK, fields), geometry=Geometry(sbuf_bytes=128))
    assert verdict.reason is (Reason.NONE if inside else Reason.WALK)


@settings(derandomize=True, max_examples=300)
@given(
    opcode=st.sampled_from(list(Opcode)),
    rest=st.binary(min_size=62, max_size=62),
    registers=st.lists(st.integers(0, (1 << 32) - 1), min_size=64, max_size=64),
)
def test_any_record_has_a_verdict(opcode, rest, registers):
    record = bytes([opcode, 16]) + rest
    verdict = validate(record, registers=registers, geometry=geometry_of(opcode))
    reasons = [finding.reason for finding in verdict.findings]
    assert reasons == sorted(reasons)
    assert verdict.reason == (reasons[0] if reasons else Reason.NONE)
    fields = decode(record)[1]
    for finding in verdict.findings:
        assert finding.field in fields
        first, last = field_bytes(opcode, finding.field)
        assert first <= finding.bytes[0] <= finding.bytes[1] <= last
