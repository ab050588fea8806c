"""The engines of the suite: few, because a build takes longer than the tests that run on it."""

import os

from dve_golden.isa.generations import Generation
from dve_rtl.config import EngineConfig

SMALL = {
    lanes: EngineConfig(lanes=lanes, sbuf_bytes=1024, psum_bytes=512) for lanes in (1, 4, 8, 32)
}
"""Small memories, so that operands meet; the latencies of the presets for simulation."""

GENERATIONS = {
    generation: EngineConfig(
        lanes=1,  # builds fastest, and the lanes are the same in all of them
        generation=generation,
        sbuf_bytes=1 << (19 if generation is Generation.MAVERICK else 18),
        psum_bytes=1 << 14,
    )
    for generation in Generation
    if generation is not Generation.CAYMAN
}
"""The other generations, with all the memory that they can address."""

BENCH = SMALL[int(os.environ.get("BENCH_LANES", "4"))]
"""What the benches of the whole engine are for; their runner chooses the lanes."""

DEEP = EngineConfig(
    lanes=4,
    sbuf_bytes=1024,
    psum_bytes=512,
    beat_bits=64,
    mul_latency=8,
    add_latency=7,
    widen_latency=5,
    narrow_latency=5,
)
"""Every unit as deep as it gets on an FPGA, and a record of eight beats."""


def front_end_config(beat_bits: int) -> EngineConfig:
    """What the front end's own bench builds, for one beat width."""
    return EngineConfig(beat_bits=beat_bits, sbuf_bytes=1024, psum_bytes=512)


LANE = EngineConfig(lanes=32, sbuf_bytes=1024, psum_bytes=512)
"""What the lane's own bench builds: a lane of four channel groups."""
