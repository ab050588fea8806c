"""What an instruction with sources and a destination can be, as far as coverage tells."""

from __future__ import annotations

from dataclasses import dataclass

from dve_golden.isa.enums import DTYPE_BYTES, Opcode, Reason

from dve_cosim.aliasing import Alias
from dve_cosim.coverage import Bin, arrow, memory_name, types_name
from dve_cosim.operand_types import ELEMENTWISE, Types


@dataclass(frozen=True)
class Crossing:
    """One combination, within reach or not.

    Parameters
    ----------
    opcode : Opcode
    types : dict of str to Dtype
        Of its operands, ``src0``, ``src1`` and ``dst``, or of statistics ``src`` and ``dst``; of
        S3S3D3_TT any of that size will do.
    psum : dict of str to bool
        Which of them lie in PSUM.
    aliasing : dict of str to Alias
        What its sources have to do with the destination; empty if that is not said.
    """

    opcode: Opcode
    types: Types
    psum: dict[str, bool]
    aliasing: dict[str, Alias]

    @property
    def bin(self) -> Bin:
        """The bin of its instructions."""
        return Bin(
            self.opcode.name,
            Reason.NONE.name,
            types_name(self.opcode, self.types),
            arrow({name: memory_name(psum) for name, psum in self.psum.items()}),
            ",".join(self.aliasing.values()),
        )

    @property
    def sums(self) -> bool:
        """Its destination is a few sums, not one element for each of the sources."""
        return self.opcode not in ELEMENTWISE

    def same_size(self, name: str) -> bool:
        """Whether a source has elements as long as the destination's."""
        return DTYPE_BYTES[self.types[name]] == DTYPE_BYTES[self.types["dst"]]
