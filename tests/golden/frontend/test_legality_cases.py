"""Legality by table: a legal record, one change, and what the specification says of it.

The expected findings, all of them, are worked out by hand from isa_common.md 5.8 and
batchnorm.md 2 to 7 and 10. Memories: 64 KiB SBUF and 16 KiB PSUM per partition.
"""

import pytest
from dve_golden.frontend.legality import validate
from dve_golden.isa.enums import Dtype, Opcode, Reason, UpdateMode, WaitMode
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
    LOAD1,
    LOAD2,
    MULT_BF16,
    NOP,
    PRAM,
    STATS,
    STATS2,
    SUB_BF16,
    SYNC,
    TRANSPOSE,
    geometry_of,
    variant,
)

Q1, Q2, Q3 = 0x0080_0000, 0x0100_0000, 0x0180_0000  # SBUF quadrants
PSUM = 0x0200_0000
OUTSIDE = 0x0240_0000
NAN, INF, FINITE_MAX = 0x7FC0_0000, 0xFF80_0000, 0x7F7F_FFFF

REGISTERS = [0] * 64
REGISTERS[1] = 0x0000_0100
REGISTERS[2] = 0x0000_0102  # misaligned for 4-byte elements
REGISTERS[3] = 0x0084_0000  # partition 33
REGISTERS[4] = 0x2000_0100  # bit 29
REGISTERS[5] = OUTSIDE
REGISTERS[6] = PSUM + 0x100
REGISTERS[7] = 0x0000_FFFC  # last fp32 of a 64 KiB partition
REGISTERS[8] = 0x0001_0000  # past it
REGISTERS[9] = Q1 + 0x100
R = 0x8000_0000


def dtypes(field, legal, bits=8):
    """Every code of an element type field, and whether it is legal."""
    for code in range(1 << bits):
        yield {field: code}, [] if code in legal else [(Reason.DTYPE, field)]


SOURCES = {Dtype.FP32, Dtype.FP16, Dtype.BF16, Dtype.INT32}
FLOATS = {Dtype.FP32, Dtype.FP16, Dtype.BF16}
INTEGERS = {2, 3, 4, 5, 8, 9}
PLAIN = {*range(2, 0xB), 0xD, 0xE, 0xF}
RESULTS = PLAIN | {0xB}
ARITHMETIC = {0x00, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0D, 0x0E, 0x0F, *range(0x12, 0x1A)}
BIT_VECTOR = {0x00, 0x01, 0x02, 0x03, 0x0A, 0x0B, 0x0C, 0x10, 0x11}

ALIGN, REGION, PART = Reason.ALIGNMENT, Reason.REGION, Reason.PARTITION
ZERO, COUNT, PLACE = Reason.COUNT_ZERO, Reason.COUNT_MISMATCH, Reason.SOURCE_PLACEMENT
MODE, WALK, RSVD, IMM = (
    Reason.ADDRESSING_MODE,
    Reason.WALK,
    Reason.RESERVED,
    Reason.IMMEDIATE,
)


def events(opcode):
    """Wait and update modes, register numbers included; the same for every opcode but 0xA0.

    There the wait and the update have an operand each.
    """
    wait_value = update_value = "events.semaphore_value"
    if opcode is SYNC:
        wait_value, update_value = "events.wait_value", "events.update_value"
    for mode in range(256):
        wait = (
            []
            if mode in {*range(8), 0x0E, 0x0F, *range(0x81, 0x86)}
            else [(Reason.WAIT, "events.wait_mode")]
        )
        yield {"events.wait_mode": mode, wait_value: 63}, wait
        update = (
            []
            if mode
            in {
                *range(6),
                *(7, 9, 0x17, 0x19),
                *range(0x11, 0x16),
                *(0x85, 0x87, 0x89, 0x95, 0x97, 0x99),
            }
            else [(Reason.UPDATE, "events.update_mode")]
        )
        yield {"events.update_mode": mode, update_value: 63}, update
    register = {"events.wait_mode": WaitMode.SEM_GE_REG}
    yield {**register, wait_value: 64}, [(Reason.WAIT, wait_value)]
    yield {**register, wait_value: 0xFFFF_FF3F}, []  # the upper 24 bits are ignored
    register = {"events.update_mode": UpdateMode.SEM_ADD_REG_COMPLETE}
    yield {**register, update_value: 255}, [(Reason.UPDATE, update_value)]
    both = {
        "events.wait_mode": WaitMode.SEM_EQ_REG,
        "events.update_mode": UpdateMode.SEM_WR_REG_READ,
    }
    yield (
        {**both, wait_value: 0x40, update_value: 0x40},
        [(Reason.WAIT, wait_value), (Reason.UPDATE, update_value)],
    )
    if opcode is SYNC:
        yield {**both, wait_value: 0x40, update_value: 0x3F}, [(Reason.WAIT, wait_value)]
        yield {**both, wait_value: 0x3F, update_value: 0x40}, [(Reason.UPDATE, update_value)]
    yield {"events.wait_mode": WaitMode.SEM_EQ_IMM, wait_value: 0xFFFF_FFFF}, []
    yield {"events.wait_idx": 255, "events.update_idx": 255}, []
    yield {"header.debug_cmd": 0xFF, "header.debug_hint": 0xFF}, []


