"""Sunda's 0x8a, 0x8b and 0x8f: rules on words of two elements, and when pairs go at once (5.7)."""

import random

import pytest
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_golden.isa.generations import Generation
from frontend_bench import (
    BF16,
    BF16_OPERATORS,
    FP32,
    PSUM,
    QUADRANT,
    TT,
    elements,
    record,
    touches,
    validate,
    whole,
)

SUNDA = whole(Generation.SUNDA)
ACTIVE = 0x30000
INT8, INT16, INT32, FP32R = 0x2, 0x4, 0x8, 0xB
REGISTERS = {5: 0x400, 6: 0x402, 7: 0x1004, 8: 0x1008}


def both(**members):
    """The same for both sources."""
    return {
        f"{name}__{member}": value for name in ("src0", "src1") for member, value in members.items()
    }


def everywhere(num, *, step=(1, 2, 2)):
    """All three walks alike."""
    return both(num_elem=num, step_elem=step) | {"dst__num_elem": num, "dst__step_elem": step}


DEAD = {"src0__start_addr": 0x4000_0002}
CASES = [
    (0, "legal", {}),
    (0, "steps even", both(step_elem=(1, -2, 0))),
    (0, "steps even and far, not taken", both(step_elem=(1, -32768, 32766))),
    (0, "result walks as it likes", {"dst__step_elem": (3, 1, 1)}),
    (0, "result in rows of one", {"dst__num_elem": (1, 512, 1)}),
    (0, "result backwards", {"dst__step_elem": (-1, 1, 1), "dst__start_addr": 0x2000}),
    (0, "result bf16 at 2", {"out_dtype": BF16, "dst__start_addr": 0x1002}),
    (0, "result int8 at 1", {"out_dtype": INT8, "dst__start_addr": 0x1001}),
    (0, "two elements", everywhere((2, 1, 1))),
    # 7: sources are validated as UINT32, the result by its own type.
    (7, "result fp32 at 2", {"dst__start_addr": 0x1002}),
    (7, "odd step before odd count", everywhere((511, 1, 1), step=(1, 1, 2))),
    (8, "bf16 into psum", {"out_dtype": BF16, "dst__start_addr": PSUM}),
    (0, "fp32 into psum", {"dst__start_addr": PSUM}),
    (0, "from psum", {"src0__start_addr": PSUM}),
    (10, "no elements", everywhere((0, 1, 1))),
    (10, "no rows of odd elements", everywhere((3, 0, 1))),
    (11, "odd counts", everywhere((511, 1, 1))),
    (11, "counts differ", {"dst__num_elem": (510, 1, 1)}),
    (12, "both psum", {"src0__start_addr": PSUM, "src1__start_addr": PSUM + 0x800}),
    (12, "other quadrant", {"src1__start_addr": QUADRANT, "num_active_channels": 32}),
    # 13: such a source takes no part in the rules above.
    (13, "dead and misaligned", DEAD),
    (13, "dead with odd steps", DEAD | {"src0__step_elem": (2, 1, 1)}),
    (13, "dead with an odd count", DEAD | {"src0__num_elem": (1, 512, 1)}),
    (11, "dead beside an odd count", DEAD | {"src1__num_elem": (1, 512, 1)}),
    (7, "dead beside odd steps", DEAD | {"src1__step_elem": (1, 3, 2)}),
    # 14: counts are in elements of two bytes.
    (0, "ends the partition", {"src0__start_addr": ACTIVE - 1024}),
    (14, "leaves the partition", {"src0__start_addr": ACTIVE - 1020}),
]  # fmt: skip
for _source, _other in (("src0", 0x400), ("src1", 0x800)):
    CASES += [
        (7, f"{_source} at 2", {f"{_source}__start_addr": _other + 2}),
        (0, f"{_source} at 4", {f"{_source}__start_addr": _other + 4}),
        (7, f"{_source} at a register's 2", {f"{_source}__start_addr": 0x8000_0006}),
        (0, f"{_source} at a register", {f"{_source}__start_addr": 0x8000_0005}),
        (11, f"{_source} in rows of one", {f"{_source}__num_elem": (1, 512, 1)}),
        (11, f"{_source} in odd rows", everywhere((6, 2, 1)) | {f"{_source}__num_elem": (3, 4, 1)}),
        (0, f"{_source} in even rows", {f"{_source}__num_elem": (2, 16, 16)}),
    ]
    CASES += [
        (7, f"{_source} steps {step}", {f"{_source}__step_elem": step})
        for step in (
            *((0, 2, 2), (2, 2, 2), (3, 2, 2), (-1, 2, 2), (257, 2, 2), (-32767, 2, 2)),
            *((1, 1, 2), (1, -1, 2), (1, 32767, 2), (1, 2, 1), (1, 2, -3), (1, 1, 1)),
        )
    ]


