"""Text form: any record survives, the grammar is as documented, errors say where and what."""

import re
from pathlib import Path

import pytest
from dve_golden.frontend.legality import validate
from dve_golden.isa.codec import decode, encode, walk
from dve_golden.isa.enums import Dtype, Opcode, UpdateMode, WaitMode
from dve_golden.isa.generations import Generation
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_golden.isa.syntax import KEYS
from dve_golden.isa.text import (
    AssemblyError,
    assemble,
    disassemble,
    format_instruction,
    statements,
)
from hypothesis import given, settings
from hypothesis import strategies as st

MANUAL = Path(__file__).parents[3] / "docs" / "assembly.md"

records_of_the_engine = st.builds(
    lambda opcode, rest: bytes([opcode]) + rest,
    st.sampled_from(list(Opcode)),
    st.binary(min_size=63, max_size=63),
)


@settings(derandomize=True)
@given(
    records_of_the_engine | st.binary(min_size=64, max_size=64), st.sampled_from(list(Generation))
)
def test_any_record_survives(record, generation):
    assert assemble(format_instruction(record, generation), generation) == record


@settings(derandomize=True)
@given(records_of_the_engine)
def test_fields_survive_the_codec(record):
    opcode, fields = decode(record)
    assert opcode == record[0]
    assert encode(opcode, fields) == record


@settings(derandomize=True, max_examples=25)
@given(st.lists(records_of_the_engine | st.binary(min_size=64, max_size=64), max_size=4))
def test_any_program_survives(records):
    program = b"".join(records)
    text = disassemble(program)
    assert text.count("\n") == len(records)
    assert assemble(text) == program


@pytest.mark.parametrize("opcode", Opcode)
def test_every_field_belongs_to_one_key(opcode):
    owned = [field for key in KEYS[opcode].values() for field in key.owned()]
    fields = [name for name, _, _ in walk(STRUCT_OF_OPCODE[opcode]) if name != "header.opcode"]
    assert sorted(owned) == sorted(fields)


def test_a_line_by_hand():
    text = (
        "grad_accumulate2 channels=16 src0=sbuf[0:0x40]:bf16:3x5 src1=psum[32:16]:fp32:15@-1"
        " dst=r5:fp32:3@2 imm0=sbuf[64:0x100] imm1=r63 imm_dtype=fp16"
        " wait=sem_ge_imm:7 update=sem_inc_complete:9 value=12 debug_cmd=3"
    )
    expected = bytes.fromhex(
        "94100300 05071309 0c000000"
        "00010001"  # imm0: partition 64 is 64 * 0x40000
        "40000000 0100 0300 0100 0300 0500 0100"  # contiguous steps 1, 3
        "10001002 ffff 0100 0100 0f00 0100 0100"  # partition 32 of PSUM is 32 * 0x8000
        "05000080 0200 0300"
        "3f000000 a6 a7 21 10"
    )
    assert assemble(text) == expected
    canonical = text.replace("psum[32:16]", "psum[32:0x10]")
    assert format_instruction(expected) == canonical


@pytest.mark.parametrize(
    ("written", "bits"),
    [
        ("3", 0x40400000),
        ("3.0", 0x40400000),
        ("-0.0", 0x80000000),
        ("1e-45", 0x00000001),
        (".5", 0x3F000000),
        ("0x7fc00001", 0x7FC00001),
        ("3.4028234663852886e+38", 0x7F7FFFFF),
    ],
)
def test_binary32(written, bits):
    record = assemble(f"param_load channels=1 src=r1:fp32:3 imm0=r2 imm1={written}")
    assert int.from_bytes(record[28:32], "little") == bits
    assert assemble(format_instruction(record)) == record