def patterns(name, rank, *, others, spans=None):
    """What a TENSORnD operand of fp32 may be; ``others`` are added where its count changes.

    The operand is in quadrant 0 with 32 channels; ``spans`` is the extent of its walk in elements.
    """
    address, step, count = f"{name}.start_addr", f"{name}.step_elem", f"{name}.num_elem"
    for offset in (1, 2, 3):
        yield {address: 0x200 + offset}, [(ALIGN, address)]
    yield {address: OUTSIDE}, [(REGION, address)]
    yield {address: OUTSIDE + 1}, [(ALIGN, address), (REGION, address)]
    yield {address: 0x1FFF_FFFC}, [(REGION, address)]
    yield {address: PSUM + 0x3FD0}, []
    yield {address: PSUM + 0x4000}, [(PART, address), (WALK, address)]
    yield {address: PSUM + 0x8000}, [(PART, address)]  # partition 1
    yield {address: 0x1_0000}, [(PART, address), (WALK, address)]
    yield {address: 0x3_FFFC}, [(PART, address), (WALK, address)]
    for word in (0x2000_0000, 0x4000_0000, 0x6000_0000, 0xA000_0001, 0xC000_0001, 0xE000_0001):
        yield {address: word}, [(MODE, address)]
    for word in (R | 64, R | 0x101, R | 0x1_0001, R | 255, R | 4):
        yield {address: word}, [(MODE, address)]
    yield {address: R | 1}, []
    yield {address: R | 0x1F00_0001}, []  # bits 28:24 of the register form are ignored
    yield {address: R | 2}, [(ALIGN, address)]
    yield {address: R | 5}, [(REGION, address)]
    yield {address: R | 6}, []
    yield {address: R | 8}, [(PART, address), (WALK, address)]
    zero = (0,) * rank
    findings = [(ZERO, count)] * rank + [(COUNT, field) for field in others]
    yield {count: zero}, findings
    # A malformed address word silences the counts and steps of the operand.
    yield {count: zero, address: 0x4000_0000, step: (-32768,) * rank}, [(MODE, address)]
    last = ((spans or LEGAL_COUNT[name, rank]) - 1) * 4
    yield {address: 0xFFFC - last}, []
    yield {address: 0x1_0000 - last}, [(WALK, address)]
    yield {address: 0xFFFC}, [(WALK, address)]
    yield {address: 0, step: (-1,) * rank}, [(WALK, address)]
    yield {address: last, step: (-1,) * rank}, []
    yield {address: 0xFFFC, step: (0,) * rank}, []
    yield {address: 0x84_0000}, [(PART, address), *SAME_QUADRANT.get(name, [])]


LEGAL_COUNT = {("src0", 3): 6, ("src1", 3): 4, ("dst", 3): 6, ("dst", 1): 3, ("src", 2): 3}
"""Extent of the walk in elements; src1 is {2,3} with steps {1,1} and spans 1 + 1 + 2 = 4."""

SAME_QUADRANT = {"src0": [(PLACE, "src1.start_addr")], "src1": [(PLACE, "src1.start_addr")]}


def channels():
    field = "num_active_channels"
    yield {field: 0}, [(PART, field)]
    yield {field: 1}, []
    yield {field: 128}, []
    yield {field: 129}, [(PART, field)]
    yield {field: 255}, [(PART, field)]


OFFSETS = {"src0.start_addr": 0x000, "src1.start_addr": 0x100, "dst.start_addr": 0x200}


