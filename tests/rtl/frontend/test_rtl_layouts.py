"""Hardware layouts agree with the codec of the instruction set, bit by bit."""

import random

import pytest
from amaranth.hdl import Shape
from amaranth.lib import data
from dve_golden.isa.codec import decode_fields, encode_fields, walk
from dve_golden.isa.structs import S2_BN, S3S3D1_BN2, STRUCTS
from dve_golden.isa.types import Array, Scalar
from dve_rtl.frontend.layouts import layout_of


def leaves(layout, prefix="", offset=0):
    """Every scalar of a layout: name -> (offset, width, signed)."""
    found = {}
    for key, member in layout:
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(member.shape, data.Layout):
            found |= leaves(member.shape, name, offset + member.offset)
        else:
            shape = Shape.cast(member.shape)
            found[name] = (offset + member.offset, shape.width, shape.signed)
    return found


def expected_leaves(record):
    found = {}
    for name, offset, leaf in walk(record):
        if isinstance(leaf, Scalar):
            found[name] = (offset, leaf.bits, leaf.signed)
            continue
        assert isinstance(leaf, Array)
        if leaf.element.kind == "reserved":
            found[name] = (offset, leaf.bits, False)
        else:
            for index in range(leaf.length):
                bits = leaf.element.bits
                found[f"{name}.{index}"] = (offset + bits * index, bits, leaf.element.signed)
    return found


@pytest.mark.parametrize("record", STRUCTS, ids=lambda record: record.name)
def test_same_offsets_and_signs(record):
    layout = layout_of(record)
    assert Shape.cast(layout).width == 512
    assert leaves(layout) == expected_leaves(record)


def value_of(view, name):
    for key in name.split("."):
        view = view[int(key) if key.isdecimal() else key]
    return view


@pytest.mark.parametrize("record", STRUCTS, ids=lambda record: record.name)
def test_reads_what_the_codec_writes(record):
    rng = random.Random(record.name)
    for _ in range(20):
        fields = decode_fields(record, rng.randbytes(64))
        word = int.from_bytes(encode_fields(record, fields), "little")
        view = layout_of(record).from_bits(word)
        for name, value in fields.items():
            if isinstance(value, bytes):
                assert value_of(view, name) == int.from_bytes(value, "little"), name
            elif isinstance(value, tuple):
                assert tuple(value_of(view, name)[i] for i in range(len(value))) == value, name
            else:
                assert value_of(view, name) == value, name


@pytest.mark.parametrize(
    ("record", "name", "byte"),
    [
        (S3S3D1_BN2, "src1.num_elem.2", 46),
        (S3S3D1_BN2, "dst.step_elem.0", 52),
        (S3S3D1_BN2, "imm1", 56),
        (S2_BN, "reserved2", 35),
        (S2_BN, "imm0", 44),
    ],
)
def test_offsets_of_the_specification(record, name, byte):
    assert leaves(layout_of(record))[name][0] == 8 * byte
