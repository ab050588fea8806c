"""Operations of the validator: resolved fields, the serial flag, time and back-pressure."""

import random
from itertools import pairwise, product

import pytest
from dve_golden.isa.enums import DTYPE_BYTES, Dtype
from dve_golden.isa.generations import Generation
from dve_rtl.frontend.validate import LATENCY
from dve_rtl.payloads import Handler
from frontend_bench import (
    BF16,
    BITVEC,
    BP,
    CAST,
    COPY,
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
    TT,
    elements,
    record,
    touches,
    validate,
    whole,
)

INT8, INT16, UINT16, FP32R, FP8 = 0x2, 0x4, 0x5, 0xB, 0xE


def pointer(view):
    return ("psum" if view.psum else "sbuf"), view.quadrant, view.offset


def walk(view):
    steps, counts = ([member[d] for d in range(3)] for member in (view.step, view.count))
    return pointer(view.start), Dtype(view.dtype), steps, counts


def single(data: bytes, **options):
    return validate([data], **options).operations[0]


def test_grad_accumulate_resolved():
    registers = {0: 3 * QUADRANT + 0x24, 62: PSUM + (96 << 15) + 0x10, 63: 2 * QUADRANT + 0x102}
    o = single(
        record(
            GA2,
            src0__start_addr=0x9F00_0000,
            src0__step_elem=(-1, 2, 3),
            src0__num_elem=(2, 3, 4),
            src1__start_addr=0x8000_003E,
            src1__num_elem=(24, 1, 1),
            dst__start_addr=QUADRANT + 0x3C,
            dst__step_elem=(-7,),
            in0_in1_dtype__hi=BF16,
            immediate_out_dtype__lo=FP16,
            immediate_out_dtype__hi=FP32,
            imm0=63,
            imm0_imm1_src__lo=2,
            imm1=QUADRANT + 0x106,
            num_active_channels=32,
        ),
        registers=registers,
    )
    assert o.reason == 0
    assert (o.handler, o.opcode, o.channels) == (Handler.GRAD_ACCUMULATE, 0x94, 32)
    assert walk(o.src0) == (("sbuf", 3, 0x24), Dtype.FP32, [-1, 2, 3], [2, 3, 4])
    assert walk(o.src1) == (("psum", 3, 0x10), Dtype.BF16, [1, 1, 1], [24, 1, 1])
    assert walk(o.dst) == (("sbuf", 1, 0x3C), Dtype.FP32, [-7, 1, 1], [3, 1, 1])
    assert pointer(o.imm0) == ("sbuf", 2, 0x102)
    assert pointer(o.imm1) == ("sbuf", 1, 0x106)
    assert o.imm_dtype == Dtype.FP16
    assert not o.serial


def test_grad_accumulate_invalid_immediates_become_fp32():
    assert single(record(GA, immediate_dtype=0)).imm_dtype == Dtype.FP32


def test_parameter_loads_resolved():
    changes = {
        "src__start_addr": PSUM + (64 << 15) + 0x3FFC,
        "src__step_elem": (9, -1),
        "imm0": PSUM + 0x3FFC,
        "num_active_channels": 64,
    }
    loads = ((PL, Handler.PARAM_LOAD, 3), (PL2, Handler.PARAM_LOAD2, 2))
    records = [record(opcode, **changes, src__num_elem=(1, count)) for opcode, _, count in loads]
    got = validate(records).operations
    for (opcode, handler, count), o in zip(loads, got, strict=True):
        assert o.reason == 0
        assert (o.handler, o.channels, o.element_count) == (handler, 64, 0x45000000)
        assert walk(o.src0) == (("psum", 2, 0x3FFC), Dtype.FP32, [9, -1, 1], [1, count, 1])
        assert pointer(o.imm0) == ("psum", 0, 0x3FFC)
        assert o.imm_dtype == Dtype.FP32
        if opcode is PL2:
            assert pointer(o.imm1) == ("sbuf", 0, 0x2004)


