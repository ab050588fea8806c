"""Names of what an instruction exercises."""

import numpy as np
import pytest
from dve_cosim.coverage import features
from dve_golden.isa.text import assemble
from dve_golden.memory.address import Geometry

REGISTERS = np.zeros(64, np.uint32)
REGISTERS[5] = 0x80_0040  # partition 32
REGISTERS[6] = 0x200_0000  # PSUM

QUIET = {"wait NONE", "update NONE"}
COMMON = QUIET | {"BATCH_NORM_BACK_PROP", "source in SBUF", "destination in SBUF"}
COMMON |= {"source FP32", "destination FP32", "source in quadrant 0", "source from the first byte"}
APART = {"src0 apart", "src1 apart"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "back_prop channels=4 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[32:0x80]:fp32:4 wait=sem_ge_imm:1 update=evt_set_read:7",
            COMMON - QUIET
            | {"wait SEM_GE_IMM", "update EVT_SET_READ", "channels 4", *APART}
            | {"destination in quadrant 1", "result in another quadrant"},
        ),
        (
            "back_prop channels=128 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[0:0x0]:fp32:4",
            COMMON
            | {"channels 128", "destination in quadrant 0", "destination from the first byte"}
            | {"src0 in place", "src1 apart"},
        ),
        (
            "back_prop channels=1 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[0:0x4]:fp32:4",
            COMMON | {"channels 1", "destination in quadrant 0", "src0 feeds", "src1 apart"},
        ),
        (
            "back_prop channels=0 src0=sbuf[0:0x0]:fp32:4 src1=sbuf[0:0x40]:fp32:4"
            " dst=sbuf[0:0x4]:fp32:4",
            set(),
        ),
        (
            "param_load channels=2 src=r5:bf16:1x3@1,-8 imm0=r6 imm1=256.0",
            QUIET
            | {
                "BATCH_NORM_PARAM_LOAD",
                "channels 2",
                "source BF16",
                "source in SBUF",
                "source in quadrant 1",
                "source with a negative step",
                "source address in a register",
                "immediate FP32",
                "immediate in PSUM",
                "selector REGISTER",
                "pointer in a register",
            },
        ),
        (
            "back_prop channels=4 src0=psum[64:0x0]:int32:1 src1=sbuf[0:0x40]:fp16:1"
            " dst=psum[0:0x3ffc]:fp32r:1@-32768",
            QUIET
            | APART
            | {
                "BATCH_NORM_BACK_PROP",
                "channels 4",
                "source INT32",
                "source FP16",
                "source in PSUM",
                "source in SBUF",
                "source in quadrant 2",
                "source in quadrant 0",
                "source of one element",
                "source from the first byte",
                "sources in two quadrants",
                "result in another quadrant",
                "destination FP32R",
                "destination in PSUM",
                "destination in quadrant 0",
                "destination of one element",
                "destination to the last byte",
                "destination with an extreme step of one element",
            },
        ),
        (
            "back_prop channels=4 src0=sbuf[0:0x0]:fp32:65535@0 src1=sbuf[0:0x40]:fp32:65535@0"
            " dst=sbuf[0:0x80]:fp32:65535@0",
            COMMON
            | APART
            | {"channels 4", "destination in quadrant 0"}
            | {"source with a step of zero", "source with a count of 65535"}
            | {"destination with a step of zero", "destination with a count of 65535"},
        ),
        (
            "param_load2 channels=1 src=sbuf[96:0xfffc]:fp16:2 imm0=sbuf[0:0x0]@0"
            " imm1=psum[0:0x2] imm_dtype=bf16 element_count=1.0",
            QUIET
            | {
                "BATCH_NORM_PARAM_LOAD2",
                "channels 1",
                "source FP16",
                "source in SBUF",
                "source in quadrant 3",
                "source to the last byte",
                "immediate BF16",
                "immediate in SBUF",
                "immediate in PSUM",
                "selector INSTRUCTION",
                "selector POINTER",
            },
        ),
        (
            "load_parameter_ram addr=psum[0:0x0]:fp32 first_entry=1 entry_count=2",
            QUIET
            | {"LOAD_PARAMETER_RAM", "source FP32", "source in PSUM", "source in quadrant 0"}
            | {"source from the first byte"},
        ),
        (
            "stats2 channels=4 src=sbuf[0:0x0]:int8:2x2 dst=sbuf[0:0x0]:bf16:6@-0"
            " even_count=1.0 odd_count=2.0",
            QUIET
            | {"BATCH_NORM_STATS2", "channels 4", "src overlaps"}
            | {"source INT8", "source in SBUF", "source in quadrant 0"}
            | {"source from the first byte"}
            | {"destination BF16", "destination in SBUF", "destination in quadrant 0"}
            | {"destination with a step of zero", "destination from the first byte"},
        ),
        ("nop", QUIET | {"NOP"}),
    ],
    ids=[
        "disjoint",
        "in place",
        "overlapping",
        "illegal",
        "registers and a negative step",
        "psum",
        "a step of zero, 65535 times",
        "selectors",
        "no channels",
        "one source",
        "no operands",
    ],
)
def test_features(line, expected):
    found = list(features(assemble(line + "\n"), REGISTERS, Geometry()))
    assert set(found) == expected
