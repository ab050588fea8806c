"""What a generation changes in the verdict: worked out by hand from isa_common.md 1.7, 3.1, 3.2."""

import pytest
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import Geometry
from legal_records import (
    ADD_BF16,
    ARITH,
    BACK,
    GRAD1,
    LEGAL,
    LOAD1,
    MULT_BF16,
    NOP,
    PRAM,
    SUB_BF16,
    variant,
)

SUNDA, CAYMAN, MARIANA, MAVERICK = Generation
EARLIER = (SUNDA, CAYMAN, MARIANA)
PSUM = 0x200_0000
REGISTERS = [0, 0x100, PSUM, 0x600_0000, *[0] * 60]

ALIGN, REGION, PART = Reason.ALIGNMENT, Reason.REGION, Reason.PARTITION
PLACE, MODE, WALK, IMM = (
    Reason.SOURCE_PLACEMENT,
    Reason.ADDRESSING_MODE,
    Reason.WALK,
    Reason.IMMEDIATE,
)


def reasons(opcode, changes, generation, sbuf_bytes=1 << 20):
    geometry = Geometry(sbuf_bytes=sbuf_bytes, psum_bytes=1 << 14, generation=generation)
    verdict = validate(variant(opcode, changes), registers=REGISTERS, geometry=geometry)
    return [finding.reason for finding in verdict.findings]


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("opcode", Opcode)
def test_every_generation_executes_every_opcode_but_sundas(opcode, generation):
    of_sunda = opcode in (ADD_BF16, MULT_BF16, SUB_BF16)
    unknown = of_sunda and generation is not SUNDA
    assert reasons(opcode, {}, generation) == ([Reason.OPCODE] if unknown else [])


@pytest.mark.parametrize("generation", Generation)
def test_operators_of_0x41(generation):
    """Isa_common.md 6.2; the integer band is for the POOL engine, also where it is defined."""
    legal = {0x00, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0D, 0x0E, 0x0F, *range(0x12, 0x1A)}
    if generation in (MARIANA, MAVERICK):
        legal |= {0x20, 0x21, 0x22, 0x23}
    found = {op for op in range(256) if not reasons(ARITH, {"op": op}, generation)}
    assert found == legal
    others = {tuple(reasons(ARITH, {"op": op}, generation)) for op in set(range(256)) - legal}
    assert others == {(Reason.OPERATOR,)}


KNOWN, UNKNOWN = "known, not implemented", "unknown, not an opcode of "


@pytest.mark.parametrize(
    ("opcode", "name", "known_to"),
    [
        (0x42, "TENSOR_REDUCE_ARITH_OP: ", Generation),
        (0x8C, "TENSOR_REDUCE_ADD_BF16: ", {SUNDA}),
        (0x8D, "TENSOR_REDUCE_MAX_BF16: ", {SUNDA}),
        (0xBC, "RANGE_SELECT: ", {CAYMAN, MARIANA, MAVERICK}),
        (0xE2, "RAND2: ", {MARIANA, MAVERICK}),
        (0xB4, "TEST_EVENT_SEM: ", {MARIANA, MAVERICK}),
        (0xF4, "TENSOR_SCALAR_INT_WIDE: ", {MAVERICK}),
        (0x26, "", {MAVERICK}),
        (0x00, "", ()),
    ],
)
def test_known_and_unknown_opcodes(opcode, name, known_to):
    for generation in Generation:
        geometry = Geometry(generation=generation)
        verdict = validate(bytes([opcode]) + bytes(63), geometry=geometry)
        assert verdict.reason is Reason.OPCODE
        standing = KNOWN if generation in known_to else UNKNOWN + generation.value
        assert verdict.findings[0].value == f"{opcode:#04x}, {name}{standing}"


