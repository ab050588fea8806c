"""What a generation changes in the validator: by hand from isa_common.md 3.1, 3.2; random ones."""

from itertools import islice

import numpy as np
import pytest
from dve_cosim.generator import ProgramGenerator
from dve_cosim.mutants import mutants
from dve_cosim.reference import geometry_of
from dve_golden.isa.generations import Generation
from dve_golden.isa.text import split_records
from dve_rtl.config import EngineConfig
from frontend_bench import BF16, BP, PL, agreed_reasons, record, validate, whole

REGISTERS = {5: 0x400, 6: 0x600_0000}


def load(address, channels=32):
    """A ParamLoad of three fp32 elements, 12 bytes in a row."""
    return record(PL, src__start_addr=address, num_active_channels=channels)


CASES = [  # record, reasons on sunda, cayman, mariana, maverick
    (load(0x2FFF4), (0, 0, 0, 0)),
    (load(0x2FFF8), (14, 0, 0, 0)),  # its last element begins at 192 KiB
    (load(0x30000), (9, 0, 0, 0)),
    (load(0x37FF8), (9, 14, 0, 0)),
    (load(0x38000), (9, 9, 0, 0)),
    (load(0x3FFF4), (9, 9, 0, 0)),
    (load(0x3FFF8), (9, 9, 14, 0)),
    (load(0x40000), (9, 9, 9, 0)),  # partition 1, or the middle of partition 0
    (load(0x7FFF4), (9, 9, 9, 0)),
    (load(0x7FFF8), (9, 9, 9, 14)),
    (load(0x80000), (9, 9, 9, 9)),
    (load(0xFFFFC), (9, 9, 9, 9)),
    (load(0x80_0000), (0, 0, 0, 9)),  # partition 32, or 8
    (load(0x100_0000), (0, 0, 0, 9)),  # partition 64, or 16
    (load(0x200_0000), (0, 0, 0, 0)),  # PSUM, or partition 32 of SBUF
    (load(0x200_0000, channels=128), (0, 0, 0, 9)),
    (load(0x200_3FF8), (14, 14, 14, 0)),
    (load(0x200_4000), (9, 9, 9, 0)),
    (load(0x210_0000), (0, 0, 0, 9)),  # quadrant 1 of PSUM, or partition 33
    (load(0x240_0000), (8, 8, 8, 9)),
    (load(0x400_0000, channels=64), (8, 8, 8, 0)),
    (load(0x600_0000), (8, 8, 8, 0)),
    (load(0x7FF_FFFC), (8, 8, 8, 9)),
    (load(0x800_0000), (8, 8, 8, 8)),
    (load(0x8000_0005), (0, 0, 0, 0)),
    (load(0x8100_0005), (13, 0, 0, 0)),
    (load(0x9000_0005), (13, 0, 0, 0)),
    (load(0x8000_0006), (8, 8, 8, 0)),
    (load(0xA000_0005), (13, 13, 13, 13)),
    (record(PL, imm0=0x600_0000, num_active_channels=32), (16, 16, 16, 0)),
    (
        record(BP, dst__start_addr=0x200_0000, out_dtype=BF16, num_active_channels=32),
        (8, 8, 8, 0),  # two bytes into PSUM
    ),
]


@pytest.mark.parametrize("generation", Generation)
def test_reasons(generation):
    config = whole(generation)
    result = validate([data for data, _ in CASES], registers=REGISTERS, config=config)
    column = list(Generation).index(generation)
    expected = [reasons[column] for _, reasons in CASES]
    assert [operation.reason for operation in result.operations] == expected


def test_a_maverick_pointer_reaches_the_last_active_byte():
    config = EngineConfig(sbuf_bytes=1 << 20, generation=Generation.MAVERICK)
    (operation,) = validate([load(0x607_FFF4)], config=config).operations
    start = operation.src0.start
    assert (operation.reason, start.quadrant, start.psum, start.offset) == (0, 3, 0, 0x7FFF4)


RECORDS = 240


@pytest.mark.parametrize("generation", Generation)
def test_records_at_the_borders_have_the_reasons_of_the_golden_model(generation):
    rng = np.random.default_rng([5, list(Generation).index(generation)])
    config, registers = whole(generation), np.zeros(64, np.uint32)
    geometry = geometry_of(config)
    legal = ProgramGenerator(rng, geometry, registers).program(RECORDS // 3)
    used = int(np.count_nonzero(registers))
    makes = mutants(rng, legal, registers, keep=used, generation=generation)
    records = [*split_records(legal), *islice(makes, RECORDS - RECORDS // 3)]
    assert len(set(agreed_reasons(records, registers, config))) > 10
