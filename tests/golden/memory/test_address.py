"""Address decode against isa_common.md 3.1 and 3.2, worked out by hand."""

import numpy as np
import pytest
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import (
    Geometry,
    Location,
    Region,
    address_of,
    is_register_form,
    locate,
    regions_of,
    resolve,
)
from hypothesis import given, settings
from hypothesis import strategies as st

REGISTERS = [0] * 64
REGISTERS[5] = 0x0080_0040
REGISTERS[6] = 0x2000_0000  # bit 29: not an address
REGISTERS[63] = 0x1FFF_FFFF


@pytest.mark.parametrize(
    ("address", "location"),
    [
        (0x0000000, Location(Region.SBUF, 0, 0)),
        (0x003FFFF, Location(Region.SBUF, 0, 0x3FFFF)),
        (0x0040000, Location(Region.SBUF, 1, 0)),
        (0x0800000, Location(Region.SBUF, 32, 0)),
        (0x0840000, Location(Region.SBUF, 33, 0)),
        (0x1000008, Location(Region.SBUF, 64, 8)),
        (0x1800000, Location(Region.SBUF, 96, 0)),
        (0x1FFFFFF, Location(Region.SBUF, 127, 0x3FFFF)),
        (0x2000000, Location(Region.PSUM, 0, 0)),
        (0x2007FFF, Location(Region.PSUM, 0, 0x7FFF)),
        (0x2008000, Location(Region.PSUM, 1, 0)),
        (0x2100000, Location(Region.PSUM, 32, 0)),
        (0x2300004, Location(Region.PSUM, 96, 4)),
        (0x23FFFFF, Location(Region.PSUM, 127, 0x7FFF)),
        (0x2400000, None),
        (0x1FFFFFFF, None),
    ],
)
def test_locate(address, location):
    assert locate(address) == location


@pytest.mark.parametrize(
    ("word", "address"),
    [
        (0x0000_0040, 0x40),
        (0x1FFF_FFFF, 0x1FFF_FFFF),  # an immediate; that it lies nowhere is reason 8, not 13
        (0x2000_0000, None),  # indirect
        (0x4000_0000, None),  # shape register
        (0x6000_0000, None),
        (0x8000_0005, 0x0080_0040),
        (0x9F00_0005, 0x0080_0040),  # bits 28:24 are ignored on this generation
        (0x8000_0006, None),  # the register holds no address
        (0x8000_003F, 0x1FFF_FFFF),
        (0x8000_0040, None),  # there are 64 registers
        (0x8000_0105, None),
        (0x8001_0005, None),
        (0xA000_0005, None),
        (0xC000_0005, None),
        (0xE000_0005, None),
    ],
)
def test_resolve(word, address):
    assert resolve(word, REGISTERS) == address


def test_resolve_reads_numpy_registers_as_python_integers():
    assert type(resolve(0x8000_0005, np.array(REGISTERS, np.uint32))) is int


def test_register_form():
    assert is_register_form(0x8000_0006)
    assert not is_register_form(0x8000_0040)
    assert not is_register_form(0x0000_0005)


@pytest.mark.parametrize(
    ("address", "location"),
    [
        (0x000_0000, Location(Region.SBUF, 0, 0)),
        (0x00F_FFFF, Location(Region.SBUF, 0, 0xF_FFFF)),
        (0x010_0000, Location(Region.SBUF, 1, 0)),
        (0x1FF_FFFF, Location(Region.SBUF, 31, 0xF_FFFF)),
        (0x200_0000, Location(Region.SBUF, 32, 0)),  # PSUM in every earlier generation
        (0x23F_FFFF, Location(Region.SBUF, 35, 0xF_FFFF)),
        (0x400_0000, Location(Region.SBUF, 64, 0)),
        (0x600_0008, Location(Region.SBUF, 96, 8)),
        (0x7FF_FFFF, Location(Region.SBUF, 127, 0xF_FFFF)),
        (0x800_0000, None),
        (0x1FFF_FFFF, None),
    ],
)
def test_locate_on_maverick(address, location):
    assert locate(address, Generation.MAVERICK) == location


@pytest.mark.parametrize("generation", [Generation.SUNDA, Generation.MARIANA])
@pytest.mark.parametrize("address", [0x3_FFFF, 0x84_0000, 0x1FF_FFFF, 0x200_8000, 0x240_0000])
def test_the_memory_map_before_maverick_is_one(address, generation):
    assert locate(address, generation) == locate(address)


@pytest.mark.parametrize("word", [0x9F00_0005, 0x8100_0005, 0x9000_0005])
def test_sunda_wants_bits_28_to_24_of_a_register_word_to_be_zero(word):
    assert resolve(word, REGISTERS, Generation.SUNDA) is None
    assert not is_register_form(word, Generation.SUNDA)
    assert resolve(0x8000_0005, REGISTERS, Generation.SUNDA) == 0x0080_0040
    for generation in (Generation.MARIANA, Generation.MAVERICK):
        assert resolve(word, REGISTERS, generation) == 0x0080_0040


@settings(derandomize=True)
@given(st.sampled_from(list(Generation)), st.integers(0, (1 << 29) - 1))
def test_address_round_trip(generation, address):
    location = locate(address, generation)
    last = 0x7FF_FFFF if generation is Generation.MAVERICK else 0x23F_FFFF
    assert (location is None) == (address > last)
    if location is not None:
        assert location.region in regions_of(generation)
        assert address_of(location, generation) == address


def test_geometry_is_capped_by_the_generation():
    assert (Geometry().sbuf_active, Geometry().psum_active) == (0x10000, 0x4000)
    large = Geometry(sbuf_bytes=1 << 20, psum_bytes=1 << 20)
    assert (large.active(Region.SBUF), large.active(Region.PSUM)) == (0x38000, 0x4000)
    generations = [Geometry(sbuf_bytes=1 << 20, generation=g).sbuf_active for g in Generation]
    assert generations == [0x30000, 0x38000, 0x40000, 0x80000]
    small = Geometry(sbuf_bytes=1024, psum_bytes=512)
    assert (small.active(Region.SBUF), small.active(Region.PSUM)) == (1024, 512)


@pytest.mark.parametrize("sizes", [{"sbuf_bytes": 0}, {"psum_bytes": -8}, {"psum_bytes": 1020}])
def test_geometry_refuses_no_or_broken_words(sizes):
    with pytest.raises(ValueError, match=next(iter(sizes))):
        Geometry(**sizes)