@pytest.mark.parametrize(
    ("written", "word", "selector"),
    [
        ("sbuf[1:0x8]", 0x40008, 1),
        ("sbuf[1:0x8]@0", 0x40008, 0),
        ("r7", 7, 2),
        ("0x00000107@2", 0x107, 2),
        ("0xffffffff@255", 0xFFFFFFFF, 255),
    ],
)
def test_pointers(written, word, selector):
    record = assemble(f"param_load channels=1 src=r1:fp32:3 imm0={written} imm1=1.0")
    assert int.from_bytes(record[44:48], "little") == word
    assert record[48] == selector
    assert f" imm0={written} " in format_instruction(record)


@pytest.mark.parametrize(
    ("written", "steps", "counts"),
    [
        ("7", (1, 1, 1), (7, 1, 1)),
        ("2x3", (1, 2, 1), (2, 3, 1)),
        ("2x3x4", (1, 2, 6), (2, 3, 4)),
        ("2x3x4@1,0,-6", (1, 0, -6), (2, 3, 4)),
        ("1x1x4", (1, 1, 1), (1, 1, 4)),
        ("0x5", (1, 0, 1), (0, 5, 1)),  # two counts, not a hexadecimal number
    ],
)
def test_walks(written, steps, counts):
    record = assemble(f"back_prop channels=1 src0=r0:fp32:{written} src1=r1:fp32:1 dst=r2:fp32:1")
    fields = decode(record)[1]
    assert fields["src0.step_elem"] == steps
    assert fields["src0.num_elem"] == counts
    assert f":fp32:{written} " in format_instruction(record)


TENSORS = "channels=2 src0=r0:fp32:3 src1=r1:fp32:3 dst=r2:fp32:3"


@pytest.mark.parametrize(
    ("mnemonic", "written", "opcode", "op"),
    [
        ("tensor_tensor", " op=mult", 0x41, 0x06),
        ("tensor_tensor", " op=bypass", 0x41, 0x00),
        ("tensor_tensor", " op=is_equal_int", 0x41, 0xC9),
        ("tensor_tensor", " op=0x1f", 0x41, 0x1F),
        ("tensor_tensor_bitvec", " op=arith_shift_right", 0x51, 0x03),
        # where the opcode says it all, the operator may be left out, and then it is what it must be
        ("back_prop", "", 0x65, 0x00),
        ("copy_predicated", "", 0x72, 0x00),
        ("cast_predicated", " op=add", 0x99, 0x04),
        ("tensor_tensor_add_bf16", "", 0x8A, 0x04),
        ("tensor_tensor_mult_bf16", "", 0x8B, 0x06),
        ("tensor_tensor_sub_bf16", "", 0x8F, 0x05),
        ("tensor_tensor_sub_bf16", " op=bypass", 0x8F, 0x00),
    ],
)
def test_operators(mnemonic, written, opcode, op):
    channels, walks = TENSORS.split(" ", 1)
    text = f"{mnemonic} {channels}{written} {walks}"
    record = assemble(text)
    assert (record[0], record[14]) == (opcode, op)
    assert format_instruction(record) == text


def test_statistics():
    text = (
        "stats2 channels=128 src=sbuf[0:0x40]:bf16:4x2x8x8@1,4,8,64 dst=r3:fp32:3x2@1,3"
        " even_count=256.0 odd_count=0x7fc00000"
    )
    expected = bytes.fromhex(
        "61100000 00000000 00000000"
        "40000000 0100 0400 0800 4000 0400 0200 0800 0800"
        "06 0a 80 0000000000 00008043 0000c07f"
        "03000080 0100 0300 0300 0200 00000000"
    )
    assert assemble(text) == expected
    assert format_instruction(expected) == text.replace("@1,4,8,64", "").replace("@1,3", "")


