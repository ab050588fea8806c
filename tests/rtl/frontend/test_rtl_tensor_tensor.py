"""The vectors of isa_common.md 13, byte by byte as printed there, on every generation."""

import pytest
from dve_golden.isa.generations import Generation
from frontend_bench import validate, whole

ADD_FP32 = bytes.fromhex(
    """
    41 10 00 00  00 00 00 00  00 00 00 00  AA 0A 04 80
    00 00 00 00  01 00 01 00  01 00 00 02  01 00 01 00
    00 08 00 00  01 00 01 00  01 00 00 02  01 00 01 00
    00 10 00 00  01 00 01 00  01 00 00 02  01 00 01 00
    """
)
SOURCES, OUT, OP, CHANNELS, SRC0, SRC1, DST = 12, 13, 14, 15, 16, 32, 48
"""Offsets of isa_common.md 5.1; of a pattern, that of its address."""


def vector(opcode=0x41, **bytes_at):
    """13.1 with another opcode and other bytes, or other address words."""
    record = bytearray(ADD_FP32)
    record[0] = opcode
    for name, value in bytes_at.items():
        at = {"sources": SOURCES, "out": OUT, "op": OP, "channels": CHANNELS}.get(name)
        if at is None:
            at = {"src0": SRC0, "src1": SRC1, "dst": DST}[name]
            record[at : at + 4] = value.to_bytes(4, "little")
        else:
            record[at] = value
    return bytes(record)


# On maverick the address of PSUM is partition 32 of SBUF, where 128 channels do not fit, and
# 0x00800000 is partition 8 (isa_common.md 3.2).
VECTORS = [  # name, record, reason on sunda, cayman and mariana, reason on maverick
    ("13.1", vector(), 0, 0),
    ("13.2", vector(op=0xC4, sources=0x88, out=0x08), 6, 6),
    ("13.3 partition 33", vector(src1=0x0084_0000), 9, 9),
    ("13.3 other quadrant", vector(src1=0x0080_0000, channels=0x20), 12, 9),
    ("13.4 both psum", vector(src0=0x0200_0000, src1=0x0200_0800), 12, 9),
    ("13.4 psum and sbuf", vector(src0=0x0200_0000), 0, 9),
    ("13.5 bf16 into psum", vector(dst=0x0200_0000, out=0x06), 8, 9),
    ("13.5 fp32 into psum", vector(dst=0x0200_0000, out=0x0A), 0, 9),
    ("13.5 fp32r into psum", vector(dst=0x0200_0000, out=0x0B), 0, 9),
    ("13.6 cast", vector(0x99, sources=0x73, out=0x06, op=0x00), 0, 0),
    ("13.6 cast, op 04", vector(0x99, sources=0x73, out=0x06, op=0x04), 6, 6),
    ("13.6 copy of other types", vector(0x72, sources=0x73, out=0x06, op=0x00), 5, 5),
    ("13.6 copy of one type", vector(0x72, sources=0x73, out=0x07, op=0x00), 0, 0),
    ("13.7 fp32r", vector(0x65, out=0x0B, op=0x00), 0, 0),
    ("13.7 int64", vector(0x65, out=0x0C, op=0x00), 5, 5),
    ("13.7 fp32r source", vector(0x65, sources=0xAB, op=0x00), 5, 5),
    ("13.8", vector(0x51, op=0x0A, sources=0x55, out=0x05), 0, 0),
    ("13.8 identity", vector(0x51, op=0x0A, sources=0x55, out=0x04), 5, 5),
    ("13.8 floats", vector(0x51, op=0x0A, sources=0xAA, out=0x0A), 5, 5),
]


@pytest.mark.parametrize("generation", Generation)
def test_vectors(generation):
    result = validate([record for _, record, *_ in VECTORS], config=whole(generation))
    expected = {name: reasons[generation is Generation.MAVERICK] for name, _, *reasons in VECTORS}
    found = {
        name: operation.reason
        for (name, *_), operation in zip(VECTORS, result.operations, strict=True)
    }
    assert found == expected
