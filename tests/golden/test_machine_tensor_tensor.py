"""Tensor-tensor and predicated instructions on the golden machine: results worked out by hand."""

import numpy as np
import pytest
from dve_golden.isa.control import Control, IntegerRounding
from dve_golden.isa.enums import Reason
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import assemble
from dve_golden.machine import Machine

NAN, PAYLOAD, SUBNORMAL = 0x7FC0_0000, 0xFFA1_2345, 0x8000_0001


def small(**options):
    return Machine(sbuf_bytes=256, psum_bytes=128, **options)


def put(machine, offset, values, dtype, partition=0):
    data = np.array(values, dtype).view(np.uint8)
    machine.sbuf[partition, offset : offset + data.size] = data


def get(machine, offset, count, dtype, partition=0):
    size = np.dtype(dtype).itemsize
    return machine.sbuf[partition, offset : offset + size * count].view(dtype).tolist()


def execute(machine, text):
    program = assemble(text, machine.geometry.generation)
    completions = machine.run(program)
    assert [c.reason for c in completions] == [Reason.NONE] * (len(program) // 64)


# --- order


def test_a_result_can_be_the_next_operand():
    """A running sum: y[e + 1] = x[e + 1] + y[e]."""
    machine = small()
    put(machine, 0, [1, 2, 3, 4, 5], "<f4")
    put(machine, 0x40, [1, 0, 0, 0, 0], "<f4")
    execute(
        machine,
        "tensor_tensor channels=1 op=add src0=sbuf[0:4]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
        " dst=sbuf[0:0x44]:fp32:4",
    )
    assert get(machine, 0x40, 5, "<f4") == [1, 3, 6, 10, 15]


def test_a_raw_result_can_be_the_next_operand():
    """A running exclusive or, backwards."""
    machine = small()
    put(machine, 0, [1, 2, 4, 8], "u1")
    execute(
        machine,
        "tensor_tensor_bitvec channels=1 op=bitwise_xor src0=sbuf[0:2]:uint8:3@-1"
        " src1=sbuf[0:3]:uint8:3@-1 dst=sbuf[0:2]:uint8:3@-1",
    )
    assert get(machine, 0, 4, "u1") == [15, 14, 12, 8]


def test_what_is_copied_can_be_the_next_predicate():
    """Each predicate is the element copied before it, so copying ends at the first zero."""
    machine = small()
    put(machine, 0, [1, 0, 0, 0, 0], "u1")
    put(machine, 0x10, [7, 9, 0, 5], "u1")
    execute(
        machine,
        "copy_predicated channels=1 src0=sbuf[0:0]:uint8:4 src1=sbuf[0:0x10]:uint8:4"
        " dst=sbuf[0:1]:uint8:4",
    )
    assert get(machine, 0, 5, "u1") == [1, 7, 9, 0, 0]


# --- predicates


def test_false_elements_leave_every_byte():
    machine = small()
    put(machine, 0, [0, -1, 0, 256], "<i2")  # any pattern but zero is true
    put(machine, 0x10, [1, 2, 3, 4], "<f4")
    put(machine, 0x20, [PAYLOAD] * 4, "<u4")
    execute(
        machine,
        "copy_predicated channels=1 src0=sbuf[0:0]:int16:4 src1=sbuf[0:0x10]:fp32:4"
        " dst=sbuf[0:0x20]:fp32:4",
    )
    two, four = 0x4000_0000, 0x4080_0000
    assert get(machine, 0x20, 4, "<u4") == [PAYLOAD, two, PAYLOAD, four]


@pytest.mark.parametrize("walk", ["3@0", "1x3x1@0,0,0"])
def test_the_last_true_element_of_each_channel_stays(walk):
    machine = small()
    for channel, predicate in enumerate([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]]):
        put(machine, 0, predicate, "u1", channel)
        put(machine, 0x10, [10, 20, 30], "<f4", channel)
        put(machine, 0x20, [99], "u1", channel)
    execute(
        machine,
        "cast_predicated channels=4 src0=sbuf[0:0]:uint8:3 src1=sbuf[0:0x10]:fp32:3"
        f" dst=sbuf[0:0x20]:uint8:{walk}",
    )
    assert [get(machine, 0x20, 1, "u1", channel) for channel in range(4)] == [
        [30],
        [20],
        [10],
        [99],
    ]


# --- what is converted, and what is not


@pytest.mark.parametrize("mnemonic", ["copy_predicated", "cast_predicated"])
def test_equal_types_are_moved_bit_for_bit(mnemonic):
    machine = small()
    machine.control[:] = Control(flush_to_zero=True, sns=True).words
    put(machine, 0, [1, 1, 1], "u1")
    put(machine, 0x10, [PAYLOAD, SUBNORMAL, 0x7F80_0000], "<u4")
    execute(
        machine,
        f"{mnemonic} channels=1 src0=sbuf[0:0]:uint8:3 src1=sbuf[0:0x10]:fp32:3"
        " dst=sbuf[0:0x20]:fp32:3\n"
        f"{mnemonic} channels=1 src0=sbuf[0:0]:uint8:3 src1=sbuf[0:0x10]:int32:3"
        " dst=sbuf[0:0x30]:int32:3",
    )
    assert get(machine, 0x20, 3, "<u4") == get(machine, 0x10, 3, "<u4")
    assert get(machine, 0x30, 3, "<u4") == get(machine, 0x10, 3, "<u4")