@pytest.mark.parametrize(
    ("written", "opcode", "even", "odd"),
    [
        ("stats {} even_count=3.0", 0x60, 0x40400000, 0),
        ("stats {} even_count=0.0 odd_count=-0.0", 0x60, 0, 0x80000000),
        ("aggregate {}", 0x62, 0, 0),
        ("aggregate {} odd_count=1.0", 0x62, 0, 0x3F800000),
        ("transpose_stats2 {} even_count=0.0 odd_count=0.0", 0x82, 0, 0),
    ],
)
def test_counts_that_are_not_used_may_be_left_out(written, opcode, even, odd):
    text = written.format("channels=1 src=r0:fp32:3 dst=r1:fp32:2")
    record = assemble(text)
    assert record[0] == opcode
    assert [int.from_bytes(record[at : at + 4], "little") for at in (40, 44)] == [even, odd]
    assert format_instruction(record) == text
    with pytest.raises(AssemblyError, match="stats2 also needs even_count, odd_count"):
        assemble("stats2 channels=1 src=r0:fp32:3 dst=r1:fp32:2")


def test_an_operator_is_needed_where_there_is_a_choice():
    with pytest.raises(AssemblyError, match="tensor_tensor also needs op"):
        assemble(f"tensor_tensor {TENSORS}")
    with pytest.raises(AssemblyError, match="expected an operator, found 'multiply'"):
        assemble(f"tensor_tensor op=multiply {TENSORS}")


def test_comments_blank_lines_and_continuations():
    text = (
        "# a program\n\n"
        "   load_parameter_ram addr=r1:fp32 \\  # goes on\n"
        "\tfirst_entry=0x1 entry_count=255\t# the reciprocals\r\n"
        "  # end"
    )
    (statement,) = statements(text)
    assert statement.line == 3
    _, fields = decode(statement.record)
    assert fields["addr"] == 0x80000001
    assert (fields["first_entry"], fields["entry_count"], fields["dtype"]) == (1, 255, Dtype.FP32)


def test_raw_records():
    record = bytes([0x42, *range(63)])
    assert format_instruction(record) == f".record {record.hex()}"
    known = bytes([0x65]) + bytes(63)
    assert assemble(f".record {known.hex()}  # also for an opcode that has a mnemonic") == known


def test_sequencer_records():
    text = (
        "event_semaphore wait=sem_ge_imm:7 update=sem_sub_imm_complete:8"
        " wait_value=4294967295 update_value=2"
    )
    expected = bytes.fromhex("a0100000 05071708 ffffffff 02000000") + bytes(48)
    assert assemble(text) == expected
    assert format_instruction(expected) == text
    text = "nop wait=evt_set_then_clear:3 update=sem_inc_read:4 value=9 debug_hint=1"
    expected = bytes.fromhex("a4100001 07030304 09000000") + bytes(52)
    assert assemble(text) == expected
    assert format_instruction(expected) == text
    assert assemble("event_semaphore\nnop") == b"".join(
        bytes([opcode, 16]) + bytes(62) for opcode in (0xA0, 0xA4)
    )


