"""The answer of the legality check."""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dve_golden.isa.codec import Value
from dve_golden.isa.enums import Reason


@dataclass(frozen=True)
class Suggestion:
    """A value to put in place of an illegal one.

    Parameters
    ----------
    field
        Dotted name of the field, as in `dve_golden.isa.codec`.
    value
        What `dve_golden.isa.codec.encode` takes for it; of an array, all elements. If ``register``
        is given, the unsigned 32-bit content of that register.
    text
        The value in the notation of the text form.
    register
        The address register to change instead of the record, where the field names one.
    """

    field: str
    value: Value
    text: str
    register: int | None = None


def no_candidates() -> Iterable[Suggestion]:
    """For a rule that no value of the field could keep."""
    return ()


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
    near
        Values of the field that may keep the rule, the nearest first. Whether they do depends on
        the rest of the record, which `dve_golden.frontend.suggest` tries.
    """

    reason: Reason
    field: str
    bytes: tuple[int, int]
    value: str
    rule: str
    near: Callable[[], Iterable[Suggestion]] = dataclasses.field(
        default=no_candidates, compare=False, repr=False
    )

    @property
    def key(self) -> tuple[Reason, str, tuple[int, int]]:
        """Reason and place, which several predicates may share."""
        return self.reason, self.field, self.bytes


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