def test_tensor_tensor_resolved():
    changes = {
        "src0__start_addr": 0x8000_0007,
        "src1__start_addr": PSUM + 0x102,
        "src1__step_elem": (-1, 5, 7),
        "src1__num_elem": (4, 64, 2),
        "in0_in1_dtype__lo": UINT16,
    }
    cases = [  # opcode, op, src1, dst
        (TT, Handler.TENSOR_TENSOR, 0x23, INT8, FP32R),
        (BITVEC, Handler.BITVEC, 0x11, UINT16, UINT16),
        (COPY, Handler.COPY_PREDICATED, 0, FP8, FP8),
        (CAST, Handler.CAST_PREDICATED, 0, FP8, BF16),
    ]
    records = [
        record(opcode, **changes, op=op, in0_in1_dtype__hi=hi, out_dtype=out)
        for opcode, _, op, hi, out in cases
    ]
    got = validate(records, registers={7: 0x2002}, config=whole(Generation.MARIANA)).operations
    for (opcode, handler, op, hi, out), o in zip(cases, got, strict=True):
        assert (o.reason, o.opcode, o.handler, o.operator) == (0, opcode, handler, op)
        assert walk(o.src0) == (("sbuf", 0, 0x2002), Dtype.UINT16, [1, 1, 1], [512, 1, 1])
        assert walk(o.src1) == (("psum", 0, 0x102), hi, [-1, 5, 7], [4, 64, 2])
        assert walk(o.dst) == (("sbuf", 0, 0x1000), out, [1, 1, 1], [512, 1, 1])
        assert (o.serial, o.pair) == (0, 0)


def test_load_parameter_ram_resolved():
    o = single(record(PRAM, addr=QUADRANT + 0x408, first_entry=200, entry_count=56))
    assert o.reason == 0
    assert (o.handler, o.channels, o.first_entry) == (Handler.LOAD_PARAMETER_RAM, 1, 200)
    assert walk(o.src0) == (("sbuf", 1, 0x408), Dtype.FP32, [1, 0, 0], [56, 1, 1])


def test_latency_and_interval():
    records = [record(op) for op in (BP, GA, PL2, GA2)]
    records += [bytes(64), record(PL, imm0=1), record(PRAM, entry_count=0), record(BP)]
    result = validate(records)
    assert LATENCY <= 16
    assert result.cycles[0] == LATENCY
    assert {after - before for before, after in pairwise(result.cycles)} == {LATENCY}


def test_validates_while_the_previous_operation_waits():
    result = validate([record(BP)] * 4, stalls=(50,))
    # Each is there in the clock after the one before it was taken.
    assert {after - before for before, after in pairwise(result.cycles)} == {51}


def test_gaps_and_stalls_change_nothing():
    rng = random.Random(5)
    makers = [
        lambda: record(BP, src0__start_addr=4 * rng.randrange(40)),
        lambda: record(BP, op=rng.randrange(2)),
        lambda: record(GA, dst__num_elem=(rng.randint(2, 4),)),
        lambda: record(PL, imm0_src=rng.randrange(4)),
        lambda: record(PRAM, first_entry=rng.randrange(3)),
        lambda: record(PL2, src__step_elem=(rng.choice((1, -100)), 1)),
        lambda: rng.randbytes(64),
    ]
    records = [rng.choice(makers)() for _ in range(24)]
    bits = [[o.as_bits() for o in validate(records).operations]]
    for gaps, stalls in (((0, 9, 3), (0,)), ((0,), (0, 1, 30)), ((2, 0, 17), (20, 0, 3))):
        operations = validate(records, gaps=gaps, stalls=stalls).operations
        bits.append([o.as_bits() for o in operations])
    assert bits[1:] == bits[:1] * 3
    assert len(set(bits[0])) == 24  # the records differ, at least in when they were accepted


X, DY, DX = 0x0000, 0x1000, 0x2000


