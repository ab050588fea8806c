"""Tables of the verification plan from kept reports; see ``record.py``."""

from collections.abc import Iterable

from dve_cosim.schedule import SLOTS
from dve_golden.isa.enums import Opcode
from dve_golden.isa.notation import MNEMONICS
from record import BACKWARD, RECORDS, Report, record

Rows = tuple[Iterable[str], Iterable[Iterable[object]]]

VERDICTS = ("killed", "equivalent", "explained", "survived")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min"


def backward_pass() -> Rows:
    """The whole pass of each recorded layer against one element per lane and clock, twice."""
    rows = []
    for path in sorted(RECORDS.glob(f"{BACKWARD}*.json")):
        report = record(path.stem)
        layer, cycles = report["input"], report["cycles"]
        busy = report["utilisation"]
        elements = report["bound_cycles"] / 2
        rows.append(
            (
                f"{layer['source']}{', rectifier' if layer['fuse_relu'] else ''}",
                report["lanes"],
                report["instructions"],
                f"{cycles:,}",
                f"{cycles / elements:.2f}",
                f"{report['bound_cycles'] / cycles:.3f}",
                f"{1 - busy[SLOTS]:.1%}",
                ", ".join(f"{unit} {share:.0%}" for unit, share in busy.items() if unit != SLOTS),
            )
        )
    return (
        *("layer", "lanes", "instructions", "cycles", "per element and lane"),
        *("share of two-pass bound", "fixed costs", "units busy"),
    ), rows


def _source(report: Report) -> tuple[str, str]:
    return "commit", f"`{report['revision']}`"


def mutants_run() -> Rows:
    """Figures of the campaign."""
    report = record("mutants")
    different = report["mutants"] - report["equivalent"]
    rows = [
        _source(report),
        ("command", f"`dve mutants --count {report['mutants']} --seed {report['seed']}`"),
        *((verdict, report[verdict]) for verdict in VERDICTS),
        ("killed of those that are not equivalent", f"{report['score']:.1%} of {different}"),
        ("wall time, two at a time", _minutes(report["seconds"])),
    ]
    return ("", "figure"), rows


def mutants_modules() -> Rows:
    """Verdicts by module."""
    modules = record("mutants")["modules"]
    rows = [
        (f"`{module}`", sum(counts.values()), *(counts[verdict] for verdict in VERDICTS))
        for module, counts in modules.items()
    ]
    return ("module", "mutants", *VERDICTS), rows


def mutants_checks() -> Rows:
    """What killed how many, and what was changed how often."""
    report = record("mutants")
    kills = sorted(report["kills"].items(), key=lambda item: -item[1])
    return ("killed by", "mutants"), kills


def mutants_rest() -> Rows:
    """Mutants that were not killed."""
    rows = [
        (
            f"`{result['id']}`",
            f"`{result['module']}`: `{result['site']}`, {result['change']}".replace("|", "\\|"),
            result["verdict"],
            result["reason"],
        )
        for result in record("mutants")["results"]
    ]
    return ("mutant", "change", "verdict", "why"), rows


def fuzz_run() -> Rows:
    """Figures of the long run."""
    report = record("fuzz")
    missed = report["coverage"]["missed"]
    bins = sum(
        count
        for counts in report["coverage"]["bins"].values()
        for name, count in counts.items()
        if name in ("legal bins", "illegal bins")
    )
    rows = [
        _source(report),
        ("command", f"`dve fuzz --seed {report['seed']} --count {report['programs']}`"),
        ("programs", f"{report['programs']:,}"),
        ("instructions", f"{report['instructions']:,}"),
        ("differences", report["differences"]),
        ("bins hit", f"{bins:,}"),
        ("bins within reach and missed", len(missed)),
        ("wall time", _minutes(report["seconds"])),
    ]
    return ("", "figure"), rows


