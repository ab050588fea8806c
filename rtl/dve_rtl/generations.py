"""What differs between the generations of the engine (isa_common.md 0.2, 1.7, 3.1, 3.2, 5.7)."""

from dataclasses import dataclass

from dve_golden.isa.generations import OPCODE_MASKS, Generation

PSUM_STRIDE_BITS = 15
"""Addresses from one PSUM partition to the next, as a power of two."""

PSUM_BASE = 0x2000000

PSUM_ACTIVE_BYTES = 0x4000
"""Bytes per PSUM partition that exist, whether addresses reach them or not."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """One generation.

    Parameters
    ----------
    sbuf_stride_bits : int
        Addresses from one SBUF partition to the next, as a power of two.
    sbuf_active_bytes : int
        Addressable bytes per SBUF partition.
    has_psum : bool
        Some addresses lie in PSUM.
    register_form_is_strict : bool
        Bits 28:24 of an address word that names a register must be zero.
    pairs : bool
        There are opcodes that take two elements of BFLOAT16 a clock.
    """

    sbuf_stride_bits: int = 18
    sbuf_active_bytes: int
    has_psum: bool = True
    register_form_is_strict: bool = False
    pairs: bool = False


TRAITS: dict[Generation, Traits] = {
    Generation.SUNDA: Traits(sbuf_active_bytes=0x30000, register_form_is_strict=True, pairs=True),
    Generation.CAYMAN: Traits(sbuf_active_bytes=0x38000),
    Generation.MARIANA: Traits(sbuf_active_bytes=0x40000),
    # The SBUF window covers the base of PSUM, which is empty.
    Generation.MAVERICK: Traits(sbuf_stride_bits=20, sbuf_active_bytes=0x80000, has_psum=False),
}


def knows(generation: Generation, opcode: int) -> bool:
    """Whether ``opcode`` belongs to the instruction set of ``generation``."""
    word, bit = divmod(opcode, 64)
    return bool(OPCODE_MASKS[generation][word] & 1 << bit)
