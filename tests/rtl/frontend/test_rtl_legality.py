"""Reasons of the validator, case by case; every answer is worked out from the specification.

References: isa_common.md 3.1 to 3.3, 4.3, 4.4, 5.8, 13; batchnorm.md sections 2 to 5 and 7.
"""

from itertools import combinations

import pytest
from dve_golden.isa.enums import Opcode
from frontend_bench import (
    BF16,
    BP,
    FP16,
    FP32,
    GA,
    GA2,
    INT32,
    PL,
    PL2,
    PRAM,
    PSUM,
    QUADRANT,
    TENSOR_TENSOR_FAMILY,
    EngineConfig,
    record,
    validate,
)

UINT8 = 3
FP32R = 0xB
LAST_WORD = 0x37FFC
"""Last word of an SBUF partition on cayman."""

REGISTERS = {
    5: 0x0400,
    6: 0x0402,
    7: 0x0240_0000,
    8: QUADRANT,
    9: 0x2000_0400,
    10: PSUM + 0x800,
    11: LAST_WORD,
    12: 0x38000,
    13: 0x40000,
    14: 0x8000_0400,
    15: 0x4000_0400,
    63: 0x0404,
}


def register(number, low_bits=0):
    """The address word that names a register."""
    return 0x8000_0000 | low_bits | number


def shape(name, step, num):
    return {f"{name}__step_elem": step, f"{name}__num_elem": num}


def walk3(step, num):
    """All three operands of 0x65 take the same walk."""
    return shape("src0", step, num) | shape("src1", step, num) | shape("dst", step, num)


def one_element(name, addr):
    return {f"{name}__start_addr": addr, **walk3((1, 1, 1), (1, 1, 1))}


CASES: list[tuple[int, str, bytes]] = []


def case(reason, name, opcode, **changes):
    CASES.append((reason, f"{opcode.value:02x} {name}", record(opcode, **changes)))


def tensor_tensor(reason, name, **changes):
    """A case of every opcode of S3S3D3_TT; their element types have four bytes each."""
    for opcode in TENSOR_TENSOR_FAMILY:
        case(reason, name, opcode, **changes)


ALL = (GA, GA2, PL, PL2, PRAM, *TENSOR_TENSOR_FAMILY)
GRADS = (GA, GA2)
WALKERS = (*GRADS, *TENSOR_TENSOR_FAMILY)
LOADS = (PL, PL2)

for op in ALL:
    case(0, "legal", op)
    case(2, "length 15", op, header__inst_word_len=15)
    case(3, "wait 0xff", op, events__wait_mode=0xFF)
    case(3, "wait register 64", op, events__wait_mode=0x85, events__semaphore_value=64)
    case(0, "wait register 63", op, events__wait_mode=0x85, events__semaphore_value=0xFFFFFF3F)
    case(0, "wait immediate", op, events__wait_mode=0x05, events__semaphore_value=0xFFFFFFFF)
    case(4, "update 0x06", op, events__update_mode=0x06)
    case(4, "update register 64", op, events__update_mode=0x97, events__semaphore_value=64)

# 1: any other opcode, whatever the rest holds.
for number in (
    0x00,
    0x40,
    0x5F,
    0x67,
    0x81,
    0x83,
    0x8A,
    0xA1,
    0xA5,
    0xEA,
    0xEB,
    0xFF,
):
    for length in (16, 0):
        CASES.append((1, f"{number:02x} length {length}", bytes([number, length]) + record(BP)[2:]))

# 5
for op in WALKERS:
    case(5, "src0 fp32r", op, in0_in1_dtype__lo=FP32R)
for op in GRADS:
    case(5, "src1 uint8", op, in0_in1_dtype__hi=0x3)
    case(0, "src int32", op, in0_in1_dtype__lo=INT32, in0_in1_dtype__hi=INT32)