@pytest.mark.parametrize("opcode", BF16_OPERATORS, ids=lambda opcode: opcode.name)
def test_reasons(opcode):
    cases = [
        *((reason, name, record(opcode, **changes)) for reason, name, changes in CASES),
        *(
            (6, f"operator {op:#x}", record(opcode, op=op))
            for op in {0x00, *BF16_OPERATORS.values()} - {BF16_OPERATORS[opcode]}
        ),
    ]
    records = [data for *_, data in cases]
    found = validate(records, registers=REGISTERS, config=SUNDA).operations
    wrong = [
        f"{name}: {operation.reason}, expected {reason}"
        for (reason, name, _), operation in zip(cases, found, strict=True)
        if operation.reason != reason
    ]
    assert not wrong


@pytest.mark.parametrize("generation", [g for g in Generation if g is not Generation.SUNDA])
def test_others_do_not_know_them(generation):
    records = [record(opcode) for opcode in BF16_OPERATORS]
    found = validate(records, config=whole(generation)).operations
    assert [operation.reason for operation in found] == [1, 1, 1]


def test_the_rules_are_of_these_opcodes_alone():
    odd = everywhere((511, 1, 1), step=(3, 1, 1)) | {"src0__start_addr": 2}
    data = record(TT, in0_in1_dtype__lo=BF16, in0_in1_dtype__hi=BF16, **odd)
    (operation,) = validate([data], config=SUNDA).operations
    assert (operation.reason, operation.pair) == (0, 0)


PAIRS = [
    (1, "contiguous", {}),
    (0, "fp32 at 4", {"dst__start_addr": 0x1004}),
    (1, "fp32 at 8", {"dst__start_addr": 0x1008}),
    (0, "fp32 at a register's 4", {"dst__start_addr": 0x8000_0007}),
    (1, "fp32 at a register's 8", {"dst__start_addr": 0x8000_0008}),
    (0, "fp32r at 4", {"dst__start_addr": 0x1004, "out_dtype": FP32R}),
    (1, "int32 at 8", {"dst__start_addr": 0x1008, "out_dtype": INT32}),
    (0, "bf16 at 2", {"dst__start_addr": 0x1002, "out_dtype": BF16}),
    (1, "int16 at 4", {"dst__start_addr": 0x1004, "out_dtype": INT16}),
    (0, "int8 at 1", {"dst__start_addr": 0x1001, "out_dtype": INT8}),
    (1, "int8 at 2", {"dst__start_addr": 0x1002, "out_dtype": INT8}),
    (1, "into psum", {"dst__start_addr": PSUM + 8}),
    (0, "into psum at 4", {"dst__start_addr": PSUM + 4}),
    (0, "every other element", {"dst__step_elem": (2, 1, 1)}),
    (0, "backwards", {"dst__step_elem": (-1, 1, 1), "dst__start_addr": 0x2000}),
    (0, "in one place", {"dst__step_elem": (0, 1, 1)}),
    (0, "rows of one", {"dst__num_elem": (1, 512, 1)}),
    (0, "odd rows", everywhere((6, 2, 1)) | {"dst__num_elem": (3, 4, 1)}),
    (1, "rows", {"dst__num_elem": (256, 2, 1), "dst__step_elem": (1, 300, 1)}),
    (1, "rows backwards", {"dst__num_elem": (256, 2, 1), "dst__step_elem": (1, -256, 1)}),
    (1, "one row over another", {"dst__num_elem": (256, 2, 1), "dst__step_elem": (1, 0, 1)}),
    (0, "rows an odd step apart", {"dst__num_elem": (256, 2, 1), "dst__step_elem": (1, 301, 2)}),
    (1, "planes", {"dst__num_elem": (256, 1, 2), "dst__step_elem": (1, 3, 256)}),
    (0, "planes an odd step apart", {"dst__num_elem": (256, 1, 2), "dst__step_elem": (1, 2, 257)}),
    (1, "in place", everywhere((512, 1, 1)) | {"dst__start_addr": 0, "out_dtype": BF16}),
    # What the next element reads is written by this one, or may be.
    (0, "serial", everywhere((512, 1, 1)) | {"dst__start_addr": 4, "out_dtype": BF16}),
    (0, "serial, in a pair", {"dst__start_addr": 0, "out_dtype": FP32}),
]


