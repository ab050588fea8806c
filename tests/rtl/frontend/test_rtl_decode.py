"""The normal form: which byte of which struct ends where."""

import pytest
from amaranth.sim import Simulator
from dve_golden.isa.enums import Dtype
from dve_golden.isa.generations import Generation
from dve_rtl.frontend.decode import Decoder, Slot
from dve_rtl.payloads import Handler
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
    TT,
    record,
)


def decode(data: bytes, generation=Generation.CAYMAN):
    dut = Decoder(generation)
    found = []

    async def bench(ctx):
        ctx.set(dut.record, int.from_bytes(data, "little"))
        await ctx.delay(1e-9)
        found.append(ctx.get(dut.o))

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()
    return found[0]


def operand(candidate, slot):
    view = candidate.operands[slot]
    return (
        view.used,
        view.word,
        view.dtype,
        [view.step[d] for d in range(3)],
        [view.count[d] for d in range(3)],
    )


def immediate(candidate, index):
    view = candidate.immediates[index]
    return view.used, view.word, view.source


TENSORS_3D = {
    "src0__start_addr": 0x11111111,
    "src0__step_elem": (-1, 2, -3),
    "src0__num_elem": (4, 5, 6),
    "src1__start_addr": 0x22222222,
    "src1__step_elem": (-32768, 32767, 7),
    "src1__num_elem": (65535, 8, 9),
}
SRC0 = (1, 0x11111111, 0x6, [-1, 2, -3], [4, 5, 6])
SRC1 = (1, 0x22222222, 0x8, [-32768, 32767, 7], [65535, 8, 9])
UNUSED = (0, 0, 0, [0, 0, 0], [0, 0, 0])


def test_grad_accumulate():
    common = {
        **TENSORS_3D,
        "dst__start_addr": 0x33333333,
        "dst__step_elem": (-9,),
        "dst__num_elem": (3,),
        "imm0": 0x44444444,
        "imm1": 0x55555555,
        "in0_in1_dtype__lo": 0x6,
        "in0_in1_dtype__hi": 0x8,
        "num_active_channels": 77,
    }
    pair = {"immediate_out_dtype__lo": 0x8, "immediate_out_dtype__hi": 0x7}
    selectors = {"imm0_imm1_src__lo": 2, "imm0_imm1_src__hi": 1}
    first = decode(record(GA, **common, immediate_dtype=0x18, out_dtype=0x97))
    second = decode(record(GA2, **common, **pair, **selectors))
    for candidate, out, imm, sources in ((first, 0x97, 0x18, (1, 1)), (second, 0x7, 0x8, (2, 1))):
        assert candidate.handler == Handler.GRAD_ACCUMULATE
        assert operand(candidate, Slot.SRC0) == SRC0
        assert operand(candidate, Slot.SRC1) == SRC1
        assert operand(candidate, Slot.DST) == (1, 0x33333333, out, [-9, 1, 1], [3, 1, 1])
        assert immediate(candidate, 0) == (1, 0x44444444, sources[0])
        assert immediate(candidate, 1) == (1, 0x55555555, sources[1])
        assert candidate.imm_dtype == imm
        assert candidate.channels == 77
        assert not candidate.reserved
    assert decode(record(GA, immediate_dtype=0)).imm_dtype == Dtype.FP32
    assert decode(record(GA2, immediate_out_dtype__lo=0)).imm_dtype == 0


HANDLERS = {
    BP: Handler.BACK_PROP,
    TT: Handler.TENSOR_TENSOR,
    BITVEC: Handler.BITVEC,
    COPY: Handler.COPY_PREDICATED,
    CAST: Handler.CAST_PREDICATED,
    **dict.fromkeys(BF16_OPERATORS, Handler.TENSOR_TENSOR),
}