case(5, "out fp32r", GA, out_dtype=FP32R)
case(5, "out int32", GA2, immediate_out_dtype__hi=INT32)
case(0, "immediate invalid is fp32", GA, immediate_dtype=0)
case(5, "immediate 0x1a", GA, immediate_dtype=0x1A)
case(5, "immediate fp32r", GA, immediate_dtype=FP32R)
case(5, "immediate invalid", GA2, immediate_out_dtype__lo=0)
case(5, "int32", PL, dtype=INT32)
case(5, "0x4a", PL, dtype=0x4A)
case(5, "immediate int32", PL2, immediate_dtype=INT32)
case(5, "immediate invalid", PL2, immediate_dtype=0)
case(5, "bf16", PRAM, dtype=BF16)
case(0, "13.7 out fp32r", BP, out_dtype=FP32R)
case(5, "13.7 out int64", BP, out_dtype=0xC)
case(5, "out 0x1a", BP, out_dtype=0x1A)
case(0, "out int32", BP, out_dtype=INT32)

# 6
RSQRT = 0x1D  # legal in no opcode of this engine
tensor_tensor(6, "operator", op=RSQRT)

# 7
for name in ("src0", "src1", "dst"):
    for op in WALKERS:
        case(7, f"{name} at 2, fp32", op, **{f"{name}__start_addr": 0x4002})
    tensor_tensor(7, f"{name} at register 6", **{f"{name}__start_addr": register(6)})
case(7, "bf16 at 1", BP, in0_in1_dtype__lo=BF16, src0__start_addr=1)
case(0, "bf16 at 2", BP, in0_in1_dtype__lo=BF16, src0__start_addr=2)
case(7, "fp32r at 2", BP, out_dtype=FP32R, dst__start_addr=0x1002)
case(7, "int32 at 2", GA, in0_in1_dtype__hi=INT32, src1__start_addr=0x802)
case(7, "fp32 at 2", PL, src__start_addr=0x102)
case(0, "fp16 at 2", PL, src__start_addr=0x102, dtype=FP16)
case(7, "fp16 at 1", PL2, src__start_addr=0x101, src_dtype=FP16)
case(7, "at 2", PRAM, addr=0x402)

# 8
for addr in (0x0240_0000, 0x0400_0000, 0x1FFF_FFFC):
    case(8, f"src {addr:#x}", PL2, src__start_addr=addr)
    tensor_tensor(8, f"src0 {addr:#x}", src0__start_addr=addr)
    case(8, f"src {addr:#x}", PL, src__start_addr=addr)
    case(8, f"addr {addr:#x}", PRAM, addr=addr)
case(8, "src1 at register 7", GA, src1__start_addr=register(7))
for op, field in ((GA, "out_dtype"), (GA2, "immediate_out_dtype__hi"), (BP, "out_dtype")):
    case(8, "bf16 into psum", op, dst__start_addr=PSUM, **{field: BF16})
    case(0, "fp32 into psum", op, dst__start_addr=PSUM, **{field: FP32})
case(0, "fp32r into psum", BP, dst__start_addr=PSUM, out_dtype=FP32R)
case(8, "fp16 into psum by register", BP, dst__start_addr=register(10), out_dtype=FP16)
case(0, "bf16 from psum", BP, src0__start_addr=PSUM, in0_in1_dtype__lo=BF16)

# 9
for op in (GA, GA2, PL, PL2, *TENSOR_TENSOR_FAMILY):
    case(9, "channels 0", op, num_active_channels=0)
    case(9, "channels 129", op, num_active_channels=129)
    case(9, "channels 255", op, num_active_channels=255)
tensor_tensor(9, "13.3 src1 in partition 33", src1__start_addr=0x0084_0000)
for partition, most in ((0, 128), (32, 32), (64, 64), (96, 32)):
    for op, name in ((BP, "dst"), (GA, "dst"), (PL, "src"), (PL2, "src")):
        for channels, reason in ((most, 0), (most + 1, 9)):
            changes = {
                f"{name}__start_addr": (partition << 18) + 0x1000,
                "num_active_channels": channels,
            }
            case(reason, f"partition {partition}, {channels} channels", op, **changes)
for partition in (1, 5, 31, 33, 63, 65, 95, 97, 127):
    case(9, f"partition {partition}", PRAM, addr=partition << 18)
    case(9, f"psum partition {partition}", PRAM, addr=PSUM + (partition << 15))
for partition in (32, 64, 96):
    case(0, f"partition {partition}", PRAM, addr=partition << 18)
    case(0, f"psum partition {partition}", PRAM, addr=PSUM + (partition << 15))