def fuzz_opcodes() -> Rows:
    """Coverage by opcode."""
    opcodes = record("fuzz")["coverage"]["bins"]
    labels = {opcode.name: MNEMONICS[opcode] for opcode in sorted(Opcode)}
    labels["unknown"] = "unknown opcode"
    kinds = ("legal instructions", "illegal instructions", "legal bins", "illegal bins")
    rows = [
        (label, *(f"{opcodes.get(name, {}).get(kind, 0):,}" for kind in (*kinds, "missed bins")))
        for name, label in labels.items()
    ]
    headings = ("legal", "illegal", "bins of legal ones", "reasons", "bins missed")
    return ("opcode", *headings), rows


def fuzz_values() -> Rows:
    """Instructions by reason, memory and aliasing."""
    coverage = record("fuzz")["coverage"]
    rows = []
    for field in ("reason", "memory", "aliasing"):
        counts = sorted(coverage[field].items(), key=lambda item: -item[1])
        rows.append((field, ", ".join(f"{value} {count:,}" for value, count in counts)))
    return ("by", "instructions"), rows


def arithmetic_runs() -> Rows:
    """Which commits the runs on the arithmetic units are of."""
    arith, proofs = record("arith"), record("proofs")
    tools = ", ".join(f"{name} {version}" for name, version in proofs["tools"].items())
    rows = [
        ("`dve arith --deep`", f"`{arith['revision']}`", f"seed {arith['seed']}"),
        ("`dve prove`", f"`{proofs['revision']}`", tools),
    ]
    return ("command", "commit", "with"), rows


def arith_run() -> Rows:
    """The deep run on the arithmetic units."""
    operations = record("arith")["operations"]
    # Presets that share a unit are one subject, "sim, fpga".
    results = [
        {
            name: subject
            for names, subject in entry["subjects"].items()
            for name in names.split(", ")
        }
        for entry in operations
    ]
    names = list(dict.fromkeys(name for subjects in results for name in subjects))
    rows = [
        (
            entry["operation"],
            f"{entry['cases']:,}",
            *(_differing(subjects.get(name), entry["cases"]) for name in names),
        )
        for entry, subjects in zip(operations, results, strict=True)
    ]
    return ("operation", "cases", *(f"differing: {name}" for name in names)), rows


def _differing(subject: Report | None, cases: int) -> str:
    if subject is None:
        return "-"
    compared = subject["compared"]
    return str(subject["differing"]) + ("" if compared == cases else f" of {compared:,}")


def proofs_run() -> Rows:
    """Every property with its verdict and time."""
    rows = [
        (
            finding["unit"],
            finding["statement"],
            finding["preset"],
            finding["verdict"] + (f", {finding['within']}" if finding["within"] else ""),
            f"{finding['seconds']:.1f} s",
        )
        for finding in record("proofs")["findings"]
    ]
    return ("unit", "statement", "preset", "verdict", "time"), rows


def training_run() -> Rows:
    """Ends of the curves of ``dve train``."""
    report = record("training")
    rows = []
    for name, run in report["training"].items():
        (first, last), (_, recognised), (_, off) = run["loss"], run["accuracy"], run["deviation"]
        rows.append(
            (
                run["label"],
                run["steps"],
                f"{first:.5f}",
                f"{last:.5f}",
                f"{recognised:.1%}",
                f"{off:.1e}" if off else "-",
                report["differing_bits"] if name.startswith("rtl") else "-",
                f"{run['seconds']:.0f} s",
            )
        )
    return (
        *("batch norm by", "steps", "loss, first step", "last step", "held-out digits recognised"),
        *("deviation of parameters", "bits that differ from golden", "wall time"),
    ), rows


TABLES = {
    function.__name__: function
    for function in (
        *(mutants_run, mutants_modules, mutants_checks, mutants_rest),
        *(fuzz_run, fuzz_opcodes, fuzz_values, arithmetic_runs, arith_run, proofs_run),
        *(backward_pass, training_run),
    )
}