@pytest.mark.parametrize("opcode", HANDLERS, ids=lambda opcode: opcode.name)
def test_tensor_tensor(opcode):
    candidate = decode(
        record(
            opcode,
            **TENSORS_3D,
            dst__start_addr=0x33333333,
            dst__step_elem=(1, 2, 3),
            dst__num_elem=(4, 5, 6),
            in0_in1_dtype__lo=0x6,
            in0_in1_dtype__hi=0x8,
            out_dtype=0x1B,
            op=0x99,
            num_active_channels=0xFE,
        ),
        Generation.SUNDA,
    )
    assert candidate.handler == HANDLERS[opcode]
    assert operand(candidate, Slot.SRC0) == SRC0
    assert operand(candidate, Slot.SRC1) == SRC1
    assert operand(candidate, Slot.DST) == (1, 0x33333333, 0x1B, [1, 2, 3], [4, 5, 6])
    assert (candidate.op, candidate.channels) == (0x99, 0xFE)
    assert immediate(candidate, 0) == immediate(candidate, 1) == (0, 0, 0)


def test_parameter_loads():
    pattern = {
        "src__start_addr": 0x11111111,
        "src__step_elem": (-2, 5),
        "src__num_elem": (1, 3),
        "num_active_channels": 9,
        "imm0": 0x44444444,
        "imm0_src": 0x12,
    }
    first = decode(record(PL, **pattern, dtype=0x47, imm1=0x40400000))
    assert first.handler == Handler.PARAM_LOAD
    assert operand(first, Slot.SRC0) == (1, 0x11111111, 0x47, [-2, 5, 1], [1, 3, 1])
    assert immediate(first, 0) == (1, 0x44444444, 0x12)
    assert immediate(first, 1) == (0, 0, 0)
    assert first.imm_dtype == Dtype.FP32

    second = decode(
        record(
            PL2,
            **pattern,
            src_dtype=0x46,
            immediate_dtype=0x37,
            element_count=0x40400000,
            imm1=0x55555555,
            imm1_src=0x81,
        )
    )
    assert second.handler == Handler.PARAM_LOAD2
    assert operand(second, Slot.SRC0) == (1, 0x11111111, 0x46, [-2, 5, 1], [1, 3, 1])
    assert immediate(second, 0) == (1, 0x44444444, 0x12)
    assert immediate(second, 1) == (1, 0x55555555, 0x81)
    assert second.imm_dtype == 0x37
    for candidate in (first, second):
        assert operand(candidate, Slot.SRC1) == operand(candidate, Slot.DST) == UNUSED
        assert candidate.element_count == 0x40400000
        assert candidate.channels == 9


def test_load_parameter_ram():
    candidate = decode(record(PRAM, addr=0x11111111, first_entry=0x1234, entry_count=0x5678))
    assert candidate.handler == Handler.LOAD_PARAMETER_RAM
    assert operand(candidate, Slot.SRC0) == (1, 0x11111111, 0xA, [1, 0, 0], [0x5678, 1, 1])
    assert operand(candidate, Slot.SRC1) == operand(candidate, Slot.DST) == UNUSED
    assert immediate(candidate, 0) == immediate(candidate, 1) == (0, 0, 0)
    assert candidate.first_entry == 0x1234
    assert candidate.channels == 1


def test_header_and_events():
    data = bytes([0x42, 0x22, 0, 0, 0x85, 1, 0x97, 2, 0x78, 0x56, 0x34, 0x12]) + b"\xff" * 52
    candidate = decode(data)
    assert candidate.handler == Handler.BAD_OPCODE
    assert (candidate.opcode, candidate.inst_word_len) == (0x42, 0x22)
    assert (candidate.wait_mode, candidate.update_mode) == (0x85, 0x97)
    assert (candidate.wait_value, candidate.update_value) == (0x12345678, 0x12345678)
    assert candidate.update_idx == 2


def test_event_semaphore_has_a_value_for_each():
    data = bytes([0xA0, 0x10, 0, 0, 0x05, 1, 0x15, 2, 4, 3, 2, 1, 8, 7, 6, 5]) + bytes(48)
    candidate = decode(data)
    assert candidate.handler == Handler.SYNCHRONISE
    assert (candidate.wait_value, candidate.update_value) == (0x01020304, 0x05060708)
    assert not candidate.reserved
    assert decode(data[:16] + b"\x01" + bytes(47)).reserved