tensor_tensor(9, "past the active bytes", src0__start_addr=0x38000)
case(9, "past the active bytes", PL, src__start_addr=0x3FFFC)
tensor_tensor(9, "past the active bytes, psum", dst__start_addr=PSUM + 0x4000)
case(9, "past the active bytes", PRAM, addr=0x38000)
tensor_tensor(9, "past by register", src0__start_addr=register(12))
tensor_tensor(9, "partition 1 by register", dst__start_addr=register(13))

# 10
for op in WALKERS:
    for name in ("src0", "src1"):
        for counts in ((0, 1, 1), (512, 0, 1), (512, 1, 0), (0, 0, 0)):
            case(10, f"{name} {counts}", op, **{f"{name}__num_elem": counts})
case(10, "dst", GA, dst__num_elem=(0,))
tensor_tensor(10, "dst", dst__num_elem=(512, 1, 0))
case(10, "src", PL, src__num_elem=(3, 0))
case(10, "src", PL2, src__num_elem=(0, 2))
case(10, "count", PRAM, entry_count=0)
case(10, "count, first too large", PRAM, entry_count=0, first_entry=300)

# 11
tensor_tensor(11, "src0 /= src1", src1__num_elem=(511, 1, 1))
tensor_tensor(11, "src0 /= dst", dst__num_elem=(511, 1, 1))
tensor_tensor(0, "ordinals matter, not shapes", src1__num_elem=(8, 8, 8), dst__num_elem=(1, 256, 2))
for op in GRADS:
    case(11, "src0 /= src1", op, src1__num_elem=(511, 1, 1))
    case(0, "shapes may differ", op, src0__num_elem=(2, 16, 16))
    for count in (1, 2, 4, 65535):
        case(11, f"{count} sums", op, dst__num_elem=(count,))
for counts, reason in (
    ((3, 1), 0),
    ((1, 3), 0),
    ((2, 1), 11),
    ((4, 1), 11),
    ((3, 3), 11),
    ((1, 1), 11),
    ((65535, 65535), 11),
):
    case(reason, f"{counts}", PL, src__num_elem=counts)
for counts, reason in (((2, 1), 0), ((1, 2), 0), ((3, 1), 11), ((2, 2), 11), ((1, 1), 11)):
    case(reason, f"{counts}", PL2, src__num_elem=counts)
STILL = (0, 0, 0)
tensor_tensor(0, "65535 * 65535 elements", **walk3(STILL, (65535, 65535, 1)))
tensor_tensor(0, "1625^3 elements", **walk3(STILL, (1625, 1625, 1625)))
tensor_tensor(11, "2^32 elements", **walk3(STILL, (32768, 32768, 4)))
tensor_tensor(11, "2^32 elements, order", **walk3(STILL, (4, 32768, 32768)))
tensor_tensor(11, "1626^2 * 1625 elements", **walk3(STILL, (1626, 1626, 1625)))
tensor_tensor(11, "65535^3 elements", **walk3(STILL, (65535, 65535, 65535)))
for op in GRADS:
    big = shape("src0", STILL, (32768, 32768, 4)) | shape("src1", STILL, (32768, 32768, 4))
    case(11, "2^32 elements", op, **big)
    # 2^33 and 2^32 agree in their low 32 bits.
    case(11, "2^33 against 2^32", op, **big | shape("src0", STILL, (32768, 32768, 8)))
    largest = shape("src0", STILL, (65535, 65535, 1)) | shape("src1", STILL, (65535, 1, 65535))
    case(0, "65535^2 elements", op, **largest)

# 12
for op in WALKERS:
    case(12, "13.4 both psum", op, src0__start_addr=PSUM, src1__start_addr=PSUM + 0x800)
    case(0, "13.4 psum and sbuf", op, src0__start_addr=PSUM)
    case(0, "sbuf and psum", op, src1__start_addr=PSUM)
    apart = {"src1__start_addr": QUADRANT, "num_active_channels": 32}
    case(12, "13.3 other quadrant", op, **apart)
    case(0, "psum in another quadrant", op, **apart | {"src0__start_addr": PSUM + (64 << 15)})
    case(0, "both in quadrant 1", op, **apart | {"src0__start_addr": QUADRANT + 0x800})
    case(
        12,
        "other quadrant by register",
        op,
        src1__start_addr=register(8),
        num_active_channels=32,
    )
    case(
        12,
        "both psum by register",
        op,
        src0__start_addr=register(10),
        src1__start_addr=PSUM,
    )
