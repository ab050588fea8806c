"""What came of a campaign."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dve_cosim.mutation.sites import Mutant


class Verdict(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    EXPLAINED = "explained"
    EQUIVALENT = "equivalent"


@dataclass(frozen=True)
class Result:
    """One mutant.

    Parameters
    ----------
    mutant : Mutant
    verdict : Verdict
    check : str
        That killed it.
    reason : str
        What the check said; why it is equivalent; why no test is worth it.
    is_contradicted : bool
        Killed, though ``known.toml`` says that it cannot be, or is not.
    seconds : float
        Wall time.
    """

    mutant: Mutant
    verdict: Verdict
    check: str
    reason: str
    is_contradicted: bool
    seconds: float


@dataclass(frozen=True)
class Report:
    """A campaign.

    Parameters
    ----------
    results : list of Result
        In the order of the text.
    left_out : int
        Mutants for which there was no time.
    seconds, processor_seconds : float
        Wall time, and time of all processes together.
    """

    results: list[Result]
    left_out: int
    seconds: float
    processor_seconds: float

    def count(self, verdict: Verdict, module: str | None = None) -> int:
        """Mutants with a verdict, of a module or of all."""
        return sum(
            result.verdict is verdict and module in (None, result.mutant.module)
            for result in self.results
        )

    @property
    def modules(self) -> list[str]:
        """With mutants, in the order of the text."""
        return list(dict.fromkeys(result.mutant.module for result in self.results))

    @property
    def kills(self) -> Counter[str]:
        """Mutants by the check that killed them."""
        return Counter(result.check for result in self.results if result.check)

    @property
    def open(self) -> list[Result]:
        """What must not be: survivors without explanation, and wrong entries of ``known.toml``."""
        return [
            result
            for result in self.results
            if result.verdict is Verdict.SURVIVED or result.is_contradicted
        ]

    @property
    def score(self) -> float:
        """Share of the non-equivalent mutants that were killed."""
        different = len(self.results) - self.count(Verdict.EQUIVALENT)
        return self.count(Verdict.KILLED) / different if different else 1.0

    def described(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "mutants": len(self.results),
            "left_out": self.left_out,
            **{verdict.value: self.count(verdict) for verdict in Verdict},
            "score": self.score,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "kills": dict(self.kills),
            "modules": {
                module: {verdict.value: self.count(verdict, module) for verdict in Verdict}
                for module in self.modules
            },
            "results": [
                {
                    "id": result.mutant.id,
                    "module": result.mutant.module,
                    "site": result.mutant.site.shown,
                    "operator": result.mutant.change.operator,
                    "change": result.mutant.change.detail,
                    "verdict": result.verdict.value,
                    "check": result.check,
                    "reason": result.reason,
                    "contradicted": result.is_contradicted,
                    "seconds": result.seconds,
                }
                for result in self.results
            ],
        }
