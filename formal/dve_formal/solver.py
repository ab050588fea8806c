"""Bitwuzla in a process of its own, which can be given up at any time."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata, util
from time import monotonic
from typing import Any

from dve_cosim.errors import CosimError

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Answer:
    """What the solver says of a formula.

    Parameters
    ----------
    satisfiable : bool or None
        None if the time did not suffice.
    values : dict of str to int
        Of the terms asked for, if it is satisfiable.
    """

    satisfiable: bool | None
    values: dict[str, int]


def bitwuzla_version() -> str:
    """Version of the solver in use.

    Raises
    ------
    CosimError
        If it is not installed.
    """
    if util.find_spec("bitwuzla") is None:
        raise CosimError(
            "bitwuzla is not installed; proofs need the extra `formal`: "
            "scripts/setup test,lint, or pip install 'opendve[formal]'"
        )
    return metadata.version("bitwuzla")


def decide(
    formula: str, terms: Sequence[str], *, seconds: float, poll: Callable[[], None]
) -> Answer:
    """Whether an SMT-LIB formula of bit vectors can be true, and how.

    Parameters
    ----------
    formula : str
        Declarations and assertions.
    terms : sequence of str
        Whose values are wanted: terms of bit vectors or truth values.
    seconds : float
        Give up then.
    poll : callable
        Called every tenth of a second.

    Raises
    ------
    CosimError
        If the solver is missing or ends without an answer.
    """
    bitwuzla_version()
    deadline = monotonic() + seconds
    with tempfile.TemporaryFile("w+") as request:
        json.dump({"formula": formula, "terms": list(terms)}, request)
        request.seek(0)
        with subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt is ours to handle
        ) as process:
            try:
                while True:
                    try:
                        answer, complaint = process.communicate(timeout=POLL_SECONDS)
                        break
                    except subprocess.TimeoutExpired:
                        poll()
                        if monotonic() > deadline:
                            return Answer(None, {})
            finally:
                process.kill()
    if process.returncode:
        last = (complaint.strip().splitlines() or ["silently"])[-1]
        raise CosimError(f"the solver ended with exit code {process.returncode}: {last}")
    return Answer(**json.loads(answer))


def solve(formula: str, terms: Sequence[str]) -> dict[str, Any]:
    """The members of the `Answer` to a formula, however long it takes."""
    from bitwuzla import Option, Options, Parser, Result, TermManager

    options = Options()
    options.set(Option.PRODUCE_MODELS, True)
    parser = Parser(TermManager(), options)
    parser.parse(formula, True, False)
    solver = parser.bitwuzla()
    satisfiable = solver.check_sat() == Result.SAT
    values = {}
    if satisfiable:
        for term in terms:
            values[term] = int(solver.get_value(parser.parse_term(term)).value(10))
    return {"satisfiable": satisfiable, "values": values}


if __name__ == "__main__":
    print(json.dumps(solve(**json.load(sys.stdin))))