tensor_tensor(0, "dst in any quadrant", dst__start_addr=3 * QUADRANT, num_active_channels=32)

# 13
BAD_WORDS = {
    "indirect": 0x2000_0400,
    "shape register": 0x4000_0400,
    "both": 0xC000_0005,
    "indirect register": 0xA000_0005,
    "0x60": 0x6000_0400,
    "register 64": register(64),
    "register 255": register(255),
    "byte 1": register(5, 0x0100),
    "byte 2": register(5, 0x80_0000),
    "value with bit 29": register(9),
    "value with bit 30": register(15),
    "value with bit 31": register(14),
}
for name, word in BAD_WORDS.items():
    for operand in ("src0", "src1", "dst"):
        tensor_tensor(13, f"{operand} {name}", **{f"{operand}__start_addr": word})
    case(13, name, GA2, src0__start_addr=word)
    case(13, name, PL, src__start_addr=word)
    case(13, name, PL2, src__start_addr=word)
    case(13, name, PRAM, addr=word)
for operand in ("src0", "src1", "dst"):
    tensor_tensor(0, f"{operand} register 5", **{f"{operand}__start_addr": register(5)})
    # Bits 28:24 of a register word are ignored on cayman.
    tensor_tensor(
        0, f"{operand} register 63", **{f"{operand}__start_addr": register(63, 0x1F00_0000)}
    )
case(0, "register", PL2, src__start_addr=register(5))
case(0, "register", PRAM, addr=register(5))
# An operand that fails 13 takes no part in 7 to 12 and 14.
dead = {"src0__start_addr": 0x4000_0402}
tensor_tensor(13, "dead src0, zero count", **dead, src0__num_elem=(0, 1, 1))
tensor_tensor(13, "dead src0, other count", **dead, src0__num_elem=(511, 1, 1))
tensor_tensor(13, "dead src0, src1 /= dst", **dead, src1__num_elem=(511, 1, 1))
tensor_tensor(13, "dead src0, too many", **dead, src0__num_elem=(65535, 65535, 65535))
tensor_tensor(13, "dead src0, leaves", **dead, src0__step_elem=(32767, 1, 1))
tensor_tensor(13, "dead src0, other quadrant", **dead, **apart)
tensor_tensor(13, "dead src0, src1 in psum", **dead, src1__start_addr=PSUM)
tensor_tensor(13, "dead src1, other quadrant", src1__start_addr=0x4000_0000 + QUADRANT)
case(13, "dead src1, both psum", GA, src0__start_addr=PSUM, src1__start_addr=0x4000_0000 + PSUM)
tensor_tensor(13, "dead dst, other count", dst__start_addr=register(9), dst__num_elem=(511, 1, 1))
case(13, "dead dst, bf16", BP, dst__start_addr=0x4200_0001, out_dtype=BF16)
case(13, "dead dst, four sums", GA, dst__start_addr=register(9), dst__num_elem=(4,))
case(13, "dead src, five", PL, src__start_addr=register(9), src__num_elem=(5, 1))
case(13, "dead, no entries", PRAM, addr=register(9), entry_count=0)
case(13, "dead, leaves", PRAM, addr=register(9), entry_count=65535)
tensor_tensor(9, "dead src0, no channels", **dead, num_active_channels=0)
tensor_tensor(11, "dead src0, src1 too many", **dead, src1__num_elem=(65535, 65535, 65535))
tensor_tensor(
    11, "dead src1, dst too short", src1__start_addr=register(9), dst__num_elem=(511, 1, 1)
)
tensor_tensor(14, "src1 leaves", src1__step_elem=(32767, 1, 1))

# 14: corners of the walk, here on src0; the other two stay inside.
for addr, reason in ((LAST_WORD, 0), (LAST_WORD - 4, 0)):
    tensor_tensor(reason, f"one element at {addr:#x}", **one_element("src0", addr))
    tensor_tensor(reason, f"one element at {addr:#x}", **one_element("dst", addr))
