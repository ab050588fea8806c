"""Names of what an instruction exercises."""

import numpy as np
import pytest
from dve_cosim.coverage import features
from dve_golden.isa.text import assemble
from dve_golden.memory.address import Geometry

REGISTERS = np.zeros(64, np.uint32)
REGISTERS[5] = 0x80_0040  # partition 32

COMMON = {"BATCH_NORM_BACK_PROP", "source in SBUF", "destination in SBUF", "source in quadrant 0"}
COMMON |= {"source FP32", "destination FP32"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "back_prop channels=4 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[32:0x80]:fp32:4",
            COMMON | {"channels 4", "destination in quadrant 1"},
        ),
        (
            "back_prop channels=128 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[0:0x0]:fp32:4",
            COMMON | {"channels 128", "destination in quadrant 0", "in place"},
        ),
        (
            "back_prop channels=1 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[0:0x4]:fp32:4",
            COMMON | {"channels 1", "destination in quadrant 0", "destination overlaps a source"},
        ),
        (
            "back_prop channels=0 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[0:0x4]:fp32:4",
            set(),
        ),
        (
            "param_load channels=2 src=r5:bf16:1x3@1,-8 imm0=r6 imm1=256.0",
            {
                "BATCH_NORM_PARAM_LOAD",
                "channels 2",
                "source BF16",
                "source in SBUF",
                "source in quadrant 1",
                "source with a negative step",
                "source address in a register",
                "pointer in a register",
            },
        ),
        (
            "back_prop channels=4 src0=psum[64:0x0]:int32:1 src1=sbuf[0:0x40]:fp16:1"
            " dst=psum[0:0x0]:fp32r:1",
            {
                "BATCH_NORM_BACK_PROP",
                "channels 4",
                "source INT32",
                "source FP16",
                "source in PSUM",
                "source in SBUF",
                "source in quadrant 2",
                "source in quadrant 0",
                "source of one element",
                "destination FP32R",
                "destination in PSUM",
                "destination in quadrant 0",
                "destination of one element",
            },
        ),
        (
            "back_prop channels=4 src0=sbuf[0:0x0]:fp32:4@0 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[0:0x80]:fp32:4",
            COMMON | {"channels 4", "destination in quadrant 0", "source with a step of zero"},
        ),
        (
            "load_parameter_ram addr=sbuf[0:0x0]:fp32 first_entry=1 entry_count=2",
            {"LOAD_PARAMETER_RAM"},
        ),
    ],
    ids=[
        "disjoint",
        "in place",
        "overlapping",
        "illegal",
        "registers and a negative step",
        "psum",
        "a step of zero",
        "no channels",
    ],
)
def test_features(line, expected):
    found = list(features(assemble(line + "\n"), REGISTERS, Geometry()))
    assert set(found) == expected
