"""The configuration rejects what it cannot be, and derives what it says."""

import pytest
from dve_golden.isa.generations import Generation
from dve_rtl.config import LANE_COUNTS, PRESETS, EngineConfig


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"lanes": 3}, r"lanes must be one of \(1, 2, 4, 8, 16, 32\), got 3"),
        ({"beat_bits": 16}, "beat_bits must be one of"),
        ({"sbuf_bytes": 1000}, "sbuf_bytes must be a power of two from 8 to 262144, got 1000"),
        (
            {"sbuf_bytes": 1 << 21, "generation": Generation.MAVERICK},
            "sbuf_bytes must be a power of two from 8 to 1048576, got 2097152",
        ),
        ({"psum_bytes": 32768}, "psum_bytes must be a power of two from 8 to 16384, got 32768"),
        ({"mul_latency": 0}, "mul_latency must be 1 to 8, got 0"),
        ({"add_latency": 8}, "add_latency must be 1 to 7, got 8"),
        ({"widen_latency": 6}, "widen_latency must be 1 to 5, got 6"),
        ({"narrow_latency": 6}, "narrow_latency must be 1 to 5, got 6"),
    ],
)
def test_rejects(choice, message):
    with pytest.raises(ValueError, match=message):
        EngineConfig(**choice)


@pytest.mark.parametrize("lanes", LANE_COUNTS)
def test_groups_cover_all_channels(lanes):
    config = PRESETS["sim"].with_lanes(lanes)
    assert config.groups * lanes == 128
    assert 1 << config.group_bits == config.groups


def test_a_memory_beyond_the_active_size_cannot_be_addressed():
    # isa_common.md 3.2: 192, 224, 256 and 512 KiB of SBUF are active.
    active = {"SUNDA": 0x30000, "CAYMAN": 0x38000, "MARIANA": 0x40000, "MAVERICK": 0x80000}
    for name, size in active.items():
        generation = Generation[name]
        stride = 1 << EngineConfig(generation=generation).traits.sbuf_stride_bits
        whole = EngineConfig(sbuf_bytes=stride, generation=generation)
        assert whole.sbuf_active_bytes == size
        small = EngineConfig(sbuf_bytes=64 * 1024, generation=generation)
        assert small.sbuf_active_bytes == 0x10000


def test_presets_have_the_documented_sizes():
    sizes = {
        name: (c.lanes, c.sbuf_bytes // 1024, c.psum_bytes // 1024) for name, c in PRESETS.items()
    }
    assert sizes == {
        "tiny": (1, 16, 2),
        "sim": (8, 64, 16),
        "wide": (32, 64, 16),
        "fpga": (4, 1, 1),
    }