case(0, "last bf16", BP, **one_element("src0", 0x37FFE), in0_in1_dtype__lo=BF16)
tensor_tensor(0, "last psum word", **one_element("dst", PSUM + 0x3FFC))
# Only elements of one byte can end on the very byte after the partition.
for memory, end in ((0, 0x38000), (PSUM, 0x4000)):
    for dtype, size in ((UINT8, 1), (BF16, 2)):
        for left, reason in ((2, 0), (1, 14)):
            two = one_element("src0", memory + end - size * left) | walk3((1, 1, 1), (2, 1, 1))
            case(reason, f"{left} left at {memory + end:#x}", BP, in0_in1_dtype__lo=dtype, **two)
WALKS = [
    # start, steps, counts, reason
    (LAST_WORD - 4 * 511, (1, 1, 1), (512, 1, 1), 0),
    (LAST_WORD - 4 * 510, (1, 1, 1), (512, 1, 1), 14),
    (LAST_WORD, (-1, 1, 1), (512, 1, 1), 0),
    (4 * 511, (-1, 1, 1), (512, 1, 1), 0),
    (4 * 510, (-1, 1, 1), (512, 1, 1), 14),
    (0, (0, 0, 0), (512, 1, 1), 0),
    (LAST_WORD, (0, -1, 0), (64, 8, 1), 0),
    (LAST_WORD, (0, 1, 0), (64, 8, 1), 14),
    (LAST_WORD, (0, 1, 0), (64, 1, 8), 0),
    # Unused dimensions do not reach, whatever their step.
    (0, (1, -32768, 32767), (512, 1, 1), 0),
    # lo = 4 * (7 - 7) = 0 and hi = 4 * (7 + 7 * 64 + 8) + 3
    (4 * 7, (-1, 64, 8), (8, 8, 8), 0),
    (4 * 6, (-1, 64, 8), (8, 8, 8), 14),
    # hi exactly at the end: 7 * 64 + 7 * 8 words above the start
    (LAST_WORD - 4 * (7 * 64 + 7 * 8), (-1, 64, 8), (8, 8, 8), 0),
    (LAST_WORD - 4 * (7 * 64 + 7 * 8) + 4, (-1, 64, 8), (8, 8, 8), 14),
    (4 * 14, (-1, 0, -1), (8, 8, 8), 0),
    (4 * 13, (-1, 0, -1), (8, 8, 8), 14),
    # Reaches that are 0 modulo 2^18, 2^32 and 2^34 bytes
    (0, (16384, 1, 1), (512, 1, 1), 14),
    (0, (128, 1, 1), (512, 1, 1), 14),
    (0, (-32768, 1, 1), (512, 1, 1), 14),
]
for start, step, num, reason in WALKS:
    tensor_tensor(
        reason, f"{start:#x} {step} {num}", src0__start_addr=start, **shape("src0", step, num)
    )
    case(reason, f"{start:#x} {step} {num}", GA, src1__start_addr=start, **shape("src1", step, num))
    if num == (512, 1, 1):
        tensor_tensor(
            reason, f"dst {start:#x} {step}", dst__start_addr=start, **shape("dst", step, num)
        )
WRAPS = [
    ((-32768, 0, 0), (32769, 1, 1)),  # -2^32 bytes
    ((16384, 0, 0), (65535, 65535, 1)),
    ((32767, 32767, 32767), (1625, 1625, 1625)),
    ((-32768, -32768, -32768), (1625, 1625, 1625)),
    ((-32768, 32767, 0), (65535, 65535, 1)),
    ((8192, 16384, 0), (32769, 65535, 1)),  # 2^30 bytes and more
    # The farthest a legal count can reach: 2^32 - 2^17 elements, 2^34 - 2^19 bytes
    ((-32768, -32768, 0), (65535, 65535, 1)),
    ((32767, 32767, 0), (65535, 65535, 1)),
    # 2^31 - 2^16 elements
    ((-32768, 0, 0), (65535, 1, 1)),
    ((32767, 0, 0), (65535, 1, 1)),
]
for step, num in WRAPS:
    still = shape("src1", STILL, num)
    for dtype in (FP32, BF16):
        far = shape("src0", step, num) | {"in0_in1_dtype__lo": dtype}
        case(14, f"{step} {num} dtype {dtype}", GA, **far, **still)
