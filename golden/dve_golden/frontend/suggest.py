"""The nearest legal value of each field that breaks a rule."""

from dataclasses import dataclass
from itertools import chain

from dve_golden.frontend.legality import validate
from dve_golden.frontend.verdict import Finding, Suggestion
from dve_golden.isa.codec import decode, encode
from dve_golden.memory.address import Geometry, Registers


@dataclass(frozen=True)
class Explained:
    """A finding, and what would mend it; None if no value of its field would."""

    finding: Finding
    suggestion: Suggestion | None


def explain(record: bytes, *, registers: Registers, geometry: Geometry) -> tuple[Explained, ...]:
    """Everything that is wrong with a record, each with the nearest legal value.

    A suggestion is tried before it is made: with it in place, and all else as it is, no rule of
    the finding's reason is broken at its place. Of the candidates that pass, it is the one that
    leaves the fewest rules broken at this field and breaks the fewest elsewhere, and of these the
    nearest, as `dve_golden.frontend.nearest` counts.

    Parameters
    ----------
    record, registers, geometry
        As of `dve_golden.frontend.legality.validate`, which gives the findings and their order.

    Raises
    ------
    ValueError
        If there are not 64 bytes.
    """
    findings = validate(record, registers=registers, geometry=geometry).findings
    return tuple(
        Explained(finding, _best(record, finding, findings, registers, geometry))
        for finding in findings
    )


def apply(suggestion: Suggestion, record: bytes, registers: Registers) -> tuple[bytes, Registers]:
    """Record and registers with the suggestion in place.

    Raises
    ------
    ValueError
        If the record has no struct, because its opcode is not executed.
    """
    if suggestion.register is None:
        opcode, fields = decode(record)
        return encode(opcode, {**fields, suggestion.field: suggestion.value}), registers
    assert isinstance(suggestion.value, int)
    changed = [int(value) for value in registers]
    changed[suggestion.register] = suggestion.value
    return record, changed


def _best(
    record: bytes,
    finding: Finding,
    findings: tuple[Finding, ...],
    registers: Registers,
    geometry: Geometry,
) -> Suggestion | None:
    elsewhere = {other.key for other in findings if other.field != finding.field}
    best: Suggestion | None = None
    least = 0
    # What mends another rule of the field may be what mends this one best.
    others = (other for other in findings if other.field == finding.field and other != finding)
    for candidate in chain.from_iterable(f.near() for f in (finding, *others)):
        changed, held = apply(candidate, record, registers)
        after = {f.key for f in validate(changed, registers=held, geometry=geometry).findings}
        if finding.key in after:
            continue
        broken = len(after - elsewhere)
        if best is None or broken < least:
            best, least = candidate, broken
        if not broken:
            break
    return best