def starts():
    """Start partitions against channels, three operands moved together."""
    for base, channel_counts in (
        (0, {1: True, 32: True, 33: True, 64: True, 65: True, 128: True}),
        (Q1, {1: True, 32: True, 33: False, 128: False}),
        (Q2, {1: True, 33: True, 64: True, 65: False, 128: False}),
        (Q3, {1: True, 32: True, 33: False, 64: False}),
        (0x14_0000, {1: False, 32: False}),  # partition 5
    ):
        for count, legal in channel_counts.items():
            changes = {address: base + offset for address, offset in OFFSETS.items()}
            findings = [] if legal else [(PART, address) for address in OFFSETS]
            yield {"num_active_channels": count, **changes}, findings


def sources():
    """Placement of two sources, and their counts."""
    one, two = "src0.start_addr", "src1.start_addr"
    yield {one: PSUM}, []
    yield {two: PSUM}, []
    yield {one: PSUM + 0x10_0000, two: Q3}, []  # quadrants matter only within SBUF
    yield {one: PSUM, two: PSUM + 0x800}, [(PLACE, two)]
    yield {one: PSUM, two: PSUM + 0x10_0000}, [(PLACE, two)]
    yield {one: R | 6, two: R | 6}, [(PLACE, two)]
    yield {two: Q1}, [(PLACE, two)]
    yield {one: Q2, two: Q2}, []
    yield {two: R | 9}, [(PLACE, two)]
    yield {one: Q1, two: R | 9}, []
    yield {one: 0x4000_0000, two: Q1}, [(MODE, one)]  # no placement without both addresses
    yield {one: OUTSIDE, two: PSUM}, [(REGION, one)]


def pointer(field, selector=None, codes=(), *, extra=None):
    """A pointer immediate read as fp32 with 32 channels."""

    def case(word, *findings, code=1):
        changes = {field: word} if selector is None else {field: word, selector: code}
        return {**(extra or {}), **changes}, [(IMM, where) for where in findings]

    for code in codes:
        if code in (0, 1):
            yield case(0xFFFC, code=code)
    yield case(0xFFFC)
    yield case(Q3 + 0x10)  # any quadrant: pointers need not be where the sources are
    yield case(PSUM + 0x3FFC)
    yield case(0x301, field)
    yield case(0x302, field)
    yield case(0x1_0000, field)
    yield case(PSUM + 0x4000, field)
    yield case(OUTSIDE, field)
    yield case(OUTSIDE + 2, field, field)
    yield case(0x84_0000, field)
    yield case(0x84_0002, field, field)
    yield case(0x2000_0300, field)
    yield case(0x4000_0300, field)
    yield case(0x8000_0001, field)
    if selector is None:
        return
    for code in range(16):
        if code not in codes:
            yield case(0x300, selector, code=code)
    yield case(1, code=2)
    yield case(6, code=2)
    yield case(7, code=2)
    for register in (2, 3, 4, 5, 8):
        yield case(register, field, code=2)
    for word in (64, 255, 0x101, 0x1_0001, 0x8000_0001):
        yield case(word, field, code=2)


def gradient_operands():
    """What 0x63 and 0x94 share."""
    yield from dtypes("in0_in1_dtype.lo", SOURCES, bits=4)
    yield from dtypes("in0_in1_dtype.hi", SOURCES, bits=4)
    yield from channels()
    yield from patterns("src0", 3, others=["src1.num_elem"])
    yield from patterns("src1", 3, others=["src1.num_elem"])
    yield from patterns("dst", 1, others=["dst.num_elem"])
    yield from sources()
    yield {"src0.num_elem": (1, 2, 3)}, []  # counts are compared, not shapes
    yield {"src0.num_elem": (7, 1, 1)}, [(COUNT, "src1.num_elem")]
    yield {"dst.num_elem": (2,)}, [(COUNT, "dst.num_elem")]
    yield {"dst.num_elem": (4,)}, [(COUNT, "dst.num_elem")]
    yield {"dst.num_elem": (4,), "dst.start_addr": R | 64}, [(MODE, "dst.start_addr")]
    still = {"src0.step_elem": (0, 0, 0), "src1.step_elem": (0, 0, 0)}
    huge = (65535, 65535, 1)  # 4294836225 elements
    yield {**still, "src0.num_elem": huge, "src1.num_elem": huge}, []
    huge = (65535, 65535, 2)
    yield (
        {**still, "src0.num_elem": huge, "src1.num_elem": huge},
        [(COUNT, "src0.num_elem"), (COUNT, "src1.num_elem")],
    )