def walks(*, src0=X, src1=DY, dst=DX, dtypes=(FP32, FP32, FP32), channels=32, **patterns):
    """Walks over 16 elements; ``patterns`` replaces (step, count) of an operand."""
    changes = {"num_active_channels": channels}
    for name, address in (("src0", src0), ("src1", src1), ("dst", dst)):
        step, num = patterns.get(name + "_walk", ((1, 1, 1), (16, 1, 1)))
        changes |= {
            f"{name}__start_addr": address,
            f"{name}__step_elem": step,
            f"{name}__num_elem": num,
        }
    return dtypes, changes


INTEGER_OF = {FP32: INT32, BF16: INT16, FP16: INT16, INT32: INT32}


def element_wise(opcode, dtypes, changes):
    """An element-wise record whose elements are as large as ``dtypes``; None if none is legal."""
    lo, hi, out = dtypes
    if opcode in (COPY, CAST):
        lo = INTEGER_OF[lo]
    if opcode is BITVEC:
        lo, hi, out = (INTEGER_OF[dtype] for dtype in dtypes)
    if (opcode is BITVEC and not lo == hi == out) or (opcode is COPY and hi != out):
        return None
    types = {"in0_in1_dtype__lo": lo, "in0_in1_dtype__hi": hi, "out_dtype": out}
    return record(opcode, **changes, **types)


def everywhere(step, num):
    return {"src0_walk": (step, num), "src1_walk": (step, num), "dst_walk": (step, num)}


def in_place(step, num, address=X):
    return walks(src0=address, dst=address, **everywhere(step, num))


SERIAL_CASES = [
    ("apart", 0, walks()),
    ("in place, src0", 0, walks(dst=X)),
    ("in place, src1", 0, walks(dst=DY)),
    ("in place, both", 0, walks(src1=X, dst=X)),
    ("one element ahead", 1, walks(dst=X + 4)),
    ("one element behind", 1, walks(src0=X + 4, dst=X)),
    ("right after src0", 0, walks(dst=X + 64)),
    ("last word of src0", 1, walks(dst=X + 60)),
    ("right before src1", 0, walks(dst=DY - 64)),
    ("first word of src1", 1, walks(dst=DY - 60)),
    ("between interleaved sources", 1, walks(dst=X + 4, **everywhere((2, 1, 1), (16, 1, 1)))),
    ("other quadrant", 0, walks(dst=X + 4 + QUADRANT)),
    ("other memory", 0, walks(dst=PSUM + X + 4)),
    ("all in psum", 1, walks(src0=PSUM, dst=PSUM + 4)),
    ("in place in psum", 0, walks(src0=PSUM + 8, dst=PSUM + 8)),
    ("in place, other size", 1, walks(dst=X, dtypes=(FP32, FP32, BF16))),
    ("in place, int32 to fp32", 0, walks(dst=X, dtypes=(0x8, FP32, FP32))),
    ("in place, fp16 to bf16", 0, walks(dst=X, dtypes=(FP16, FP32, BF16))),
    ("in place, steps differ", 1, walks(dst=X, src0_walk=((2, 1, 1), (16, 1, 1)))),
    (
        "in place, shapes differ",
        1,
        walks(dst=X, src0_walk=((1, 4, 1), (4, 4, 1)), dst_walk=((1, 4, 1), (2, 8, 1))),
    ),
    ("in place, reversed", 0, in_place((-1, 1, 1), (16, 1, 1), 60)),
    ("one reversed", 1, walks(dst=60, dst_walk=((-1, 1, 1), (16, 1, 1)))),
    ("in place, step 0", 1, in_place((0, 1, 1), (16, 1, 1))),
    ("in place, one element, step 0", 0, in_place((0, 0, 0), (1, 1, 1))),
    ("step 0 elsewhere", 0, walks(**everywhere((0, 1, 1), (16, 1, 1)))),
    # Row of 4 (spans 3 elements) repeated every 4, then 3 elements
    ("in place, rows", 0, in_place((1, 4, 0), (4, 4, 1))),
    ("in place, rows meet", 1, in_place((1, 3, 0), (4, 4, 1))),
    ("in place, rows backwards", 0, in_place((1, -4, 0), (4, 4, 1), 48)),
    ("in place, rows meet backwards", 1, in_place((1, -3, 0), (4, 4, 1), 48)),
    ("in place, padded", 0, in_place((0, 1, 0), (1, 16, 1))),
    # 3 * 1 + 3 * 4 = 15 spanned
    ("in place, planes", 0, in_place((1, 4, 16), (4, 4, 2))),
    ("in place, planes meet", 1, in_place((1, 4, 15), (4, 4, 2))),
    ("in place, broadcast", 1, in_place((1, 0, 0), (4, 4, 1))),
    ("only src1 aliases", 1, walks(dst=DY + 4)),
    ("in place with src0, src1 aliases", 1, walks(src1=X + 4, dst=X)),
    ("by channel count", 0, walks(dst=X + 4 + 2 * QUADRANT, channels=64)),
]


