"""The configuration rejects what it cannot be, and derives what it says."""

import pytest
from dve_rtl.config import LANE_COUNTS, PRESETS, EngineConfig


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"lanes": 3}, r"lanes must be one of \(1, 2, 4, 8, 16, 32\), got 3"),
        ({"beat_bits": 16}, "beat_bits must be one of"),
        ({"sbuf_bytes": 1000}, "sbuf_bytes must be a power of two from 8 to 262144, got 1000"),
        ({"psum_bytes": 32768}, "psum_bytes must be a power of two from 8 to 16384, got 32768"),
        ({"mul_latency": 0}, "mul_latency must be 1 to 8, got 0"),
        ({"add_latency": 8}, "add_latency must be 1 to 7, got 8"),
        ({"widen_latency": 5}, "widen_latency must be 1 to 4, got 5"),
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
    # isa_common.md 3.2: 224 KiB of SBUF are active on cayman.
    assert EngineConfig(sbuf_bytes=256 * 1024).sbuf_active_bytes == 0x38000
    assert EngineConfig(sbuf_bytes=64 * 1024).sbuf_active_bytes == 0x10000


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
