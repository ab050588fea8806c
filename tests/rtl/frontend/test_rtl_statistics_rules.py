"""Legality of the forward statistics, case by case; answers are worked out from batchnorm.md 10."""

from itertools import product

import pytest
from dve_golden.isa.codec import encode
from dve_golden.isa.enums import Opcode
from dve_rtl.payloads import Handler
from frontend_bench import BF16, CAYMAN, FP16, FP32, INT32, PSUM, ValidatorBench

STATS = Opcode.BATCH_NORM_STATS
STATS2 = Opcode.BATCH_NORM_STATS2
AGGREGATE = Opcode.BATCH_NORM_AGGREGATE
TRANSPOSE = Opcode.TRANSPOSE_BATCH_NORM_STATS2
ALL = (STATS, STATS2, AGGREGATE, TRANSPOSE)

RESULTS = {STATS: 3, STATS2: 6, AGGREGATE: 2, TRANSPOSE: 6}
LAST_WORD = 0x37FFC
"""Last word of an SBUF partition on cayman."""

STILL = (0, 0, 0, 0)
ONES = (1, 1, 1, 1)
COUNT = 0x42C0_0000


def record(opcode, **changes):
    """96 elements of FP32 in SBUF, with some fields changed; ``__`` stands for the dot."""
    fields = {
        "src.start_addr": 0,
        "src.step_elem": ONES,
        "src.num_elem": (96, 1, 1, 1),
        "in_dtype": FP32,
        "out_dtype": FP32,
        "num_active_channels": 128,
        "even_count": 0 if opcode is AGGREGATE else COUNT,
        "odd_count": 0 if opcode is AGGREGATE else COUNT,
        "dst.start_addr": 0x1000,
        "dst.step_elem": (1, 1),
        "dst.num_elem": (RESULTS[opcode], 1),
    }
    renamed = {name.replace("__", "."): value for name, value in changes.items()}
    return encode(opcode, fields | renamed)


CASES: list[tuple[int, str, bytes]] = []


def case(reason, name, opcode, **changes):
    CASES.append((reason, f"{opcode.value:02x} {name}", record(opcode, **changes)))


for op in ALL:
    case(0, "legal", op)
    case(2, "length", op, header__inst_word_len=15)
    # 5
    for dtype in range(16):
        case(5 if dtype in (0x0, 0x1, 0xB, 0xC) else 0, f"in {dtype:#x}", op, in_dtype=dtype)
        plain = dtype in (FP32, FP16, BF16)
        case(0 if plain else 5, f"out {dtype:#x}", op, out_dtype=dtype)
    case(5, "in 0x1a", op, in_dtype=0x1A)
    # 7 to 10
    case(7, "src", op, src__start_addr=2)
    case(0, "int8 at 1", op, src__start_addr=1, in_dtype=2)
    case(7, "dst", op, dst__start_addr=0x1002)
    case(8, "bf16 into psum", op, dst__start_addr=PSUM, out_dtype=BF16)
    case(0, "fp32 into psum, from psum", op, dst__start_addr=PSUM, src__start_addr=PSUM + 0x800)
    case(9, "no channels", op, num_active_channels=0)
    case(9, "129 channels", op, num_active_channels=129)
    case(9, "partition 1", op, src__start_addr=1 << 18)
    for d in range(4):
        case(10, f"src {d}", op, src__num_elem=tuple(0 if at == d else 96 for at in range(4)))
    case(10, "dst", op, dst__num_elem=(0, 1))
    # 11
    for results in range(1, 8):
        case(
            0 if results == RESULTS[op] else 11,
            f"{results} results",
            op,
            dst__num_elem=(results, 1),
        )
        case(0 if results == RESULTS[op] else 11, f"1 x {results}", op, dst__num_elem=(1, results))
    for counts in product((1, 96), repeat=4):
        if counts.count(96) == 1:
            case(0, f"{counts}", op, src__num_elem=counts)
    for counts in ((65535, 65535, 65535, 65535), (4, 4, 32768, 8192), (8192, 4, 32768, 4)):
        case(11, f"{counts}", op, src__num_elem=counts, src__step_elem=STILL)
    # 13, 14
    case(13, "src", op, src__start_addr=0x2000_0000)
    case(13, "dead src, four", op, src__start_addr=0x2000_0000, src__num_elem=(4, 1, 1, 1))
    for d in range(4):
        counts = (1,) * d + (96,) + (1,) * (3 - d)
        case(0, f"last byte by {d}", op, src__start_addr=LAST_WORD - 4 * 95, src__num_elem=counts)
        case(14, f"past by {d}", op, src__start_addr=LAST_WORD - 4 * 94, src__num_elem=counts)
        case(
            0 if d != 2 else 14,
            f"before by 2, step of {d}",
            op,
            src__num_elem=(1, 1, 96, 1),
            src__step_elem=tuple(-(at == d) for at in range(4)),
        )
    # Every dimension adds to what the others reach: 4 * (2 * 1 + 3 * 7 + 3 * 50 + 1 * 1000) bytes.
    deep = {"src__num_elem": (3, 4, 4, 2), "src__step_elem": (1, -7, 50, -1000)}
    low, high = 4 * (3 * 7 + 1000), 4 * (2 + 3 * 50)
    case(0, "deep, lowest start", op, src__start_addr=low, **deep)
    case(14, "deep, one lower", op, src__start_addr=low - 4, **deep)
    case(0, "deep, highest start", op, src__start_addr=LAST_WORD - high, **deep)
    case(14, "deep, one higher", op, src__start_addr=LAST_WORD - high + 4, **deep)
    case(14, "dst leaves", op, dst__start_addr=LAST_WORD)
    # 15
    case(15, "bytes 35 to 39", op, reserved0=bytes([0, 0, 0, 0, 1]))
    case(15, "bytes 60 to 63", op, reserved1=bytes([0, 0, 0, 128]))
    # 16
    for name in ("even_count", "odd_count"):
        for bits in (0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F80_0001):
            case(16, f"{name} {bits:#x}", op, **{name: bits})
        case(0, f"{name} -0", op, **{name: 0x8000_0000})
        for bits in (0x3F80_0000, 0x0000_0001, 0x7F7F_FFFF):
            case(16 if op is AGGREGATE else 0, f"{name} {bits:#x}", op, **{name: bits})