@pytest.mark.parametrize("word", [0x9F00_0001, 0x8100_0001, 0x9000_0001])
@pytest.mark.parametrize(("opcode", "field"), [(BACK, "dst.start_addr"), (PRAM, "addr")])
def test_only_sunda_reads_bits_28_to_24_of_a_register_word(opcode, field, word):
    for generation in Generation:
        expected = [MODE] if generation is SUNDA else []
        assert reasons(opcode, {field: word}, generation) == expected
        assert reasons(opcode, {field: 0x8000_0001}, generation) == []


@pytest.mark.parametrize(
    ("generation", "active"),
    [(SUNDA, 0x3_0000), (CAYMAN, 0x3_8000), (MARIANA, 0x4_0000), (MAVERICK, 0x8_0000)],
)
def test_active_bytes_of_sbuf(generation, active):
    last = {"src.start_addr": active - 12}
    assert reasons(LOAD1, last, generation) == []
    assert reasons(LOAD1, {"src.start_addr": active - 8}, generation) == [WALK]
    assert reasons(LOAD1, {"imm0": active - 4}, generation) == []
    # On MARIANA the partition fills its stride, so the next byte is in partition 1.
    past = [PART] if generation is MARIANA else [PART, WALK]
    assert reasons(LOAD1, {"src.start_addr": active}, generation) == past
    assert reasons(LOAD1, {"imm0": active}, generation) == [IMM]
    # What is configured smaller is smaller.
    assert reasons(LOAD1, last, generation, sbuf_bytes=active - 8) == [WALK]


OFFSETS = {"src0.start_addr": 0x000, "src1.start_addr": 0x100, "dst.start_addr": 0x200}


@pytest.mark.parametrize("partition", [0, 1, 5, 31, 32, 33, 64, 96, 97, 127])
@pytest.mark.parametrize("generation", Generation)
def test_partitions_follow_the_stride(generation, partition):
    stride = 0x10_0000 if generation is MAVERICK else 0x4_0000
    moved = {field: partition * stride + offset for field, offset in OFFSETS.items()}
    expected = [] if partition % 32 == 0 else [PART] * 3
    assert reasons(BACK, moved, generation) == expected


@pytest.mark.parametrize("generation", EARLIER)
def test_memories_of_the_earlier_generations(generation):
    assert reasons(BACK, {"dst.start_addr": PSUM}, generation) == []
    assert reasons(BACK, {"dst.start_addr": PSUM, "out_dtype": 6}, generation) == [REGION]
    assert reasons(BACK, {"dst.start_addr": 0x240_0000}, generation) == [REGION]
    sources = {"src0.start_addr": PSUM, "src1.start_addr": PSUM}
    assert reasons(BACK, sources, generation) == [PLACE]
    assert reasons(GRAD1, {"imm0": 0x600_0000}, generation) == [IMM]
    assert reasons(BACK, {"dst.start_addr": 0x8000_0003}, generation) == [REGION]


def test_maverick_has_no_psum():
    # 0x2000000 is byte 0 of SBUF partition 32: two bytes per element may be written there, and
    # two sources may lie there.
    assert reasons(BACK, {"dst.start_addr": PSUM, "out_dtype": 6}, MAVERICK) == []
    sources = {"src0.start_addr": PSUM, "src1.start_addr": PSUM + 0x100}
    assert reasons(BACK, sources, MAVERICK) == []
    # In different quadrants, though, they must not.
    assert reasons(BACK, {"src0.start_addr": PSUM}, MAVERICK) == [PLACE]
    assert reasons(BACK, {"dst.start_addr": 0x8000_0003}, MAVERICK) == []  # partition 96
    assert reasons(BACK, {"dst.start_addr": 0x800_0000}, MAVERICK) == [REGION]
    finding = validate(
        variant(BACK, {"dst.start_addr": 0x800_0000}), geometry=Geometry(generation=MAVERICK)
    ).findings[0]
    assert finding.rule == "an address in SBUF"


def test_the_default_is_cayman():
    word = {"dst.start_addr": 0x9F00_0000}
    assert validate(variant(BACK, word)).legal
    assert Geometry().generation is CAYMAN
    assert LEGAL.keys() == set(Opcode)
    assert validate(variant(NOP, {})).legal
