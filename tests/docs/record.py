"""Keeps the report of a long run for the documentation, without what would make it long.

    python tests/docs/record.py REPORT.json ...    # into docs/records; doc_tables.py shows them

A report is what ``dve mutants``, ``dve fuzz``, ``dve arith``, ``dve prove``, ``dve cosim`` or ``dve
train`` writes as JSON. Of ``dve cosim`` there is one for each layer.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parents[2] / "docs" / "records"

Report = dict[str, Any]

LEGAL = "NONE"


def record(name: str) -> Report:
    """A kept report."""
    return json.loads((RECORDS / f"{name}.json").read_text())


def digest(report: Report) -> tuple[str, Report]:
    """Which command wrote a report, and what is kept of it.

    Raises
    ------
    ValueError
        If it is no report of these commands, of changed sources, or not a whole run.
    """
    commit = report.get("revision")
    if not commit or commit.endswith("-dirty"):
        raise ValueError("the report names no commit; run it again in a clean checkout")
    for name, key, keep in (
        ("mutants", "kills", _mutants),
        ("fuzz", "coverage", _fuzz),
        ("arith", "operations", dict),
        ("proofs", "findings", dict),
        ("training", "training", _training),
    ):
        if key in report:
            return name, keep(report)
    if "bound_cycles" in report:
        return _backward(report)
    raise ValueError("no report of dve mutants, fuzz, arith, prove, cosim or train")


def _mutants(report: Report) -> Report:
    """Of the mutants only those that were not killed stay one by one."""
    if report["left_out"]:
        raise ValueError(f"{report['left_out']} mutants were not tried")
    results = report["results"]
    operators = Counter(result["operator"] for result in results)
    rest = [result for result in results if result["verdict"] != "killed"]
    return {**report, "operators": dict(sorted(operators.items())), "results": rest}


def _fuzz(report: Report) -> Report:
    """Of the bins their numbers stay, by opcode, and the instructions by each field."""
    coverage = report["coverage"]
    opcodes: dict[str, Counter[str]] = {}
    fields: dict[str, Counter[str]] = {name: Counter() for name in ("reason", "memory", "aliasing")}
    for entry in coverage["bins"]:
        counts = opcodes.setdefault(entry["opcode"], Counter())
        kind = "legal" if entry["reason"] == LEGAL else "illegal"
        counts[f"{kind} bins"] += 1
        counts[f"{kind} instructions"] += entry["count"]
        for name, by_value in fields.items():
            by_value[entry[name]] += entry["count"]
    for entry in coverage["missed"]:
        opcodes.setdefault(entry["opcode"], Counter())["missed bins"] += 1
    for by_value in fields.values():
        by_value.pop("-", None)
    return {**report, "coverage": {**coverage, "bins": opcodes, **fields}}


BACKWARD = "backward_"
"""What the names of the records of ``dve cosim`` begin with."""


def _backward(report: Report) -> tuple[str, Report]:
    """Of a backward pass: what ran where, and its cycles."""
    if report["differing_bits"]:
        raise ValueError(f"{report['differing_bits']} bits differ")
    layer = report["input"]
    relu = "_relu" if layer["fuse_relu"] else ""
    name = f"{BACKWARD}{layer['source'].replace(' ', '_')}{relu}"
    kept = (
        "revision",
        "coefficients",
        "instructions",
        "cycles",
        "bound_cycles",
        "utilisation",
        "mix",
    )
    lanes = {"lanes": report["config"]["lanes"]}
    return name, {"input": layer, **lanes, **{key: report[key] for key in kept}}


def _training(report: Report) -> Report:
    """Of each curve: where it begins and where it ends."""
    if report["differing_bits"]:
        raise ValueError(f"{report['differing_bits']} bits differ")
    if not report["rtl_steps"]:
        raise ValueError("the RTL took no step")
    runs = {
        name: {
            **{key: run[key] for key in ("label", "steps", "seconds")},
            **{key: [run[key][0], run[key][-1]] for key in ("loss", "accuracy", "deviation")},
        }
        for name, run in report["training"].items()
    }
    return {**report, "training": runs}


def main(paths: list[str]) -> None:
    for path in paths:
        try:
            name, kept = digest(json.loads(Path(path).read_text()))
        except (OSError, ValueError) as error:
            raise SystemExit(f"{path}: {error}") from error
        RECORDS.mkdir(exist_ok=True)
        target = RECORDS / f"{name}.json"
        target.write_text(f"{json.dumps(kept, indent=1)}\n")
        print(f"wrote {target.relative_to(RECORDS.parents[1])}")


if __name__ == "__main__":
    main(sys.argv[1:])
