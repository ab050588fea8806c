"""One record under inspection: typed access to its fields, and the findings so far."""

from collections.abc import Callable, Collection, Iterable
from functools import cache, partial
from typing import Any

from dve_golden.frontend import nearest
from dve_golden.frontend.verdict import Finding, Suggestion, no_candidates
from dve_golden.isa.codec import Fields, walk
from dve_golden.isa.enums import DTYPE_BYTES, Opcode, Reason
from dve_golden.isa.notation import format_dtype
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_golden.isa.types import Array
from dve_golden.memory.address import Geometry, Location, Registers, locate, resolve


class Inspection:
    """Fields of a decoded record, the state its legality depends on, and a list of findings."""

    def __init__(
        self, opcode: Opcode, fields: Fields, registers: Registers, geometry: Geometry
    ) -> None:
        self.opcode = opcode
        self.registers = registers
        self.geometry = geometry
        self.findings: list[Finding] = []
        self._fields: dict[str, Any] = dict(fields)

    def number(self, field: str) -> int:
        """A scalar field."""
        return self._fields[field]

    def numbers(self, field: str) -> tuple[int, ...]:
        """An array field."""
        return self._fields[field]

    def raw(self, field: str) -> bytes:
        """A reserved field."""
        return self._fields[field]

    def resolve(self, word: int) -> int | None:
        """The byte address of an ADDR4 word; None if it is malformed."""
        return resolve(word, self.registers, self.geometry.generation)

    def locate(self, address: int) -> Location | None:
        """Where a byte address lies; None outside the memories of the generation."""
        return locate(address, self.geometry.generation)

    def report(
        self,
        reason: Reason,
        field: str,
        value: object,
        rule: str,
        *,
        near: Callable[[], Iterable[Suggestion]] = no_candidates,
        part: int | None = None,
    ) -> None:
        """Add a finding; ``part`` narrows an array field to one of its elements."""
        span = field_bytes(self.opcode, field, part)
        self.findings.append(Finding(reason, field, span, str(value), rule, near))

    def element_bytes(self, field: str, legal: Collection[int]) -> int | None:
        """Check reason 5; the size of the type, or None if it is illegal or INVALID."""
        code = self.number(field)
        if code in legal:
            return _SIZE_OF_CODE.get(code)
        names = ", ".join(format_dtype(choice) for choice in sorted(legal))
        near = partial(nearest.dtypes, field, code, legal)
        self.report(Reason.DTYPE, field, format_dtype(code), f"one of {names}", near=near)
        return None


_SIZE_OF_CODE: dict[int, int] = {int(dtype): size for dtype, size in DTYPE_BYTES.items()}


@cache
def field_bytes(opcode: Opcode, field: str, part: int | None = None) -> tuple[int, int]:
    """First and last byte of a field, or of one element of an array field."""
    for name, offset, leaf in walk(STRUCT_OF_OPCODE[opcode]):
        if name == field:
            bits = leaf.bits
            if part is not None:
                assert isinstance(leaf, Array)
                bits = leaf.element.bits
                offset += part * bits
            return offset // 8, (offset + bits - 1) // 8
    raise KeyError(field)