@pytest.mark.parametrize("opcode", BF16_OPERATORS, ids=lambda opcode: opcode.name)
def test_pairs(opcode):
    records = [record(opcode, **changes) for *_, changes in PAIRS]
    found = validate(records, registers=REGISTERS, config=SUNDA).operations
    assert {operation.reason for operation in found} == {0}
    wrong = [
        name
        for (pair, name, _), operation in zip(PAIRS, found, strict=True)
        if operation.pair != pair
    ]
    assert not wrong


def test_a_pair_never_shows_in_what_is_read():
    """What goes in one slot is read before any of it is written."""
    rng = random.Random(3)
    records, observable = [], []
    for _ in range(300):
        num = rng.choice([(4, 1, 1), (2, 2, 1), (2, 3, 2), (6, 1, 2)])
        step = (1, 2 * rng.randint(-4, 4), 2 * rng.randint(-4, 4))
        out, size = rng.choice([(BF16, 2), (BF16, 2), (FP32, 4), (INT8, 1)])
        start = {"src0": 0x100, "src1": 0x400, "dst": 0x100 + 2 * size * rng.randint(-6, 6)}
        if rng.random() < 0.4:
            start["dst"] = 0x100
        addresses = {f"{name}__start_addr": address for name, address in start.items()}
        types = {"out_dtype": out, "num_active_channels": 32}
        opcode = rng.choice(list(BF16_OPERATORS))
        records.append(record(opcode, **everywhere(num, step=step), **addresses, **types))
        reads = elements(start["src0"], [2 * s for s in step], num)
        writes = elements(start["dst"], [size * s for s in step], num)
        observable.append(touches(reads, 2, writes, size))
    found = validate(records, config=SUNDA).operations
    assert {operation.reason for operation in found} == {0}
    pairs = [operation.pair for operation in found]
    assert not any(pair and shows for pair, shows in zip(pairs, observable, strict=True))
    assert 40 < sum(pairs) < 260
    assert sum(observable) > 40


def test_a_pair_is_one_aligned_double_element_of_every_walk():
    rng = random.Random(2)
    opcodes = list(BF16_OPERATORS)
    records, walks = [], []
    for _ in range(400):
        num = rng.choice([(4, 2, 1), (2, 3, 2), (6, 1, 2), (2, 1, 1), (1, 6, 1), (3, 2, 2)])
        count = num[0] * num[1] * num[2]
        out = rng.choice((INT8, BF16, INT16, FP32, FP32R))
        size = DTYPE_BYTES[Dtype(out)]
        step = (rng.choice((1, 1, 1, 2, -1)), rng.randint(-12, 12), rng.randint(-12, 12))
        start = 0x1000 + size * rng.choice((0, 0, 0, 1, 2, 3))
        records.append(
            record(
                rng.choice(opcodes),
                **both(num_elem=(count, 1, 1)),
                dst__start_addr=start,
                dst__num_elem=num,
                dst__step_elem=step,
                out_dtype=out,
            )
        )
        walks.append((num, size, elements(start, [size * s for s in step], num)))
    found = validate(records, config=SUNDA).operations
    assert {(operation.reason, operation.serial) for operation in found} == {(0, 0)}
    for operation, (num, size, places) in zip(found, walks, strict=True):
        fit = all(
            first % (2 * size) == 0 and second == first + size
            for first, second in zip(places[::2], places[1::2], strict=True)
        )
        # Rows of one element may happen to make pairs; the front end looks at whole rows.
        assert operation.pair == (fit and num[0] % 2 == 0)
    assert 30 < sum(operation.pair for operation in found) < 370
