"""One frozen configuration, from which every width of the engine is derived."""

from dataclasses import dataclass, replace

from amaranth.utils import ceil_log2
from dve_golden.isa.enums import MAX_CHANNELS
from dve_golden.isa.generations import Generation

from dve_rtl.generations import PSUM_ACTIVE_BYTES, TRAITS, Traits
from dve_rtl.target import Target

LANE_COUNTS = (1, 2, 4, 8, 16, 32)
BEAT_BITS = (32, 64, 128, 256, 512)
WORD_BYTES = 8
"""SBUF native word (isa_common.md 3.2); every element lies inside one word."""

PARTIALS = 8
"""Partial sums of the fold (batchnorm.md section 8); the depth limit of the accumulator's loop."""


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Sizes of one engine.

    Parameters
    ----------
    lanes : int
        Element lanes; channel ``k`` runs on lane ``k mod lanes``.
    generation : Generation
        Which instruction set and memory map: sunda, cayman, mariana or maverick.
    sbuf_bytes, psum_bytes : int
        Bytes per partition, powers of two, at most the stride of the generation's partitions.
        What lies beyond the active size exists but cannot be addressed.
    beat_bits : int
        Width of one beat of the instruction stream. The first beat carries byte 0 lowest.
    mul_latency, add_latency, widen_latency, narrow_latency : int
        Pipeline depth of the fp32 units and converters in clock cycles. Never changes a bit of
        a result.
    target : Target
        What to make it for. Only the portable engine can be simulated.

    Raises
    ------
    ValueError
        If a size is outside its range.
    """

    lanes: int = 8
    generation: Generation = Generation.CAYMAN
    sbuf_bytes: int = 64 * 1024
    psum_bytes: int = 16 * 1024
    beat_bits: int = 512
    mul_latency: int = 2
    add_latency: int = 3
    widen_latency: int = 1
    narrow_latency: int = 1
    target: Target = Target.PORTABLE

    def __post_init__(self) -> None:
        if self.lanes not in LANE_COUNTS:
            raise ValueError(f"lanes must be one of {LANE_COUNTS}, got {self.lanes}")
        if self.beat_bits not in BEAT_BITS:
            raise ValueError(f"beat_bits must be one of {BEAT_BITS}, got {self.beat_bits}")
        limits = {
            "sbuf_bytes": 1 << self.traits.sbuf_stride_bits,
            "psum_bytes": PSUM_ACTIVE_BYTES,
        }
        for name, limit in limits.items():
            size = getattr(self, name)
            if size < WORD_BYTES or size > limit or size & (size - 1):
                raise ValueError(
                    f"{name} must be a power of two from {WORD_BYTES} to {limit}, got {size}"
                )
        if not 1 <= self.mul_latency <= 8:
            raise ValueError(f"mul_latency must be 1 to 8, got {self.mul_latency}")
        for name, deepest in (("widen_latency", 5), ("narrow_latency", 5)):
            if not 1 <= getattr(self, name) <= deepest:
                raise ValueError(f"{name} must be 1 to {deepest}, got {getattr(self, name)}")
        # One of the eight slots of the accumulator's loop is its operand-select register.
        if not 1 <= self.add_latency <= PARTIALS - 1:
            raise ValueError(f"add_latency must be 1 to {PARTIALS - 1}, got {self.add_latency}")

    @property
    def traits(self) -> Traits:
        """What the generation decides."""
        return TRAITS[self.generation]

    @property
    def groups(self) -> int:
        """Channel groups of a full instruction, and rows of partitions in a lane memory."""
        return MAX_CHANNELS // self.lanes

    @property
    def group_bits(self) -> int:
        return ceil_log2(self.groups)

    @property
    def sbuf_active_bytes(self) -> int:
        """Addressable bytes per SBUF partition (isa_common.md 3.2)."""
        return min(self.sbuf_bytes, self.traits.sbuf_active_bytes)

    @property
    def psum_active_bytes(self) -> int:
        """Bytes per PSUM partition that exist (isa_common.md 3.2)."""
        return min(self.psum_bytes, PSUM_ACTIVE_BYTES)

    def with_lanes(self, lanes: int) -> "EngineConfig":
        """The same engine with another lane count."""
        return replace(self, lanes=lanes)


PRESETS: dict[str, EngineConfig] = {
    "tiny": EngineConfig(lanes=1, sbuf_bytes=16 * 1024, psum_bytes=2 * 1024),
    "sim": EngineConfig(),
    "wide": EngineConfig(lanes=32),
    "fpga": EngineConfig(
        lanes=4,
        sbuf_bytes=1024,
        psum_bytes=1024,
        beat_bits=64,
        mul_latency=8,
        add_latency=7,
        widen_latency=5,
        narrow_latency=5,
    ),
}
"""``tiny`` and ``sim`` are for simulation, ``wide`` for throughput, ``fpga`` fits an ECP5-85F."""