case(
    0,
    "65535 in place",
    GA,
    **shape("src0", STILL, (65535,) * 2 + (1,)),
    **shape("src1", STILL, (65535,) * 2 + (1,)),
)
tensor_tensor(14, "leaves by register", src0__start_addr=register(11))
tensor_tensor(0, "one element by register", **one_element("src0", register(11)))
tensor_tensor(14, "leaves psum", dst__start_addr=PSUM + 0x4000 - 4 * 511)
tensor_tensor(0, "ends psum", dst__start_addr=PSUM + 0x4000 - 4 * 512)
case(14, "bf16 leaves", BP, in0_in1_dtype__lo=BF16, src0__start_addr=0x38000 - 2 * 511)
case(0, "bf16 ends", BP, in0_in1_dtype__lo=BF16, src0__start_addr=0x38000 - 2 * 512)
case(14, "sums leave", GA, dst__start_addr=LAST_WORD - 4)
case(0, "sums end", GA, dst__start_addr=LAST_WORD - 8)
case(14, "sums leave downwards", GA, dst__start_addr=4, dst__step_elem=(-1,))
case(14, "A, B, C leave", PL, src__start_addr=LAST_WORD - 4)
case(0, "A, B, C backwards", PL, src__start_addr=LAST_WORD, src__step_elem=(-1, 1))
case(14, "B, C leave", PL2, src__start_addr=0, src__step_elem=(-1, 1))
case(0, "entries end", PRAM, addr=0x38000 - 1024)
case(14, "entries leave", PRAM, addr=0x38000 - 1020)
case(14, "entries leave before they are too many", PRAM, addr=0x38000 - 1024, entry_count=257)

case(14, "B, C leave psum", PL2, src__start_addr=PSUM + 0x3FFC)
case(14, "src1 leaves downwards", GA2, src1__step_elem=(1, -3, 1), src1__num_elem=(2, 256, 1))

# 15
case(15, "reserved0", PL, reserved0=b"\0\0\0\1")
case(15, "reserved3", PL, reserved3=b"\0" * 14 + b"\x80")
case(15, "reserved0", PL2, reserved0=b"\1\0\0\0")
case(15, "reserved2", PL2, reserved2=b"\0" * 13 + b"\1")
case(15, "reserved", PRAM, reserved0=b"\0" * 42 + b"\1")

# 16
BAD_POINTERS = {
    "bit 29": 0x2000_2000,
    "bit 31": 0x8000_0005,
    "misaligned": 0x2002,
    "outside": 0x0240_0000,
    "partition 1": 0x0004_2000,
    "quadrant 1 with 128 channels": QUADRANT,
    "past the active bytes": 0x38000,
    "past the active bytes of psum": PSUM + 0x4000,
}
for name, word in BAD_POINTERS.items():
    for op in (GA, GA2, PL2):
        case(16, f"imm0 {name}", op, imm0=word)
        case(16, f"imm1 {name}", op, imm1=word)
    case(16, f"imm0 {name}", PL, imm0=word)
for op in (GA, GA2, PL2):
    case(0, "pointers into psum", op, imm0=PSUM + 0x3FFC, imm1=PSUM)
    case(0, "last word", op, imm0=LAST_WORD, imm1=LAST_WORD)
    case(0, "quadrant 1", op, imm0=QUADRANT, imm1=3 * QUADRANT, num_active_channels=32)