PREFIX = "back_prop channels=1 src0="


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("\n  backprop x=1", 2, 3, "expected an instruction, found 'backprop'; did you mean"),
        ("back_prop chanels=1", 1, 11, "did you mean 'channels'?"),
        ("back_prop src=1", 1, 11, "expected a key of back_prop, found 'src'"),
        ("back_prop channels=1", 1, 1, "also needs src0, src1, dst"),
        ("back_prop channels=1 channels=2", 1, 22, "channels is given twice"),
        ("back_prop channels 1", 1, 19, "expected '=' after channels"),
        ("back_prop channels=256", 1, 20, "expected channels, 0 to 255, found 256"),
        ("back_prop channels=1,", 1, 21, "expected a blank after the value, found ','"),
        (PREFIX + "sbuf[128:0]", 1, 32, "expected a partition, 0 to 127, found 128"),
        (PREFIX + "sbuf[0:0x40000]", 1, 34, "expected a byte of the partition"),
        (PREFIX + "psum[0:0x8000]", 1, 34, "0 to 32767, found 0x8000"),
        (PREFIX + "dram[0:0]", 1, 27, "expected an address such as sbuf[0:0x40]"),
        (PREFIX + "r64:fp32:1", 1, 28, "expected a register number, 0 to 63, found 64"),
        (PREFIX + "r1:fp23:1", 1, 30, "expected an element type, found 'fp23'; did you mean"),
        (PREFIX + "r1:16:1", 1, 30, "expected an element type by code, 0 to 15, found 16"),
        (PREFIX + "r1:fp32", 1, 34, "expected ':' and the counts, found the end of the line"),
        (PREFIX + "r1:fp32:1x2x3x4", 1, 35, "expected at most 3 counts in src0"),
        (PREFIX + "r1:fp32:2x2@1", 1, 40, "one step for each of 2 counts"),
        (PREFIX + "r1:fp32:2@32768", 1, 37, "expected a step, -32768 to 32767, found 32768"),
        (PREFIX + "r1:fp32:182x182x2", 1, 44, "contiguous ones would exceed 32767"),
        ("back_prop wait=sem_ge:1", 1, 16, "expected a mode of wait, found 'sem_ge'"),
        ("back_prop wait=evt_set", 1, 23, "expected ':' and a semaphore or event number"),
        ("grad_accumulate imm0=r1", 1, 22, "expected an address"),
        ("param_load imm1=inf", 1, 17, "expected a number such as 2048.0"),
        ("param_load imm1=1e39", 1, 17, "beyond the range of fp32"),
        ("param_load reserved1=123", 1, 22, "expected 2 hexadecimal digits"),
        (".record 0123", 1, 9, "expected 128 hexadecimal digits, found '0123'"),
        ("event_semaphore value=1", 1, 17, "expected a key of event_semaphore, found 'value'"),
        ("nop wait_value=1", 1, 5, "expected a key of nop, found 'wait_value'"),
        ("nop value=4294967296", 1, 11, "expected value, 0 to 4294967295, found 4294967296"),
        (f".record {'0' * 128} x", 1, 138, "expected the end of the line"),
    ],
)
def test_errors_say_where_and_what(text, line, column, message):
    with pytest.raises(AssemblyError, match=re.escape(message)) as caught:
        assemble(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")


def test_a_place_has_the_address_of_its_generation():
    text = "load_parameter_ram addr=sbuf[32:0x40]:fp32 first_entry=0 entry_count=1"
    addresses = {g: decode(assemble(text, g))[1]["addr"] for g in Generation}
    assert addresses.pop(Generation.MAVERICK) == 0x200_0040
    assert set(addresses.values()) == {0x80_0040}
    for generation in Generation:
        assert disassemble(assemble(text, generation), generation) == f"{text}\n"
    with pytest.raises(AssemblyError, match="column 25: maverick has no PSUM"):
        assemble(text.replace("sbuf", "psum"), Generation.MAVERICK)
    assert assemble(text.replace("0x40", "0x7ffff"), Generation.MAVERICK)
    with pytest.raises(AssemblyError, match="a byte of the partition, 0 to 262143"):
        assemble(text.replace("0x40", "0x7ffff"), Generation.MARIANA)


def test_disassemble_refuses_a_broken_record():
    with pytest.raises(ValueError, match="last whole one ends at byte 128"):
        disassemble(bytes(130))
    with pytest.raises(ValueError, match="64 bytes long, got 63"):
        format_instruction(bytes(63))


def test_the_program_of_the_manual_assembles_and_is_legal():
    blocks = re.findall(r"```asm\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    program = assemble(blocks[0])
    records = [program[at : at + 64] for at in range(0, len(program), 64)]
    assert [record[0] for record in records] == [0x94, 0x8E, 0x65]
    assert all(validate(record).legal for record in records)
    for block in blocks[1:]:
        assert assemble(disassemble(assemble(block))) == assemble(block)


def test_the_manual_names_every_word():
    manual = MANUAL.read_text(encoding="utf-8")
    words = {name for keys in KEYS.values() for name in keys}
    words |= {code.name.lower() for codes in (Dtype, WaitMode, UpdateMode) for code in codes}
    missing = [word for word in sorted(words) if f"`{word}`" not in manual]
    assert missing == []