def gradient_results(field):
    """Destinations in PSUM take 4-byte elements only."""
    yield {field: Dtype.FP16, "dst.start_addr": 0x202}, []
    yield {field: Dtype.BF16, "dst.start_addr": 0x201}, [(ALIGN, "dst.start_addr")]
    yield {field: Dtype.FP32, "dst.start_addr": PSUM}, []
    yield {field: Dtype.BF16, "dst.start_addr": PSUM}, [(REGION, "dst.start_addr")]
    yield {field: Dtype.FP16, "dst.start_addr": R | 6}, [(REGION, "dst.start_addr")]
    # From the last 2-byte element down to the third last.
    yield {field: Dtype.FP16, "dst.start_addr": 0xFFFE, "dst.step_elem": (-1,)}, []


LO, HI, OUT = "in0_in1_dtype.lo", "in0_in1_dtype.hi", "out_dtype"


def operators(legal):
    """Every operator byte."""
    for code in range(256):
        yield {"op": code}, [] if code in legal else [(Reason.OPERATOR, "op")]


def tensors():
    """What all instructions of S3S3D3_TT share, with operands of four bytes."""
    yield from channels()
    yield from patterns("src0", 3, others=["src1.num_elem", "dst.num_elem"])
    yield from patterns("src1", 3, others=["src1.num_elem"])
    yield from patterns("dst", 3, others=["dst.num_elem"])
    yield from starts()
    yield from sources()
    yield {"dst.start_addr": Q3}, []  # the destination may be in another quadrant
    yield {"dst.start_addr": PSUM}, []
    yield {"dst.num_elem": (3, 2, 1)}, []
    yield {"dst.num_elem": (5, 1, 1)}, [(COUNT, "dst.num_elem")]
    yield {"src1.num_elem": (5, 1, 1)}, [(COUNT, "src1.num_elem")]
    yield {"src0.num_elem": (5, 1, 1)}, [(COUNT, "src1.num_elem"), (COUNT, "dst.num_elem")]
    # Without src0 there is nothing to compare the others with.
    silent = {"src0.start_addr": 0x4000_0000, "dst.num_elem": (5, 1, 1)}
    yield silent, [(MODE, "src0.start_addr")]


def converted():
    """Any types, converted: 0x41 and 0x65."""
    yield from dtypes(LO, PLAIN, bits=4)
    yield from dtypes(HI, PLAIN, bits=4)
    yield from dtypes(OUT, RESULTS)
    yield {OUT: Dtype.FP32R, "dst.start_addr": PSUM}, []
    yield {OUT: Dtype.UINT32, "dst.start_addr": PSUM}, []
    for small in (Dtype.BF16, Dtype.INT16, Dtype.UINT8, Dtype.FP8_EXP4):
        yield {OUT: small, "dst.start_addr": PSUM}, [(REGION, "dst.start_addr")]
    yield {LO: Dtype.FP8_EXP3, "src0.start_addr": 0x203}, []
    yield {HI: Dtype.UINT16, "src1.start_addr": 0x203}, [(ALIGN, "src1.start_addr")]
    yield {LO: Dtype.INT8, "src0.start_addr": 0xFFFA}, []
    yield {LO: Dtype.INT8, "src0.start_addr": 0xFFFB}, [(WALK, "src0.start_addr")]


def raw_types():
    """0x51: integers, and all of them the same; the legal record has INT32."""
    for code in range(256):
        if code < 16:
            here = [] if code == Dtype.INT32 else [(Reason.DTYPE, LO)]
            yield {LO: code}, here
            yield {HI: code}, [(Reason.DTYPE, HI) for _ in here]
            together = {LO: code, HI: code, OUT: code}
            illegal = [(Reason.DTYPE, field) for field in (LO, HI, OUT)]
            yield together, [] if code in INTEGERS else illegal
        differing = [(Reason.DTYPE, LO), (Reason.DTYPE, HI)]
        if code == Dtype.INT32:
            differing = []
        yield {OUT: code}, differing if code in INTEGERS else [(Reason.DTYPE, OUT)]


def moved_types():
    """0x72: data of the type of the result; the legal record has FP32."""
    for code in range(256):
        if code < 16:
            yield {HI: code}, [] if code == Dtype.FP32 else [(Reason.DTYPE, HI)]
            illegal = [(Reason.DTYPE, HI), (Reason.DTYPE, OUT)]
            yield {HI: code, OUT: code}, [] if code in PLAIN else illegal
        where = HI if code in PLAIN else OUT
        yield {OUT: code}, [] if code == Dtype.FP32 else [(Reason.DTYPE, where)]


