"""Where every field lies, against the byte tables of the specification copied by hand."""

from typing import Any

import numpy as np
import pytest
from dve_golden.isa.codec import decode_fields, encode_fields, numpy_dtype, walk
from dve_golden.isa.enums import RECORD_BYTES
from dve_golden.isa.structs import (
    LOAD_PRAM,
    S2_BN,
    S2_BNPL2,
    S3S3D1_BN,
    S3S3D1_BN2,
    S3S3D3_TT,
    STRUCTS,
)

HEADER_AND_MODES = {  # isa_common.md 1.2, 1.3
    "header.opcode": (0, 0),
    "header.inst_word_len": (1, 1),
    "header.debug_cmd": (2, 2),
    "header.debug_hint": (3, 3),
    "events.wait_mode": (4, 4),
    "events.wait_idx": (5, 5),
    "events.update_mode": (6, 6),
    "events.update_idx": (7, 7),
}
EVENTS = {"events.semaphore_value": (8, 11)}
EVENTS_EXTENDED = {"events.wait_value": (8, 11), "events.update_value": (12, 15)}


def tensor1d(name, at):
    return {
        f"{name}.start_addr": (at, at + 3),
        f"{name}.step_elem": (at + 4, at + 5),
        f"{name}.num_elem": (at + 6, at + 7),
    }


def tensor2d(name, at):
    return {
        f"{name}.start_addr": (at, at + 3),
        f"{name}.step_elem": (at + 4, at + 7),
        f"{name}.num_elem": (at + 8, at + 11),
    }


def tensor3d(name, at):
    return {
        f"{name}.start_addr": (at, at + 3),
        f"{name}.step_elem": (at + 4, at + 9),
        f"{name}.num_elem": (at + 10, at + 15),
    }


def tensor4d(name, at):
    return {
        f"{name}.start_addr": (at, at + 3),
        f"{name}.step_elem": (at + 4, at + 11),
        f"{name}.num_elem": (at + 12, at + 19),
    }


GRAD_ACCUMULATE_OPERANDS = {
    "imm0": (12, 15),
    **tensor3d("src0", 16),
    **tensor3d("src1", 32),
    **tensor1d("dst", 48),
    "imm1": (56, 59),
    "in0_in1_dtype.lo": (60, 60),
    "in0_in1_dtype.hi": (60, 60),
}

BYTES = {
    "S3S3D1_BN": {  # batchnorm.md 2
        **GRAD_ACCUMULATE_OPERANDS,
        "immediate_dtype": (61, 61),
        "out_dtype": (62, 62),
        "num_active_channels": (63, 63),
    },
    "S3S3D1_BN2": {  # batchnorm.md 3
        **GRAD_ACCUMULATE_OPERANDS,
        "immediate_out_dtype.lo": (61, 61),
        "immediate_out_dtype.hi": (61, 61),
        "imm0_imm1_src.lo": (62, 62),
        "imm0_imm1_src.hi": (62, 62),
        "num_active_channels": (63, 63),
    },
    "S2_BN": {  # batchnorm.md 4
        "reserved0": (12, 15),
        **tensor2d("src", 16),
        "imm1": (28, 31),
        "dtype": (32, 32),
        "reserved1": (33, 33),
        "num_active_channels": (34, 34),
        "reserved2": (35, 43),
        "imm0": (44, 47),
        "imm0_src": (48, 48),
        "reserved3": (49, 63),
    },
    "S2_BNPL2": {  # batchnorm.md 5
        **tensor2d("src", 12),
        "reserved0": (24, 27),
        "element_count": (28, 31),
        "src_dtype": (32, 32),
        "immediate_dtype": (33, 33),
        "num_active_channels": (34, 34),
        "reserved1": (35, 39),
        "imm0": (40, 43),
        "imm1": (44, 47),
        "imm0_src": (48, 48),
        "imm1_src": (49, 49),
        "reserved2": (50, 63),
    },
    "S4D2_BN": {  # batchnorm.md 10
        **tensor4d("src", 12),
        "in_dtype": (32, 32),
        "out_dtype": (33, 33),
        "num_active_channels": (34, 34),
        "reserved0": (35, 39),
        "even_count": (40, 43),
        "odd_count": (44, 47),
        **tensor2d("dst", 48),
        "reserved1": (60, 63),
    },
    "S3S3D3_TT": {  # isa_common.md 5.1
        "in0_in1_dtype.lo": (12, 12),
        "in0_in1_dtype.hi": (12, 12),
        "out_dtype": (13, 13),
        "op": (14, 14),
        "num_active_channels": (15, 15),
        **tensor3d("src0", 16),
        **tensor3d("src1", 32),
        **tensor3d("dst", 48),
    },
    "LOAD_PRAM": {  # batchnorm.md 7
        "addr": (12, 15),
        "first_entry": (16, 17),
        "entry_count": (18, 19),
        "dtype": (20, 20),
        "reserved0": (21, 63),
    },
    "EVENT_SEMAPHORE": {"reserved0": (16, 63)},
    "NOP": {"reserved0": (12, 63)},
}