@pytest.mark.parametrize("opcode", TENSOR_TENSOR_FAMILY, ids=lambda opcode: opcode.name)
def test_serial_flag(opcode):
    made = [
        (name, serial, data)
        for name, serial, (dtypes, changes) in SERIAL_CASES
        if (data := element_wise(opcode, dtypes, changes))
    ]
    assert len(made) > 30
    got = validate([data for *_, data in made]).operations
    assert {o.reason for o in got} == {0}
    wrong = [name for (name, serial, _), o in zip(made, got, strict=True) if o.serial != serial]
    assert not wrong


def test_in_place_of_another_size_is_serial_whatever_the_types():
    types = [dtype for dtype, size in DTYPE_BYTES.items() if size <= 4]
    pairs = [pair for pair in product(types, types) if pair[0] is not Dtype.FP32R]
    assert len(pairs) == 12 * 13
    records = [
        element_wise(TT, *walks(dst=X, dtypes=(int(source), FP32, int(result))))
        for source, result in pairs
    ]
    operations = validate(records).operations
    assert {o.reason for o in operations} == {0}
    for pair, o in zip(pairs, operations, strict=True):
        assert bool(o.serial) == (DTYPE_BYTES[pair[0]] != DTYPE_BYTES[pair[1]]), pair


def test_only_element_wise_instructions_are_serial():
    operations = validate([record(GA, dst__start_addr=0), record(BP, dst__start_addr=4)]).operations
    assert [(o.reason, o.serial) for o in operations] == [(0, 0), (0, 1)]


@pytest.mark.parametrize(("opcode", "types"), [(BP, (FP32, FP32, BF16)), (TT, (FP32, BF16, FP8))])
def test_pipelining_is_never_allowed_where_it_shows(opcode, types):
    rng = random.Random(1)
    records, observable = [], []
    for _ in range(200):
        num = rng.choice([(4, 1, 1), (2, 2, 1), (2, 3, 2), (1, 5, 1), (3, 1, 2)])
        dtypes = tuple(rng.choice(types) for _ in range(3))
        sizes = [DTYPE_BYTES[Dtype(dtype)] for dtype in dtypes]
        base = {"src0": 0x100, "src1": 0x400, "dst": 0x100}
        steps = {name: tuple(rng.randint(-4, 4) for _ in range(3)) for name in base}
        if rng.random() < 0.6:
            steps["dst"] = steps["src0"]
        if rng.random() < 0.6:
            base["dst"] += 4 * rng.randint(-8, 8)
        patterns = {f"{name}_walk": (steps[name], num) for name in base}
        records.append(element_wise(opcode, *walks(**base, dtypes=dtypes, **patterns)))
        byte_walks = {
            name: elements(base[name], [size * s for s in steps[name]], num)
            for name, size in zip(base, sizes, strict=True)
        }
        observable.append(
            any(
                touches(byte_walks[name], size, byte_walks["dst"], sizes[2])
                for name, size in (("src0", sizes[0]), ("src1", sizes[1]))
            )
        )
    operations = validate(records).operations
    assert {o.reason for o in operations} == {0}
    serial = [bool(o.serial) for o in operations]
    missed = [i for i, shows in enumerate(observable) if shows and not serial[i]]
    assert not missed
    assert 40 < sum(observable) < 160
    assert 40 < sum(serial) < 160