def pairs(name):
    """Sources of the bf16 opcodes, read two at a time."""
    address, step, count = f"{name}.start_addr", f"{name}.step_elem", f"{name}.num_elem"
    yield {address: 0x204}, []
    for offset in (1, 2, 3):  # judged as elements of four bytes
        yield {address: 0x200 + offset}, [(ALIGN, address)]
    yield {address: PSUM + 4}, []
    yield {address: PSUM + 6}, [(ALIGN, address)]
    yield {address: R | 1}, []
    yield {address: R | 2}, [(ALIGN, address)]
    for first in (0, 2, -1, 3):
        yield {address: 0x400, step: (first, 2, 2)}, [(ALIGN, step)]
    yield {step: (1, 0, 0)}, []
    yield {address: 0x400, step: (1, -4, 32766)}, []
    # Also where the count is 1, as the outermost is here.
    yield {step: (1, 2, 1)}, [(ALIGN, step)]
    yield {step: (1, 3, 2)}, [(ALIGN, step)]
    yield {address: 0x400, step: (1, -1, -3)}, [(ALIGN, step)] * 2
    yield {address: 0x400, step: (2, 1, 1)}, [(ALIGN, step)] * 3
    yield {count: (2, 1, 3)}, []
    yield {count: (3, 2, 1)}, [(COUNT, count)]
    yield {count: (1, 3, 2)}, [(COUNT, count)]
    others = ["src1.num_elem", "dst.num_elem"] if name == "src0" else ["src1.num_elem"]
    yield {count: (5, 1, 1)}, [(COUNT, field) for field in (count, *others)]
    yield {count: (4, 1, 1)}, [(COUNT, field) for field in others]
    yield {count: (0, 3, 1)}, [(ZERO, count), *((COUNT, field) for field in others)]
    # A malformed address word silences all of it.
    silent = {step: (3, 3, 3), count: (3, 2, 1), address: 0x4000_0000}
    yield silent, [(MODE, address)]
    last = {"src0": 12, "src1": 20}[name]
    yield {address: 0x1_0000 - last}, []  # elements of two bytes
    yield {address: 0x1_0000 - last + 4}, [(WALK, address)]


def bf16(operator):
    """0x8a, 0x8b and 0x8f differ in the operator byte that they repeat."""
    yield from operators({operator})
    yield from dtypes(LO, {Dtype.BF16}, bits=4)
    yield from dtypes(HI, {Dtype.BF16}, bits=4)
    yield from dtypes(OUT, RESULTS)
    wrong = [(Reason.DTYPE, LO), (ALIGN, "src0.start_addr")]
    yield {LO: Dtype.FP16, "src0.start_addr": 0x202}, wrong
    yield from channels()
    yield from pairs("src0")
    yield from pairs("src1")
    yield from sources()
    # The destination has no part in it.
    yield {"dst.step_elem": (0, 1, 3), "dst.num_elem": (3, 2, 1)}, []
    yield {OUT: Dtype.BF16, "dst.start_addr": 0x202}, []
    yield {OUT: Dtype.BF16, "dst.start_addr": PSUM}, [(REGION, "dst.start_addr")]
    yield {"dst.num_elem": (5, 1, 1)}, [(COUNT, "dst.num_elem")]


def immediates_of_other_types(field, legal):
    """Alignment of pointers follows the type of the immediates."""
    yield from dtypes(field, legal)
    yield {field: Dtype.BF16, "imm0": 0x302, "imm1": 0xFFFE}, []
    yield {field: Dtype.FP16, "imm0": 0x301}, [(IMM, "imm0")]


