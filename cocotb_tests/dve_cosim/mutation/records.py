"""What people have found out about mutants that survive: ``known.toml``.

An entry names a mutant by its id and says either that it is ``equivalent``, because no program and
no host can tell it from the design, or that it is ``explained``: it differs, and no test is worth
what it would cost. Both with the reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dve_cosim.errors import CosimError

KNOWN = Path(__file__).with_name("known.toml")

EQUIVALENT, EXPLAINED = VERDICTS = ("equivalent", "explained")
_KEYS = ("verdict", "mutant", "reason")


@dataclass(frozen=True)
class Record:
    """An entry.

    Parameters
    ----------
    verdict : str
        ``equivalent`` or ``explained``.
    mutant : str
        What the mutant does, for the reader.
    reason : str
    """

    verdict: str
    mutant: str
    reason: str


def read_records(path: Path = KNOWN) -> Mapping[str, Record]:
    """The entries by id.

    Raises
    ------
    CosimError
        If the file is not as it should be.
    """
    try:
        tables = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CosimError(f"cannot read {path}: {error}") from error
    records = {}
    for name, table in tables.items():
        if not isinstance(table, dict) or sorted(table) != sorted(_KEYS):
            raise CosimError(f"{path}: {name} must have {', '.join(_KEYS)} and nothing else")
        record = Record(**table)
        if record.verdict not in VERDICTS:
            raise CosimError(
                f"{path}: verdict of {name} is {record.verdict!r}, not one of {', '.join(VERDICTS)}"
            )
        records[name] = record
    return records
