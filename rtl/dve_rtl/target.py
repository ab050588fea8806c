"""What the RTL is made for: portable Verilog, or a family whose own blocks it instantiates."""

from enum import StrEnum


class Target(StrEnum):
    """A family of devices; never changes a bit or a clock of a result."""

    PORTABLE = "portable"
    """Plain Verilog for any synthesizer and simulator."""
    ECP5 = "ecp5"
    """Lattice ECP5: products in MULT18X18D blocks with the blocks' own registers."""