case(0, "fp16 pointers at 2", GA, immediate_dtype=FP16, imm0=2, imm1=0x2006)
case(16, "fp16 pointer at 1", GA, immediate_dtype=FP16, imm0=1)
case(16, "invalid is aligned like fp32", GA, immediate_dtype=0, imm1=0x2006)
case(0, "bf16 pointers at 2", GA2, immediate_out_dtype__lo=BF16, imm0=2, imm1=0x2006)
case(16, "int32 pointer at 2", GA2, immediate_out_dtype__lo=INT32, imm0=2)
case(0, "bf16 pointers at 2", PL2, immediate_dtype=BF16, imm0=2, imm1=6)
case(16, "mean is fp32 even with bf16 A, B, C", PL, dtype=BF16, imm0=2)
SELECTORS = {
    GA2: ("imm0_imm1_src__lo", "imm0_imm1_src__hi"),
    PL: ("imm0_src",),
    PL2: ("imm0_src", "imm1_src"),
}
BAD_REGISTERS = {
    "register 64": 64,
    "byte 1": 0x0105,
    "byte 3": 0x8000_0005,
    "value misaligned": 6,
    "value outside": 7,
    "value in quadrant 1, 128 channels": 8,
    "value with bit 29": 9,
    "value past the active bytes": 12,
    "value in partition 1": 13,
    "value with bit 31": 14,
}
for op, selectors in SELECTORS.items():
    for index, selector in enumerate(selectors):
        case(0, f"imm{index} register 5", op, **{selector: 2, f"imm{index}": 5})
        case(0, f"imm{index} register 63", op, **{selector: 2, f"imm{index}": 63})
        case(0, f"imm{index} register 10, psum", op, **{selector: 2, f"imm{index}": 10})
        zero_reason = 16 if op is GA2 else 0
        case(zero_reason, f"{selector} 0", op, **{selector: 0})
        case(16, f"{selector} 3", op, **{selector: 3})
        for name, number in BAD_REGISTERS.items():
            case(16, f"imm{index} {name}", op, **{selector: 2, f"imm{index}": number})
for op, field in ((PL, "imm1"), (PL2, "element_count")):
    case(16, "N is infinite", op, **{field: 0x7F80_0000})
    case(16, "N is NaN", op, **{field: 0xFFC0_0000})
    case(0, "N is -0", op, **{field: 0x8000_0000})
case(16, "257 entries", PRAM, entry_count=257)
case(16, "beyond the last entry", PRAM, first_entry=1)
case(0, "last entry", PRAM, first_entry=255, entry_count=1)


# EVENT_SEMAPHORE and NOP: wait, update and reserved bytes are all there is to judge.
EVT, NOP = Opcode.EVENT_SEMAPHORE, Opcode.NOP
for op, values in ((EVT, "update_value"), (NOP, "semaphore_value")):
    case(0, "empty", op)
    case(2, "length 15", op, header__inst_word_len=15)
    case(3, "wait 0xff before update 0xff", op, events__wait_mode=0xFF, events__update_mode=0xFF)
    case(4, "update 0xff", op, events__update_mode=0xFF)
    case(4, "update register 64", op, events__update_mode=0x95, **{f"events__{values}": 64})
    case(0, "update register 63", op, events__update_mode=0x95, **{f"events__{values}": 63})
case(3, "wait register 64", EVT, events__wait_mode=0x81, events__wait_value=64)
case(0, "64 is the update's value", EVT, events__wait_mode=0x81, events__update_value=64)
case(0, "64 is the wait's value", EVT, events__update_mode=0x87, events__wait_value=64)
case(15, "byte 16", EVT, reserved0=b"\x01" + bytes(47))
case(15, "byte 63", EVT, reserved0=bytes(47) + b"\x80")
case(15, "byte 12", NOP, reserved0=b"\x01" + bytes(51))


@pytest.mark.parametrize("opcode", sorted({data[0] for *_, data in CASES}), ids=hex)
def test_reasons(opcode):
    cases = [(reason, name, data) for reason, name, data in CASES if data[0] == opcode]
    got = validate([data for *_, data in cases], registers=REGISTERS).operations
    wrong = [
        f"{name}: {o.reason}, expected {reason}"
        for (reason, name, _), o in zip(cases, got, strict=True)
        if o.reason != reason
    ]
    assert not wrong
    assert {o.opcode for o in got} == {opcode}


