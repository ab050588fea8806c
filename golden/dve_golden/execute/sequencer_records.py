"""Records of the sequencer, 0xA0 and 0xA4 (isa_common.md 7.2)."""

from dve_golden.execute.operands import Operands
from dve_golden.state import State


def no_operation(state: State, operands: Operands) -> None:
    """All that these records do is wait and update, as any record may (isa_common.md 5.8)."""
