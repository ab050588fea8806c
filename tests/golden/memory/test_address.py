"""Address decode against isa_common.md 3.1 and 3.2, worked out by hand."""

import numpy as np
import pytest
from dve_golden.memory.address import (
    Geometry,
    Location,
    Region,
    address_of,
    is_register_form,
    locate,
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


@settings(derandomize=True)
@given(st.integers(0, 0x23F_FFFF))
def test_address_round_trip(address):
    location = locate(address)
    assert location is not None
    assert address_of(location) == address


def test_geometry_is_capped_by_the_generation():
    assert (Geometry().sbuf_active, Geometry().psum_active) == (0x10000, 0x4000)
    large = Geometry(sbuf_bytes=1 << 20, psum_bytes=1 << 20)
    assert (large.active(Region.SBUF), large.active(Region.PSUM)) == (0x38000, 0x4000)
    small = Geometry(sbuf_bytes=1024, psum_bytes=512)
    assert (small.active(Region.SBUF), small.active(Region.PSUM)) == (1024, 512)


@pytest.mark.parametrize("sizes", [{"sbuf_bytes": 0}, {"psum_bytes": -8}, {"psum_bytes": 1020}])
def test_geometry_refuses_no_or_broken_words(sizes):
    with pytest.raises(ValueError, match=next(iter(sizes))):
        Geometry(**sizes)
