"""The golden machine of each generation: the same results, wherever its memories lie."""

from typing import Any

import numpy as np
import pytest
from dve_golden.isa.codec import decode, encode
from dve_golden.isa.enums import Opcode, Reason
from dve_golden.isa.generations import Generation
from dve_golden.machine import Machine
from random_records import PSUM, PSUM_BYTES, SBUF_BYTES, RandomRecords

STATE = ("sbuf", "psum", "lane_state", "parameter_ram")
ADDRESSES = ("src0.start_addr", "src1.start_addr", "src.start_addr", "dst.start_addr", "addr")


def twin(machine, generation):
    """A machine of another generation in the same state."""
    other = Machine(sbuf_bytes=SBUF_BYTES, psum_bytes=PSUM_BYTES, generation=generation)
    for name in (*STATE, "registers", "control"):
        getattr(other, name)[:] = getattr(machine, name)
    return other


def bits_of(machine):
    return {name: getattr(machine, name).tobytes() for name in STATE}


def random_program(records, length=12):
    """Records one by one: making one sets the registers that it needs."""
    kinds = [
        *(records.back_prop, records.load, records.load2, records.load_ram),
        *(records.tensor_tensor, records.bit_vector),
        *(records.copy_predicated, records.cast_predicated),
    ]
    for kind in records.rng.integers(0, len(kinds), length):
        yield kinds[kind]()


@pytest.mark.parametrize("generation", [Generation.SUNDA, Generation.MARIANA])
@pytest.mark.parametrize("seed", range(4))
def test_generations_with_one_memory_map_agree(seed, generation):
    records = RandomRecords(seed)
    other = twin(records.machine, generation)
    for record in random_program(records):
        other.registers[:] = records.machine.registers
        expected = records.machine.execute(record)
        assert expected.reason is Reason.NONE
        assert other.execute(record) == expected
    assert bits_of(other) == bits_of(records.machine)


def moved(word):
    """An SBUF address of CAYMAN as MAVERICK writes it: 1 MiB instead of 256 KiB apart."""
    return (word >> 18) * 0x10_0000 + (word & 0x3_FFFF)


@pytest.mark.parametrize("seed", range(20))
def test_maverick_computes_the_same_at_its_own_addresses(seed):
    records = RandomRecords(seed)
    maverick = twin(records.machine, Generation.MAVERICK)
    executed = 0
    for record in random_program(records):
        opcode, decoded = decode(record)
        fields: dict[str, Any] = dict(decoded)
        words = {name: fields[name] for name in ADDRESSES if name in fields}
        if opcode is Opcode.BATCH_NORM_PARAM_LOAD:
            words["imm0"] = fields["imm0"]
        if any(word >= PSUM for word in words.values()) or opcode is Opcode.BATCH_NORM_PARAM_LOAD2:
            continue  # it reads PSUM, which only the earlier generations have
        moves = {name: moved(word) for name, word in words.items()}
        there = encode(opcode, {**fields, **moves})
        assert records.machine.execute(record).reason is Reason.NONE
        assert maverick.execute(there).reason is Reason.NONE
        executed += 1
    assert executed
    assert bits_of(maverick) == bits_of(records.machine)


def test_sizes_of_the_state():
    shapes = {}
    for generation in Generation:
        machine = Machine(sbuf_bytes=1 << 20, psum_bytes=1 << 20, generation=generation)
        assert machine.geometry.generation is generation
        shapes[generation.value] = (machine.sbuf.shape[1], machine.psum.shape[1])
    assert shapes == {
        "sunda": (0x3_0000, 0x4000),
        "cayman": (0x3_8000, 0x4000),
        "mariana": (0x4_0000, 0x4000),
        "maverick": (0x8_0000, 0x4000),
    }


def test_no_address_of_maverick_reaches_psum():
    machine = Machine(sbuf_bytes=1024, psum_bytes=512, generation=Generation.MAVERICK)
    machine.psum[:] = 0xAA
    machine.sbuf[32].view(np.float32)[:3] = 1, 2, 3
    machine.execute(
        encode(
            Opcode.BATCH_NORM_PARAM_LOAD,
            {
                "src.start_addr": PSUM,
                "src.step_elem": (1, 1),
                "src.num_elem": (3, 1),
                "dtype": 0xA,
                "num_active_channels": 1,
                "imm0": PSUM + 4,
                "imm0_src": 1,
            },
        )
    )
    assert machine.lane_state[0].tolist() == [0, 2, 1, 2, 3]
    assert (machine.psum == 0xAA).all()
