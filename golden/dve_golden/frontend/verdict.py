"""The answer of the legality check."""

from dataclasses import dataclass

from dve_golden.isa.enums import Reason


@dataclass(frozen=True)
class Finding:
    """One predicate that a record fails.

    Parameters
    ----------
    reason
        The reason code that the predicate belongs to (isa_common.md 5.8).
    field
        Dotted name of the field, as in `dve_golden.isa.codec`.
    bytes
        First and last byte of the offending value in the record, both inclusive.
    value
        What stands there, as text.
    rule
        What the specification asks for.
    mend
        The nearest legal value, where there is an obvious one; otherwise empty.
    """

    reason: Reason
    field: str
    bytes: tuple[int, int]
    value: str
    rule: str
    mend: str = ""


@dataclass(frozen=True)
class Verdict:
    """The reason that the engine reports, and everything that is wrong with the record.

    ``findings`` are ordered by reason; a predicate that another failure leaves without meaning,
    such as the walk of an operand that has no address, is not among them.
    """

    reason: Reason
    findings: tuple[Finding, ...] = ()

    @property
    def legal(self) -> bool:
        return self.reason is Reason.NONE