def test_every_reason_of_every_opcode_is_reached():
    reached = {(data[0], reason) for reason, _, data in CASES}
    reachable = {
        GA: {*range(2, 17)} - {6, 15},
        GA2: {*range(2, 17)} - {6, 15},
        PL: {*range(2, 17)} - {6, 12},
        PL2: {*range(2, 17)} - {6, 12},
        PRAM: {*range(2, 17)} - {6, 11, 12},
        **{opcode: {*range(2, 15)} for opcode in TENSOR_TENSOR_FAMILY},
    }
    missing = {(op.name, reason) for op, all_ in reachable.items() for reason in all_} - {
        (op.name, reason) for op in ALL for reason in range(17) if (op.value, reason) in reached
    }
    assert not missing


TENSOR_TENSOR_FAULTS: dict = {
    2: {"header__inst_word_len": 17},
    3: {"events__wait_mode": 0x08},
    4: {"events__update_mode": 0x10},
    5: {"in0_in1_dtype__hi": 0},
    6: {"op": RSQRT},
    7: {"src0__start_addr": 2},
    8: {"src1__start_addr": 0x0240_0000},
    9: {"num_active_channels": 0},
    10: {"src0__num_elem": (512, 1, 0)},
    11: {"src1__num_elem": (511, 1, 1)},
    12: {"src1__start_addr": QUADRANT, "num_active_channels": 32},
    13: {"dst__start_addr": 0x4000_1000},
    14: {"src0__step_elem": (32767, 1, 1)},
}
FAULTS: dict = {
    **{opcode: TENSOR_TENSOR_FAULTS for opcode in TENSOR_TENSOR_FAMILY},
    GA2: {
        2: {"header__inst_word_len": 0},
        3: {"events__wait_mode": 0x80},
        4: {"events__update_mode": 0xFF},
        5: {"immediate_out_dtype__lo": 0},
        7: {"src1__start_addr": 1},
        8: {"src0__start_addr": 0x1FFF_FFFC},
        9: {"num_active_channels": 200},
        10: {"src0__num_elem": (0, 1, 1)},
        11: {"src1__num_elem": (1, 1, 1)},
        12: {"src0__start_addr": PSUM, "src1__start_addr": PSUM},
        13: {"dst__start_addr": 0x8000_0100},
        14: {"src0__step_elem": (-32768, 1, 1)},
        16: {"imm0_imm1_src__hi": 0},
    },
    PL2: {
        2: {"header__inst_word_len": 64},
        3: {"events__wait_mode": 0x8E},
        4: {"events__update_mode": 0x91},
        5: {"immediate_dtype": 0},
        7: {"src__start_addr": 0x37FFE},
        9: {"num_active_channels": 129},
        10: {"src__num_elem": (2, 0)},
        11: {"src__num_elem": (3, 1)},
        14: {"src__step_elem": (-32768, 1)},
        15: {"reserved1": b"\0\0\1\0\0"},
        16: {"element_count": 0x7F80_0000},
    },
}
PAIRS = [
    (op, low, high, record(op, **(faults[high] | faults[low])))
    for op, faults in FAULTS.items()
    for low, high in combinations(sorted(faults), 2)
]


def test_lowest_reason_wins():
    got = validate([data for *_, data in PAIRS]).operations
    wrong = [
        (op.name, low, high, o.reason)
        for (op, low, high, _), o in zip(PAIRS, got, strict=True)
        if o.reason != low
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("sbuf_bytes", "psum_bytes"), [(1024, 512), (64 * 1024, 16 * 1024), (8, 16384)]
)
def test_configured_memory_is_the_limit(sbuf_bytes, psum_bytes):
    config = EngineConfig(sbuf_bytes=sbuf_bytes, psum_bytes=psum_bytes)
    one = {"first_entry": 0, "entry_count": 1}
    records = [
        (0, record(PRAM, addr=sbuf_bytes - 4, **one)),
        (9, record(PRAM, addr=sbuf_bytes, **one)),
        (14, record(PRAM, addr=sbuf_bytes - 4, first_entry=0, entry_count=2)),
        (0, record(PRAM, addr=PSUM + psum_bytes - 4, **one)),
        (9, record(PRAM, addr=PSUM + psum_bytes, **one)),
        (14, record(PRAM, addr=PSUM + psum_bytes - 4, first_entry=0, entry_count=2)),
    ]
    got = validate([data for _, data in records], config=config).operations
    assert [o.reason for o in got] == [reason for reason, _ in records]