# The limits: 256 elements for Stats, 512 for Stats2, multiples of 3 or 32 for the others.
for total in (1, 2, 3, 31, 32, 33, 64, 255, 256, 257, 258, 511, 512, 513, 544, 65535):
    line = {"src__num_elem": (total, 1, 1, 1), "src__step_elem": STILL}
    case(0 if total <= 256 else 11, f"{total} elements", STATS, **line)
    case(0 if total <= 512 else 11, f"{total} elements", STATS2, **line)
    case(0 if total % 3 == 0 else 11, f"{total} elements", AGGREGATE, **line)
    fits = total <= 512 and total % 32 == 0
    case(0 if fits else 11, f"{total} elements", TRANSPOSE, **line)
for counts in ((65535, 65537 % 65536, 3, 1), (1021, 1024, 4096, 1), (1024, 1024, 4, 1023)):
    total = counts[0] * counts[1] * counts[2] * counts[3]
    reason = 0 if total % 3 == 0 else 11
    case(reason, f"{counts}", AGGREGATE, src__num_elem=counts, src__step_elem=STILL)
for channels in (1, 16, 31, 32, 33, 64, 96, 112, 128):
    case(
        0 if channels % 32 == 0 else 9,
        f"{channels} channels",
        TRANSPOSE,
        num_active_channels=channels,
    )
    case(0, f"{channels} channels", STATS2, num_active_channels=channels)
# The lowest reason counts.
case(5, "dtype before channels", TRANSPOSE, in_dtype=0, num_active_channels=1)
case(9, "channels before count", TRANSPOSE, num_active_channels=1, src__num_elem=(31, 1, 1, 1))
case(11, "count before counts", AGGREGATE, src__num_elem=(4, 1, 1, 1), even_count=COUNT)
case(0, "int32", STATS, in_dtype=INT32)


@pytest.fixture
def bench():
    return ValidatorBench(CAYMAN, {})


def test_reasons(bench):
    result = bench.run([data for _, _, data in CASES], (0,), (0,))
    found = [
        (operation.reason, name)
        for operation, (_, name, _) in zip(result.operations, CASES, strict=True)
    ]
    assert found == [(reason, name) for reason, name, _ in CASES]


def test_operation(bench):
    """What the sequencer needs, of every opcode; the fourth dimension too."""
    walk = {
        "src__step_elem": (1, -3, 40, 90),
        "src__num_elem": (4, 2, 3, 4),
        "src__start_addr": 0x400,
    }
    counts = {"even_count": 0x4240_0000, "odd_count": 0x4244_0000}
    records = [record(op, **walk, **(counts if op is not AGGREGATE else {})) for op in ALL]
    operations = bench.run(records, (0,), (0,)).operations
    handlers = (Handler.STATS, Handler.STATS2, Handler.AGGREGATE, Handler.STATS2)
    for op, handler, operation in zip(ALL, handlers, operations, strict=True):
        assert (operation.reason, operation.handler, operation.opcode) == (0, handler, op)
        assert tuple(operation.src0.step) == (1, -3, 40, 90)
        assert tuple(operation.src0.count) == (4, 2, 3, 4)
        assert tuple(operation.dst.count) == (RESULTS[op], 1, 1)
        assert operation.src0.start.offset == 0x400
        assert operation.elements == 96
        assert operation.serial == 0
        if op is not AGGREGATE:
            assert (operation.element_count, operation.odd_count) == (0x4240_0000, 0x4244_0000)