def test_bypass_converts_and_its_namesake_on_raw_elements_does_not():
    machine = small()
    put(machine, 0, [PAYLOAD, (1 << 24) + 1], "<u4")
    operands = "src0=sbuf[0:0]:{0}:2 src1=sbuf[0:0]:{0}:2"
    execute(
        machine,
        f"tensor_tensor channels=1 op=bypass {operands.format('fp32')} dst=sbuf[0:0x10]:fp32:2\n"
        f"tensor_tensor channels=1 op=bypass {operands.format('int32')} dst=sbuf[0:0x20]:int32:2\n"
        f"tensor_tensor_bitvec channels=1 op=bypass {operands.format('int32')}"
        " dst=sbuf[0:0x30]:int32:2",
    )
    assert get(machine, 0x10, 1, "<u4") == [NAN]
    assert get(machine, 0x20, 2, "<u4")[1] == 1 << 24
    assert get(machine, 0x30, 2, "<u4") == [PAYLOAD, (1 << 24) + 1]


def test_types_are_mixed_freely():
    """-3 * 2.5 = -7.5, from INT8 and FP8_EXP5 to anything."""
    machine = small()
    put(machine, 0, [-3], "i1")
    put(machine, 1, [0x41], "u1")  # 2.5 = 1.25 * 2^1
    wanted = {
        "fp32": ("<u4", 0xC0F0_0000),
        "fp32r": ("<u4", 0xC0F0_0000),
        "bf16": ("<u2", 0xC0F0),
        "fp16": ("<u2", 0xC780),
        "fp8_exp3": ("u1", 0xDE),  # 1.875 * 2^2
        "fp8_exp4": ("u1", 0xCF),
        "fp8_exp5": ("u1", 0xC8),  # 7 and 8 are equally near, and the code of 8 is even
        "int8": ("i1", -7),
        "uint8": ("u1", 0),
        "int16": ("<i2", -7),
        "uint32": ("<u4", 0),
        "int32": ("<i4", -7),
    }
    for name, (dtype, value) in wanted.items():
        execute(
            machine,
            "tensor_tensor channels=1 op=mult src0=sbuf[0:0]:int8:1 src1=sbuf[0:1]:fp8_exp5:1"
            f" dst=sbuf[0:0x10]:{name}:1",
        )
        assert get(machine, 0x10, 1, dtype) == [value], name


def test_control_values_reach_sources_and_results():
    machine = small()
    put(machine, 0, [SUBNORMAL, 0x40B0_0000], "<u4")  # 5.5
    text = (
        "tensor_tensor channels=1 op=bypass src0=sbuf[0:0]:fp32:2 src1=sbuf[0:0]:fp32:2"
        " dst=sbuf[0:0x10]:fp32:2\n"
        "tensor_tensor channels=1 op=bypass src0=sbuf[0:0]:fp32:2 src1=sbuf[0:0]:fp32:2"
        " dst=sbuf[0:0x20]:int8:2"
    )
    execute(machine, text)
    assert get(machine, 0x10, 1, "<u4") == [SUBNORMAL]
    assert get(machine, 0x20, 2, "i1") == [0, 5]
    control = Control(flush_to_zero=True, integer_rounding=IntegerRounding.NEAREST_EVEN)
    machine.control[:] = control.words
    execute(machine, text)
    assert get(machine, 0x10, 1, "<u4") == [0x8000_0000]
    assert get(machine, 0x20, 2, "i1") == [0, 6]


def test_control_values_reach_the_batch_norm_instructions():
    machine = small()
    put(machine, 0, [60_000, 60_000], "<f4")  # d_beta 120,000 is beyond FP16
    text = (
        "grad_accumulate channels=1 src0=sbuf[0:0x20]:fp32:2 src1=sbuf[0:0]:fp32:2"
        " dst=sbuf[0:0x40]:fp16:3 imm0=sbuf[0:0x20] imm1=sbuf[0:0x20] imm_dtype=fp32"
    )
    execute(machine, text)
    assert get(machine, 0x40, 1, "<u2") == [0x7C00]
    machine.control[:] = Control(sis=True).words
    execute(machine, text)
    assert get(machine, 0x40, 1, "<u2") == [0x7BFF]


def test_a_control_value_that_is_none_is_named():
    machine = small()
    machine.control[0] = 5
    before = machine.sbuf.copy()
    with pytest.raises(ValueError, match="emax_e4m3 is 7 or 8, got 5"):
        machine.execute(
            assemble(
                "tensor_tensor channels=1 op=add src0=sbuf[0:0]:fp32:1 src1=sbuf[0:0]:fp32:1"
                " dst=sbuf[0:4]:fp32:1"
            )
        )
    np.testing.assert_array_equal(machine.sbuf, before)


# --- sunda's bf16 opcodes


def test_bf16_opcodes_compute_as_the_general_one():
    general, special = (small(generation=Generation.SUNDA) for _ in range(2))
    words = np.random.default_rng(6).integers(0, 1 << 16, 16, np.uint16)
    for operator, name in (("add", "add"), ("mult", "mult"), ("subtract", "sub")):
        for out in ("fp32", "bf16", "fp8_exp4", "int16"):
            for machine, mnemonic in (
                (general, f"tensor_tensor op={operator}"),
                (special, f"tensor_tensor_{name}_bf16"),
            ):
                put(machine, 0, words, "<u2")
                execute(
                    machine,
                    f"{mnemonic} channels=1 src0=sbuf[0:0]:bf16:2x2x2@1,2,4"
                    f" src1=sbuf[0:16]:bf16:4x1x2@1,0,4 dst=sbuf[0:0x40]:{out}:8",
                )
            np.testing.assert_array_equal(special.sbuf, general.sbuf)
    assert special.sbuf[0, 0x40:].any()