named = pytest.mark.parametrize("record", STRUCTS, ids=lambda record: record.name)


@named
def test_offsets(record):
    found = {
        name: (offset // 8, (offset + leaf.bits - 1) // 8) for name, offset, leaf in walk(record)
    }
    events = EVENTS_EXTENDED if record.name == "EVENT_SEMAPHORE" else EVENTS
    assert found == {**HEADER_AND_MODES, **events, **BYTES[record.name]}


@named
def test_record_is_64_bytes(record):
    assert record.bits == 8 * RECORD_BYTES


@named
def test_numpy_dtype_lies_on_the_same_bytes(record):
    dtype = numpy_dtype(record)
    assert dtype.itemsize == RECORD_BYTES
    fields: Any = dtype.fields
    for name, (first, _) in BYTES[record.name].items():
        head, _, tail = name.partition(".")
        offset = fields[head][1]
        inner = fields[head][0].fields
        if inner is not None:
            offset += inner[tail][1]
        assert offset == first, name


def test_low_nibble_comes_first():
    data = encode_fields(S3S3D3_TT, {"in0_in1_dtype.lo": 0x3, "in0_in1_dtype.hi": 0x7})
    assert data[12] == 0x73  # isa_common.md 13.6
    data = encode_fields(S3S3D1_BN2, {"imm0_imm1_src.lo": 1, "imm0_imm1_src.hi": 2})
    assert data[62] == 0x21


def test_numbers_are_little_endian_and_steps_signed():
    data = encode_fields(
        S3S3D1_BN, {"src0.start_addr": 0x01800102, "src0.step_elem": (-2, 1, 0x1234)}
    )
    assert data[16:26] == bytes.fromhex("02018001 feff 0100 3412")
    assert decode_fields(S3S3D1_BN, data)["src0.step_elem"] == (-2, 1, 0x1234)


def test_numpy_view_reads_what_encode_wrote():
    data = encode_fields(
        S2_BN, {"imm1": 0x40400000, "src.step_elem": (-1, 1), "src.num_elem": (3, 1)}
    )
    view = np.frombuffer(data, numpy_dtype(S2_BN))[0]
    assert view["imm1"] == 3.0
    assert view["src"]["step_elem"].tolist() == [-1, 1]
    assert view["src"]["num_elem"].tolist() == [3, 1]


@pytest.mark.parametrize(
    ("record", "fields", "error", "message"),
    [
        (LOAD_PRAM, {"first": 0}, KeyError, "no field 'first'"),
        (LOAD_PRAM, {"first_entry": 1 << 16}, ValueError, "takes 0..65535, got 65536"),
        (S2_BN, {"src.step_elem": (0, -32769)}, ValueError, r"step_elem\[1\] takes -32768"),
        (S2_BNPL2, {"src.num_elem": (1, 2, 3)}, ValueError, "takes 2 values"),
        (S2_BNPL2, {"imm0": (1, 2)}, ValueError, "takes one integer"),
        (S2_BNPL2, {"reserved0": b"123"}, ValueError, "takes 4 values"),
    ],
)
def test_encode_refuses_what_does_not_fit(record, fields, error, message):
    with pytest.raises(error, match=message):
        encode_fields(record, fields)


def test_decode_refuses_other_lengths():
    with pytest.raises(ValueError, match="64 bytes long, got 63"):
        decode_fields(S2_BN, bytes(63))