def statistics(spans, results):
    """What all instructions of S4D2_BN share; ``spans`` is the extent of dst in elements."""
    yield from dtypes("in_dtype", PLAIN)
    yield from dtypes("out_dtype", FLOATS)
    # The source is {4,2,3,4} with steps of 1 and spans 1 + 3 + 1 + 2 + 3 elements.
    yield from patterns("src", 4, others=[], spans=10)
    yield from patterns("dst", 2, others=["dst.num_elem"], spans=spans)
    yield {"in_dtype": Dtype.UINT8, "src.start_addr": 0xFFF6}, []
    yield {"in_dtype": Dtype.FP16, "src.start_addr": PSUM + 2}, []
    yield {"src.start_addr": PSUM, "dst.start_addr": PSUM}, []  # there is one source only
    yield {"out_dtype": Dtype.BF16, "dst.start_addr": 0x202}, []
    yield {"out_dtype": Dtype.FP16, "dst.start_addr": PSUM}, [(REGION, "dst.start_addr")]
    yield {"dst.start_addr": Q3}, []
    for counts in ((results, 1), (1, results)):
        yield {"dst.num_elem": counts}, []
    for counts in ((results + 1, 1), (1, results - 1), (results, 2), (65535, 65535)):
        changes = {"dst.num_elem": counts, "dst.step_elem": (0, 0)}
        yield changes, [(COUNT, "dst.num_elem")]
    yield {"reserved0": b"\1" + bytes(4)}, [(RSVD, "reserved0")]
    yield {"reserved0": bytes(4) + b"\x80"}, [(RSVD, "reserved0")]
    yield {"reserved1": b"\1" + bytes(3)}, [(RSVD, "reserved1")]
    yield {"reserved1": bytes(3) + b"\x80"}, [(RSVD, "reserved1")]


def copied_counts():
    """Counts of 0x60, 0x61 and 0x82: any finite number, whatever the source has."""
    for field in ("even_count", "odd_count"):
        for bits in (0, 0x8000_0000, 1, 0x4640_E400, FINITE_MAX, 0xFF7F_FFFF):
            yield {field: bits}, []
        for bits in (NAN, INF, 0x7F80_0000, 0xFFFF_FFFF, 0x7F80_0001):
            yield {field: bits}, [(IMM, field)]


def source_counts(legal, illegal):
    """Shapes of the source of S4D2_BN, by products of the counts."""
    still = {"src.step_elem": (0, 0, 0, 0)}
    for counts in legal:
        yield {**still, "src.num_elem": counts}, []
    # Products above 2^32 - 1 are not taken modulo anything: the last is 2^48.
    huge = ((65535,) * 4, (65535, 65535, 2, 1), (65535, 65535, 65535, 3), (32768, 32768, 32768, 8))
    for counts in (*illegal, *huge):
        yield {**still, "src.num_elem": counts}, [(COUNT, "src.num_elem")]


def whole_quadrants():
    """Channels of 0x82."""
    field = "num_active_channels"
    for count in range(256):
        yield {field: count}, [] if count in (32, 64, 96, 128) else [(PART, field)]
    starts = {"src.start_addr": Q1, "dst.start_addr": Q1 + 0x200}
    yield {**starts, field: 31}, [(PART, field)]
    yield {**starts, field: 33}, [(PART, field), *((PART, start) for start in starts)]
    yield {**starts, field: 64}, [(PART, start) for start in starts]
    # An illegal number of channels is taken as one where starts are judged.
    yield {**starts, field: 129}, [(PART, field)]


CASES: dict[Opcode, list] = {
    GRAD1: [
        *gradient_operands(),
        *gradient_results("out_dtype"),
        *dtypes("out_dtype", FLOATS),
        *immediates_of_other_types("immediate_dtype", SOURCES | {Dtype.INVALID}),
        ({"immediate_dtype": Dtype.INVALID, "imm1": 0x302}, [(IMM, "imm1")]),
        *pointer("imm0"),
        *pointer("imm1"),
    ],
    GRAD2: [
        *gradient_operands(),
        *gradient_results("immediate_out_dtype.hi"),
        *dtypes("immediate_out_dtype.hi", FLOATS, bits=4),
        *dtypes("immediate_out_dtype.lo", SOURCES, bits=4),
        *pointer("imm0", "imm0_imm1_src.lo", (1, 2)),
        *pointer("imm1", "imm0_imm1_src.hi", (1, 2)),
        ({"immediate_out_dtype.lo": Dtype.BF16, "imm0": 2, "imm0_imm1_src.lo": 2}, []),
        ({"imm0": 2, "imm0_imm1_src.lo": 2}, [(IMM, "imm0")]),
    ],
    LOAD1: [
        *dtypes("dtype", FLOATS),
        *channels(),
        *patterns("src", 2, others=["src.num_elem"]),
        ({"src.num_elem": (1, 3)}, []),
        ({"src.num_elem": (2, 1)}, [(COUNT, "src.num_elem")]),
        ({"src.num_elem": (3, 3)}, [(COUNT, "src.num_elem")]),
        *pointer("imm0", "imm0_src", (0, 1, 2)),
        ({"imm0_src": 0x12}, [(IMM, "imm0_src")]),
        ({"imm1": FINITE_MAX}, []),
        ({"imm1": 0x8000_0000}, []),
        ({"imm1": 0}, []),
        ({"imm1": NAN}, [(IMM, "imm1")]),
        ({"imm1": INF}, [(IMM, "imm1")]),
        ({"reserved0": b"\0\0\0\1"}, [(RSVD, "reserved0")]),
        ({"reserved1": b"\x80"}, [(RSVD, "reserved1")]),
        ({"reserved2": b"\1" + bytes(8)}, [(RSVD, "reserved2")]),
        ({"reserved3": bytes(14) + b"\1"}, [(RSVD, "reserved3")]),
        # The mean is fp32 whatever the type of A, B and C.
        ({"dtype": Dtype.BF16, "imm0": 0x102}, [(IMM, "imm0")]),
        ({"dtype": Dtype.BF16, "src.start_addr": 0xFFFA}, []),
    ],
    LOAD2: [
        *dtypes("src_dtype", FLOATS),
        *immediates_of_other_types("immediate_dtype", FLOATS),
        *channels(),
        ({"src.num_elem": (1, 2)}, []),
        ({"src.num_elem": (3, 1)}, [(COUNT, "src.num_elem")]),
        ({"src.num_elem": (0, 2)}, [(ZERO, "src.num_elem"), (COUNT, "src.num_elem")]),
        ({"src.start_addr": 0xFFF8}, []),
        ({"src.start_addr": 0xFFFC}, [(WALK, "src.start_addr")]),
        ({"src.start_addr": PSUM}, []),
        ({"src.start_addr": 0x4000_0000}, [(MODE, "src.start_addr")]),
        *pointer("imm0", "imm0_src", (0, 1, 2)),
        *pointer("imm1", "imm1_src", (0, 1, 2)),
        ({"imm0": 1, "imm0_src": 2, "imm1_src": 0}, []),  # each on its own
        ({"element_count": NAN}, [(IMM, "element_count")]),
        ({"element_count": INF}, [(IMM, "element_count")]),
        ({"reserved0": b"\1\0\0\0"}, [(RSVD, "reserved0")]),
        ({"reserved1": b"\0\0\0\0\1"}, [(RSVD, "reserved1")]),
        ({"reserved2": b"\xff" + bytes(13)}, [(RSVD, "reserved2")]),
    ],
    STATS: [
        *statistics(3, 3),
        *channels(),
        *copied_counts(),
        *source_counts(
            [(1, 1, 1, 1), (256, 1, 1, 1), (4, 4, 4, 4), (1, 1, 1, 256), (251, 1, 1, 1)],
            [(257, 1, 1, 1), (2, 129, 1, 1), (1, 1, 1, 512), (4, 4, 4, 5)],
        ),
    ],
    STATS2: [
        *statistics(4, 6),
        *channels(),
        *copied_counts(),
        ({"dst.num_elem": (2, 3)}, []),
        *source_counts(
            [(1, 1, 1, 1), (512, 1, 1, 1), (8, 4, 4, 4), (1, 1, 1, 511)],
            [(513, 1, 1, 1), (2, 257, 1, 1), (1, 19, 27, 1), (4, 4, 4, 9)],
        ),
    ],
    AGGREGATE: [
        *statistics(2, 2),
        *channels(),
        *source_counts(
            [(3, 1, 1, 1), (1, 1, 1, 3), (5, 2, 3, 1), (65535, 1, 1, 1), (65535, 65535, 1, 1)],
            [(1, 1, 1, 1), (2, 2, 1, 1), (7, 1, 1, 1), (65534, 65534, 1, 1)],
        ),
        *(
            ({field: bits}, [] if zero else [(IMM, field)])
            for field in ("even_count", "odd_count")
            for bits, zero in (
                *((0, True), (0x8000_0000, True), (1, False), (0x3F80_0000, False)),
                *((0x8000_0001, False), (NAN, False), (INF, False), (FINITE_MAX, False)),
            )
        ),
    ],
    TRANSPOSE: [
        *statistics(4, 6),
        *whole_quadrants(),
        *copied_counts(),
        *source_counts(
            [(32, 1, 1, 1), (512, 1, 1, 1), (2, 4, 4, 1), (1, 1, 1, 480)],
            [(1, 1, 1, 1), (33, 1, 1, 1), (16, 1, 1, 1), (544, 1, 1, 1), (500, 1, 1, 1)],
        ),
    ],
    BACK: [*converted(), *operators({0}), *tensors()],
    ARITH: [*converted(), *operators(ARITHMETIC), *tensors()],
    BITVEC: [*raw_types(), *operators(BIT_VECTOR), *tensors()],
    COPY: [*dtypes(LO, INTEGERS, bits=4), *moved_types(), *operators({0}), *tensors()],
    CAST: [
        *dtypes(LO, INTEGERS, bits=4),
        *dtypes(HI, PLAIN, bits=4),
        *dtypes(OUT, PLAIN),
        *operators({0}),
        *tensors(),
    ],
    ADD_BF16: [*bf16(0x04)],
    MULT_BF16: [*bf16(0x06)],
    SUB_BF16: [*bf16(0x05)],
    PRAM: [
        *dtypes("dtype", {Dtype.FP32}),
        ({"addr": 0x102}, [(ALIGN, "addr")]),
        ({"addr": OUTSIDE}, [(REGION, "addr")]),
        ({"addr": Q1}, []),
        ({"addr": Q2 + 4}, []),
        ({"addr": Q3}, []),
        ({"addr": PSUM + 0x20_0000}, []),
        ({"addr": 0x14_0000}, [(PART, "addr")]),
        ({"addr": 0x1_0000}, [(PART, "addr"), (WALK, "addr")]),
        ({"addr": 0x2000_0000}, [(MODE, "addr")]),
        ({"addr": R | 1}, []),
        ({"addr": R | 4}, [(MODE, "addr")]),
        ({"addr": R | 3}, [(PART, "addr")]),
        ({"addr": R | 7, "entry_count": 1}, []),
        ({"addr": R | 7, "entry_count": 2}, [(WALK, "addr")]),
        ({"addr": 0xFC04, "entry_count": 255}, []),
        ({"addr": 0xFC08, "entry_count": 255}, [(WALK, "addr")]),
        ({"entry_count": 0}, [(ZERO, "entry_count")]),
        ({"first_entry": 0, "entry_count": 256}, []),
        ({"first_entry": 255, "entry_count": 1}, []),
        ({"first_entry": 2}, [(IMM, "first_entry")]),
        ({"first_entry": 256, "entry_count": 1}, [(IMM, "first_entry")]),
        ({"first_entry": 65535, "entry_count": 1}, [(IMM, "first_entry")]),
        ({"first_entry": 0, "entry_count": 257}, [(IMM, "entry_count")]),
        (
            {"first_entry": 0, "entry_count": 65535},
            [(WALK, "addr"), (IMM, "entry_count")],
        ),
        ({"reserved0": bytes(42) + b"\1"}, [(RSVD, "reserved0")]),
        ({"reserved0": b"\1" + bytes(42)}, [(RSVD, "reserved0")]),
    ],
    SYNC: [
        ({"reserved0": b"\1" + bytes(47)}, [(RSVD, "reserved0")]),
        ({"reserved0": bytes(47) + b"\x80"}, [(RSVD, "reserved0")]),
        ({"events.wait_value": 0xFFFF_FFFF, "events.update_value": 0xFFFF_FFFF}, []),
    ],
    NOP: [
        ({"reserved0": b"\1" + bytes(51)}, [(RSVD, "reserved0")]),
        ({"reserved0": bytes(51) + b"\x80"}, [(RSVD, "reserved0")]),
        ({"events.semaphore_value": 0xFFFF_FFFF}, []),
    ],
}


def test_the_unchanged_records_are_legal():
    for opcode in Opcode:
        assert validate(variant(opcode, {}), geometry=geometry_of(opcode)).findings == ()


@pytest.mark.parametrize("opcode", Opcode)
def test_cases(opcode):
    wrong = []
    for changes, expected in CASES[opcode] + list(events(opcode)):
        record = variant(opcode, changes)
        verdict = validate(record, registers=REGISTERS, geometry=geometry_of(opcode))
        found = [(finding.reason, finding.field) for finding in verdict.findings]
        reason = min((reason for reason, _ in expected), default=Reason.NONE)
        if (verdict.reason, sorted(found)) != (reason, sorted(expected)):
            wrong.append((changes, expected, found))
    assert not wrong


def test_the_tables_reach_every_reason_but_the_header_ones():
    reached = {reason for cases in CASES.values() for _, found in cases for reason, _ in found}
    reached |= {reason for _, found in events(NOP) for reason, _ in found}
    assert reached == set(Reason) - {Reason.NONE, Reason.OPCODE, Reason.LENGTH}
