"""The tables of the documentation that follow from the code, and where they stand.

A document marks such a table with a pair of comments, ``<!-- table NAME -->`` and
``<!-- end -->``; what lies between is written by this file, never by hand. The tests compare.

    python tests/docs/doc_tables.py    # rewrites the tables that have changed
"""

import ast
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import conversion_tables
import numpy as np
import operator_tables
import record_tables
import unit_tables
from dve_cosim.clocks import (
    COMPLETION_CLOCKS,
    FIRST_ISSUE_CLOCKS,
    GATHER_CLOCKS,
    RECIPROCAL_CLOCKS,
    SUMS,
    aggregate_tail,
    aggregate_turn,
    back_prop_tail,
    fold_clocks,
    grad_accumulate_tail,
    overhead,
    param_load_tail,
    raw_tail,
    stats2_tail,
    stats_tail,
    tensor_tensor_tail,
)
from dve_cosim.traffic import HostCycles
from dve_golden.batchnorm import Layer, backward, reference
from dve_golden.batchnorm.accuracy import relative_errors, ulp_error
from dve_golden.batchnorm.digits import digits_layer
from dve_golden.convert.narrow import narrow
from dve_golden.convert.widen import widen
from dve_golden.isa.dispatch import DVE, Engine, Entry, is_implemented
from dve_golden.isa.enums import (
    DTYPE_BYTES,
    FLOAT_DTYPES,
    GRAD_ACCUMULATE_DTYPES,
    INTEGER_DTYPES,
    OPCODE_TABLE_BASE,
    PLAIN_DTYPES,
    RESULT_DTYPES,
    Dtype,
    Reason,
    UpdateMode,
    WaitMode,
)
from dve_golden.isa.structs import STRUCT_OF_OPCODE, tensor
from dve_golden.isa.types import Array, Record, Scalar, Wire
from dve_golden.memory.maps import MEMORY_MAPS
from dve_rtl.config import PRESETS, EngineConfig
from dve_rtl.fp32.accumulator import min_period
from dve_rtl.frontend.dispatch import DOCUMENTED, TABLE
from dve_rtl.frontend.validate import LATENCY as VALIDATE_CLOCKS
from dve_rtl.lane_orders import LOAD_LATENCY
from dve_rtl.lane_program import (
    BACK_PROP,
    GRAD_ACCUMULATE,
    PARAMETERS,
    PREPARE,
    SPREAD,
    STATISTICS,
    TENSOR_TENSOR,
    WEIGH,
    Action,
    Program,
    Schedule,
)
from dve_rtl.payloads import Handler
from dve_rtl.sequencer import PASSES, pass_gap, statistics_gap
from dve_studies.backward import results as backward_results
from dve_studies.backward import tables as backward_tables
from dve_studies.summation import results
from dve_studies.summation import tables as summation
from dve_studies.training import results as training_results
from dve_studies.training import tables as training_tables

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

BLOCK = re.compile(r"(?<=<!-- table )(\w+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    headings = list(headings)
    lines = [headings, ["---"] * len(headings), *([str(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# --- instruction set ------------------------------------------------------------------------

ROLES = {
    "S3S3D1_BN": {
        "imm0": "pointer to the mean, one element per channel",
        "src0": "Om, the activation that the forward pass saved",
        "src1": "d_y, the incoming gradient",
        "dst": "the three sums",
        "imm1": "pointer to inv_std = 1/sqrt(var + eps)",
        "in0_in1_dtype": "low nibble src0, high nibble src1",
        "immediate_dtype": "of both immediates; INVALID stands for FP32",
        "out_dtype": "of the sums",
    },
    "S3S3D1_BN2": {
        "imm0": "mean: pointer, or number of the register that holds it",
        "src0": "Om",
        "src1": "d_y",
        "dst": "the three sums",
        "imm1": "inv_std: the same",
        "in0_in1_dtype": "low nibble src0, high nibble src1",
        "immediate_out_dtype": "low nibble both immediates, high nibble the sums",
        "imm0_imm1_src": "low nibble imm0, high nibble imm1: 1 pointer, 2 register",
    },
    "S2_BN": {
        "src": "A, B, C: three elements",
        "imm1": "N, finite",
        "dtype": "of A, B, C",
        "imm0": "mean, fp32: pointer, or register number",
        "imm0_src": "0 or 1 pointer, 2 register",
    },
    "S2_BNPL2": {
        "src": "B, C: two elements",
        "element_count": "N, finite",
        "src_dtype": "of B, C",
        "immediate_dtype": "of mean and A",
        "imm0": "mean: pointer, or register number",
        "imm1": "A: the same",
        "imm0_src": "0 or 1 pointer, 2 register",
        "imm1_src": "the same for imm1",
    },
    "S4D2_BN": {
        "src": "elements; 0x62: tuples of count, mean and nvar",
        "in_dtype": "of src",
        "out_dtype": "of the results",
        "even_count": "count of the even ordinals, 0x60: of all; 0x62: 0; copied, not counted",
        "odd_count": "count of the odd ordinals; 0x60: not used; 0x62: 0",
        "dst": "0x60: count, mean, nvar; 0x61, 0x82: those of the even and of the odd ordinals; "
        "0x62: mean, variance",
    },
    "S3S3D3_TT": {
        "in0_in1_dtype": "low nibble src0, high nibble src1",
        "out_dtype": "of the result",
        "op": "0x41, 0x51: the operator; 0x8a, 0x8b, 0x8f: 4, 6, 5, as the opcode says; else 0",
        "src0": "first operand; 0x65: activation, saved or normalised; 0x72, 0x99: predicate",
        "src1": "second operand; 0x65: d_y; 0x72, 0x99: data",
        "dst": "result; 0x65: d_x",
    },
    "LOAD_PRAM": {
        "addr": "of the first word, in one partition",
        "first_entry": "0 to 255",
        "entry_count": "1 to 256",
        "dtype": "FP32",
    },
    "EVENT_SEMAPHORE": {"events": "wait and update with an operand each"},
    "NOP": {},
}
"""What a field is for; header, events, channels and reserved bytes are the same everywhere."""

COMMON_ROLES = {
    "header": "see [header](#header-and-events)",
    "events": "see [events](#header-and-events)",
    "num_active_channels": "1 to 128",
}

REASONS = {
    Reason.NONE: "executed",
    Reason.OPCODE: "byte 0 is no entry of the front-end table that this engine executes",
    Reason.LENGTH: "`inst_word_len` is not 16",
    Reason.WAIT: "undefined `wait_mode`, or its register form names a register above 63",
    Reason.UPDATE: "the same of `update_mode`",
    Reason.DTYPE: "an element type, of an operand or an immediate, outside its set",
    Reason.OPERATOR: "`op` is no operator of 0x41 or 0x51 in this generation, or not the one that "
    "another opcode asks for",
    Reason.ALIGNMENT: "a start address is no multiple of the element size; or, of a source of "
    "0x8a, 0x8b or 0x8f, no multiple of 4, an innermost step that is not 1 or an outer one that is "
    "odd",
    Reason.REGION: "a start address in neither memory, or a PSUM destination whose elements are "
    "not 4 bytes",
    Reason.PARTITION: "channels 0 or above 128, or in 0x82 no multiple of 32; a start "
    "partition that they do not fit, or a start byte outside the configured partition",
    Reason.COUNT_ZERO: "a count of 0",
    Reason.COUNT_MISMATCH: "counts of src0 and src1, or of src0 and an element-wise dst, differ; a "
    "fixed count is not met; a source of 0x60, 0x61, 0x62 or 0x82 has too many elements, or not a "
    "multiple; an innermost count of a source of 0x8a, 0x8b or 0x8f is odd; or a "
    "product exceeds 2^32 - 1",
    Reason.SOURCE_PLACEMENT: "both sources in PSUM, or in SBUF but in different quadrants",
    Reason.ADDRESSING_MODE: "a word that is neither an address nor a register, or a register that "
    "holds more than 29 bits",
    Reason.WALK: "some byte of a walk lies outside the configured partition",
    Reason.RESERVED: "a reserved byte is not 0",
    Reason.IMMEDIATE: "a selector, pointer, register number or number of an immediate is illegal; "
    "in 0x62 a count is not 0",
}


def opcodes() -> str:
    """The entries of the front-end table whose handler is known, here or on the device."""

    def address(value: int | None) -> str:
        return "-" if value is None else f"0x{value:04x}"

    def row(entry: Entry):
        executed = is_implemented(Engine.DVE, entry)
        return (
            f"0x{entry.opcode:02x}",
            f"0x{entry.index:02x}",
            entry.name,
            entry.struct,
            address(entry.trampoline),
            address(entry.handler),
            DOCUMENTED[entry.opcode].handler.name if executed else "default, reason 1",
        )

    known = [e for e in DVE if e.trampoline is not None or is_implemented(Engine.DVE, e)]
    headings = (
        *("opcode", "index", "name", "struct"),
        *("device's trampoline", "device's body", "handler here"),
    )
    return table(headings, map(row, known)) + (
        f"\nThe table has {len(TABLE)} entries, opcodes 0x{OPCODE_TABLE_BASE:02x} to "
        f"0x{OPCODE_TABLE_BASE + len(TABLE) - 1:02x}; "
        f"every other one is the default too.\n"
    )


def _type(wire: Wire) -> str:
    if isinstance(wire, Record):
        return wire.name
    if isinstance(wire, Array):
        if wire.element.kind == "reserved":
            return "zero"
        return f"{_type(wire.element)} x {wire.length}"
    assert isinstance(wire, Scalar)
    names = {"uint": "u", "int": "i", "float": "fp"}
    return "ADDR4" if wire.kind == "address" else f"{names[wire.kind]}{wire.bits}"


def _members(struct: Record) -> Iterable[tuple[str, str, Wire]]:
    """Bytes, or bits of a byte, with name and type of each member."""
    for member in struct.members:
        first, bits = struct.offset_bits(member.name), member.type.bits
        if first % 8 or bits % 8:
            yield f"bits {first}..{first + bits - 1}", member.name, member.type
        elif bits == 8:
            yield f"{first // 8}", member.name, member.type
        else:
            yield f"{first // 8}..{(first + bits) // 8 - 1}", member.name, member.type


def structs() -> str:
    """Byte tables of the wire structs."""
    text = ""
    opcodes_of: dict[str, list[str]] = {}
    for opcode, struct in STRUCT_OF_OPCODE.items():
        opcodes_of.setdefault(struct.name, []).append(f"0x{int(opcode):02x}")
    for struct in dict.fromkeys(STRUCT_OF_OPCODE.values()):
        roles = COMMON_ROLES | ROLES[struct.name]
        rows = [
            (at, f"`{name}`", _type(t), roles.get(name, "")) for at, name, t in _members(struct)
        ]
        text += f"#### {struct.name}: {', '.join(opcodes_of[struct.name])}\n\n"
        text += table(("bytes", "field", "type", "role"), rows) + "\n"
    return text


def patterns() -> str:
    """Byte tables of the access patterns."""
    ranks = [tensor(rank) for rank in (1, 2, 3, 4)]
    fields = [member.name for member in ranks[0].members]
    rows = []
    for struct in ranks:
        places = {name: at for at, name, _ in _members(struct)}
        rows.append((struct.name, struct.bits // 8, *(places[field] for field in fields)))
    return table(("pattern", "size", *(f"`{field}`" for field in fields)), rows)


def dtypes() -> str:
    """Where each element type is legal."""

    def mark(legal: bool) -> str:
        return "yes" if legal else ""

    def row(dtype: Dtype):
        immediate = mark(dtype in GRAD_ACCUMULATE_DTYPES)
        if dtype is Dtype.INVALID:
            immediate = "0x63, as FP32"
        return (
            f"0x{int(dtype):x}",
            dtype.name,
            DTYPE_BYTES.get(dtype, "-"),
            mark(dtype in GRAD_ACCUMULATE_DTYPES),
            immediate,
            mark(dtype in FLOAT_DTYPES),
            mark(dtype in FLOAT_DTYPES),
            mark(dtype in PLAIN_DTYPES),
            mark(dtype in RESULT_DTYPES),
            mark(dtype in PLAIN_DTYPES),
            mark(dtype in INTEGER_DTYPES),
        )

    headings = (
        *("code", "type", "bytes", "sources of 0x63, 0x94", "immediates of 0x63, 0x94"),
        *(
            "parameters of 0x64, 0x8e",
            "sums, statistics",
            "sources of 0x41, 0x60 to 0x62, 0x65, 0x82",
        ),
        "results of 0x41, 0x65",
        *("data and results of 0x72, 0x99", "operands of 0x51, predicates"),
    )
    return table(headings, map(row, Dtype))


def modes() -> str:
    """Event modes that are legal."""

    def listing(codes) -> str:
        return ", ".join(f"0x{int(code):02x} {code.name}" for code in codes)

    return table(
        ("field", "defined codes"),
        [("`wait_mode`", listing(WaitMode)), ("`update_mode`", listing(UpdateMode))],
    )


def reasons() -> str:
    """Reason codes."""
    return table(("code", "name", "covers"), ((int(r), r.name, REASONS[r]) for r in Reason))


def memory_map() -> str:
    """Where the two memories lie, by generation."""
    rows = (
        (
            generation.value,
            region.name,
            hex(span.base) if span.addressed else "no address",
            hex(span.stride) if span.addressed else "",
            f"{hex(span.active)} ({span.active // 1024} KiB)",
        )
        for generation, spans in MEMORY_MAPS.items()
        for region, span in spans.items()
    )
    return table(("generation", "memory", "base", "from partition to partition", "bytes"), rows)


# --- architecture ---------------------------------------------------------------------------

SIM = PRESETS["sim"]


def presets() -> str:
    """Every field of every preset."""
    fields = list(EngineConfig.__dataclass_fields__)
    rows = [(name, *(getattr(PRESETS[name], field) for field in fields)) for name in PRESETS]
    return table(("preset", *(f"`{field}`" for field in fields)), rows)


DEFAULT_LAYER_CYCLES = (4161, 14, 12, 14, 16, 12, 31, 4131)
"""What `dve cosim` reported on `sim`: GradAccum2, five for coefficients, ParamLoad2, BackProp."""


DEFAULT_LAYER_HOST = HostCycles(transfer=8226, hidden=26, total=16591)
"""The transfers beside them, from the same report."""


def cycles(config: EngineConfig, *, groups: int, elements: int) -> dict[str, int]:
    """Completion cycles of a backward pass; the first instruction meets an idle engine."""
    passes = groups * (elements + pass_gap(config))
    load = PASSES[Handler.PARAM_LOAD2]
    slots = groups * (len(load.lead) + len(load.elements))
    first = GATHER_CLOCKS + VALIDATE_CLOCKS
    return {
        "grad_accumulate2": first + passes + overhead(config, grad_accumulate_tail(config)),
        "param_load2": slots + overhead(config, param_load_tail(config), RECIPROCAL_CLOCKS + 1),
        "back_prop": passes + overhead(config, back_prop_tail(config)),
    }


def latencies() -> str:
    """Clocks of each stage, for each preset."""

    def sub(config: EngineConfig) -> int:
        return Schedule(config).start(GRAD_ACCUMULATE, "acc0")

    def tensor_tensor_result(config: EngineConfig) -> int:
        schedule = Schedule(config)
        return schedule.result(schedule.tensor_tensor)

    stages: dict[str, Callable[[EngineConfig], object]] = {
        "gather: last beat to record": lambda c: GATHER_CLOCKS,
        "decode and validate: record to operation": lambda c: VALIDATE_CLOCKS,
        "sequencer: operation to first address": lambda c: FIRST_ISSUE_CLOCKS,
        "reciprocal of N, parameter loads only": lambda c: RECIPROCAL_CLOCKS,
        "RAM and load: address to element": lambda c: LOAD_LATENCY,
        "widen": lambda c: c.widen_latency,
        "multiplier": lambda c: c.mul_latency,
        "adder": lambda c: c.add_latency,
        "accumulator as an adder": lambda c: c.add_latency + 1,
        "GradAccum: widened element to accumulators": sub,
        "GradAccum: fold, last element to sum": fold_clocks,
        "BackProp: widened element to result": lambda c: Schedule(c).result(BACK_PROP),
        "TENSOR_TENSOR: widened element to result": tensor_tensor_result,
        "narrow; the write is in its last clock": lambda c: c.narrow_latency,
        "BITVEC, exact copy: element to write": lambda c: Schedule(c).bitvec_latency,
        "completion: last write to stream": lambda c: COMPLETION_CLOCKS,
        "gap between two passes": pass_gap,
        "gap between two passes of statistics": statistics_gap,
        "fewest clocks between two first elements": lambda c: min_period(c.add_latency),
        "serial BackProp: element to next element": lambda c: back_prop_tail(c) + 1,
        "serial TENSOR_TENSOR: element to next element": lambda c: tensor_tensor_tail(c) + 1,
        "serial BITVEC: element to next element": lambda c: raw_tail(c) + 1,
    }
    rows = [(name, *(clocks(c) for c in PRESETS.values())) for name, clocks in stages.items()]
    return table(("stage, in clocks", *PRESETS), rows)


FORMULAS = {
    Action.MULTIPLY: "{a} * {b}",
    Action.SUBTRACT: "{a} - {b}",
    Action.ADD: "{a} + {b}, or -",
    Action.SUM: "fold of {a}",
    Action.CHOOSE: "{a} or {b}, or a truth value",
}


def _formula(program: Program, unit: str) -> str:
    step = program[unit]
    return FORMULAS[step.action].format(a=step.a, b=step.b)


def lane_programs() -> str:
    """Which unit takes what in which clock, at the latencies of ``sim``."""
    schedule = Schedule(SIM)
    text = ""
    programs = {
        "GRAD_ACCUMULATE": GRAD_ACCUMULATE,
        "BACK_PROP": BACK_PROP,
        "PREPARE": PREPARE,
        "TENSOR_TENSOR": TENSOR_TENSOR,
        "STATISTICS": STATISTICS,
        "WEIGH": WEIGH,
        "SPREAD": SPREAD,
    }
    for name, program in programs.items():
        rows = []
        for unit, step in program.items():
            waits = [
                f"{source} by {schedule.delay(program, unit, source)}"
                for source in step.operands
                if source not in PARAMETERS and schedule.delay(program, unit, source)
            ]
            start = schedule.start(program, unit)
            clocks = (
                start + fold_clocks(SIM)
                if step.action is Action.SUM
                else start + schedule.latency(unit)
            )
            after = "last + " if step.action is Action.SUM else ""
            rows.append(
                (unit, f"`{_formula(program, unit)}`", start, f"{after}{clocks}", ", ".join(waits))
            )
        headings = ("unit", name, "starts", "result", "delayed operands")
        text += table(headings, rows) + "\n"
    return text


def timeline() -> str:
    """One GradAccum pass of n elements on ``sim``, from the address of its first element."""
    schedule = Schedule(SIM)
    widened = LOAD_LATENCY + SIM.widen_latency
    gap = pass_gap(SIM)
    lead = len(PASSES[Handler.GRAD_ACCUMULATE].lead)
    accumulate = widened + schedule.start(GRAD_ACCUMULATE, "acc0")
    summed = accumulate - 1 + fold_clocks(SIM)
    rows = [
        (f"-{gap}, -{gap - 1}", "addresses of mean and inv_std at the memories"),
        (f"-{gap - lead} to -1", "nothing; the folds of the pass before have these slots"),
        (
            f"{widened - gap}, {widened - gap + 1}",
            "mean and inv_std, widened, into the bank of immediates",
        ),
        ("0", "address of element 0 at both memories' read ports"),
        (LOAD_LATENCY - 1, "words out of the RAM, elements selected"),
        (LOAD_LATENCY, "elements into the widening converters"),
        (widened, "om and dy widened; `sub` takes om and mean"),
        (widened + schedule.start(GRAD_ACCUMULATE, "mul0"), "`mul0` takes om - mean and inv_std"),
        (widened + schedule.start(GRAD_ACCUMULATE, "mul1"), "`mul1` takes dy and xn"),
        (accumulate, "`acc0`, `acc1`, `acc2` take dy, p and xn"),
        (f"n + {gap}", "address of element 0 of the next channel group"),
        (f"n + {accumulate - 1}", "the last element is at the accumulators"),
        (
            f"n + {accumulate} to n + {accumulate + gap - 1}",
            "the eight partials pass by; four pair sums start",
        ),
        (f"n + {summed}", "the three sums are there"),
        (
            f"n + {summed + 1} to n + {summed + SUMS}",
            "they enter the narrowing converter, in the order 0, 1, 2",
        ),
        (
            f"n + {summed + 1 + SIM.narrow_latency} to n + {summed + SUMS + SIM.narrow_latency}",
            "and are written",
        ),
    ]
    return table(("clock", "what happens"), rows)


def cycle_counts() -> str:
    """Fixed costs on ``sim``, and the default layer."""
    gap = pass_gap(SIM)
    first = GATHER_CLOCKS + VALIDATE_CLOCKS
    accumulate = overhead(SIM, grad_accumulate_tail(SIM))
    apply = overhead(SIM, back_prop_tail(SIM))
    load = overhead(SIM, param_load_tail(SIM), RECIPROCAL_CLOCKS + 1)
    entries = overhead(SIM, param_load_tail(SIM))
    operator = overhead(SIM, tensor_tensor_tail(SIM))
    raw = overhead(SIM, raw_tail(SIM))
    counts = cycles(SIM, groups=2, elements=2048)
    passes, groups = f"groups x (n + {gap})", "groups x n"
    # Of statistics the first pass has no gap; of Aggregate there are two sweeps.
    longer = statistics_gap(SIM)
    half, halves = (overhead(SIM, tail(SIM)) - longer for tail in (stats_tail, stats2_tail))
    moments, sweeps = f"groups x (n + {longer})", f"groups x (2 n + {2 * gap})"
    pooled = overhead(SIM, aggregate_tail(SIM)) - 2 * gap + aggregate_turn(SIM) - 1
    rows = [
        ("0x60", f"{moments} + {half}", f"{moments} + {half + first}"),
        ("0x61, 0x82", f"{moments} + {halves}", f"{moments} + {halves + first}"),
        (
            "0x62, 1/n in the Parameter RAM",
            f"{sweeps} + {pooled}",
            f"{sweeps} + {pooled + first}",
        ),
        ("0x63, 0x94", f"{passes} + {accumulate}", f"{passes} + {accumulate + first}"),
        ("0x65, not serial", f"{passes} + {apply}", f"{passes} + {apply + first}"),
        ("0x64, 0x8e", f"groups x 4 + {load}", f"groups x 4 + {load + first}"),
        ("0x41, 0x99, not serial", f"{groups} + {operator}", f"{groups} + {operator + first}"),
        ("0x51, 0x72, not serial", f"{groups} + {raw}", f"{groups} + {raw + first}"),
        ("0x66", f"entries + {entries}", f"entries + {entries + first}"),
    ]
    text = table(("instruction", "behind another", "into an idle engine"), rows)
    listed = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return text + (
        "\nThe default layer, 16 channels of 2,048 elements on 8 lanes, with coefficients of the "
        f"host: {listed}; {sum(counts.values()):,} in all. The five instructions of the engine's "
        f"coefficients take {sum(DEFAULT_LAYER_CYCLES) - sum(counts.values())} more.\n"
    )


def passes() -> str:
    """Slots of a pass, by handler."""

    def listing(kinds) -> str:
        return ", ".join(kind.name for kind in kinds) or "-"

    rows = []
    for handler, entry in PASSES.items():
        lead = listing(kind for kind, _ in entry.lead)
        waits = ""
        if entry.gap is not None:
            first = "" if entry.lead else ", but for the first pass"
            waits = f", then idle up to the gap{first}"
        rows.append(
            (
                handler.name,
                lead + waits,
                listing(entry.elements) + (", in turn; twice" if entry.sweeps == 2 else ""),
                "yes" if entry.takes_count else "",
            )
        )
    return table(("handler", "lead slots", "element slots; the last repeats", "1/N first"), rows)


# --- numerics and verification --------------------------------------------------------------


def _short(value: float) -> str:
    """Two significant digits."""
    return f"{float(f'{value:.2g}'):,g}"


def accuracy() -> str:
    """Errors of the default layer in fp32, by whoever computes the gradients."""
    arrays = digits_layer()
    given: dict[str, Any] = {name: arrays[name] for name in ("dy", "x", "mean", "gamma", "inv_std")}
    layer = Layer.from_arrays(**given)
    exact = reference(layer)
    names = ("d_x", "d_gamma", "d_beta")
    results = {
        "OpenDVE": backward(**given),
        "OpenDVE, `mean_coupling=False`": backward(**given, mean_coupling=False),
        "PyTorch, fp32": type(exact)(*(arrays[f"framework_{name}"] for name in names)),
    }
    rows = []
    for label, gradients in results.items():
        relative = relative_errors(layer, gradients, exact)
        for name in names:
            ulp = ulp_error(getattr(gradients, name), getattr(exact, name))
            percentile = np.quantile(ulp, 0.999, method="inverted_cdf")
            power = np.log2(getattr(relative, name))
            rows.append((label, name, f"2^{power:.1f}", _short(ulp.max()), _short(percentile)))
    return table(("computed by", "gradient", "max relative", "max ulp", "99.9 % ulp"), rows)


def coupling() -> str:
    """Errors of d_x by how far the mean is from zero, in deviations, and how it was rounded."""
    rng = np.random.default_rng(1)
    shape = (2048, 16)
    rows = []
    for ratio in (0, 1, 10, 100):
        x = (rng.standard_normal(shape) + ratio).astype(np.float32)
        dy = rng.standard_normal(shape).astype(np.float32)
        gamma = np.ones(shape[1], np.float32)
        mean, var = x.mean(0, dtype=np.float64), x.var(0, dtype=np.float64)
        inv_std = (1 / np.sqrt(var)).astype(np.float32)
        for dtype in (Dtype.FP32, Dtype.BF16):
            rounded = widen(narrow(mean.astype(np.float32), dtype), dtype)
            exact = reference(Layer.from_arrays(dy, x, rounded, gamma, inv_std=inv_std)).d_x
            powers = []
            for corrected in (False, True):
                got = backward(dy, x, rounded, gamma, inv_std=inv_std, mean_coupling=corrected).d_x
                worst = (np.abs(got - exact).max(0) / np.abs(exact).max(0)).max()
                powers.append(f"2^{np.log2(worst):.1f}")
            rows.append((ratio, dtype.name, *powers))
    return table(("mean / std", "mean rounded to", "without correction", "with"), rows)


def suite() -> str:
    """Every file of tests, with the first line that it says of itself."""
    rows = []
    for folder in ("tests", "cocotb_tests"):
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            docstring = ast.get_docstring(ast.parse(path.read_text()))
            name = path.relative_to(ROOT).as_posix()
            assert docstring, f"{name} has no docstring"
            rows.append((f"[`{name}`](../{name})", docstring.split("\n\n")[0].replace("\n", " ")))
    return table(("file", "what it tests"), rows)


TABLES: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        *(opcodes, structs, patterns, dtypes, modes, reasons, memory_map),
        *(presets, latencies, lane_programs, timeline, cycle_counts, passes),
        *(accuracy, coupling, suite),
    )
}


# --- conversions and operators --------------------------------------------------------------


def _of(module: ModuleType, name: str) -> str:
    """A table that a module beside this one makes."""
    return table(*module.TABLES[name]())


for _module in (conversion_tables, operator_tables):
    _prefix = _module.__name__.removesuffix("_tables")
    TABLES |= {f"{_prefix}_{name}": partial(_of, _module, name) for name in _module.TABLES}


# --- units ----------------------------------------------------------------------------------


def _stage_map(name: str) -> str:
    """The stages of a unit."""
    return table(*unit_tables.stage_map(name))


def _measured(name: str) -> str:
    """A table of area and speed, from the recorded measurements."""
    return table(*unit_tables.MEASURED[name]())


TABLES |= {f"stages_{name}": partial(_stage_map, name) for name in unit_tables.STAGED}
TABLES |= {
    f"derivation_{name}": partial(unit_tables.derivation, name) for name in unit_tables.DERIVED
}
TABLES |= {f"synthesis_{name}": partial(_measured, name) for name in unit_tables.MEASURED}


# --- studies --------------------------------------------------------------------------------


def _summation(name: str) -> str:
    """A table of the study of summation, from its published measurements."""
    return table(*summation.TABLES[name](results.published()))


TABLES |= {f"summation_{name}": partial(_summation, name) for name in summation.TABLES}


def builder() -> str:
    """What the example of the program builder prints; its last statement is the print."""
    page = (ROOT / "docs" / "assembly.md").read_text()
    example = re.findall(r"^```py\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0]
    printed: list[str] = []
    exec(example, {"print": printed.append})
    return f"```asm\n{''.join(printed)}```\n"


TABLES["builder"] = builder


def _backward(name: str) -> str:
    """A table of the study of the backward pass, from its published measurements."""
    return table(*backward_tables.TABLES[name](backward_results.published()))


TABLES |= {f"backward_{name}": partial(_backward, name) for name in backward_tables.TABLES}


def _training(name: str) -> str:
    """A table of the study of training, from its published measurements."""
    return table(*training_tables.TABLES[name](training_results.published()))


TABLES |= {f"training_{name}": partial(_training, name) for name in training_tables.TABLES}


# --- long runs ------------------------------------------------------------------------------


def _record(rows: Callable[[], record_tables.Rows]) -> str:
    """A table of a kept report."""
    return table(*rows())


TABLES |= {name: partial(_record, rows) for name, rows in record_tables.TABLES.items()}


def up_to_date(text: str) -> str:
    """A page with its tables as the code says now.

    Raises
    ------
    KeyError
        If the page marks a table that is not one of `TABLES`.
    """
    return BLOCK.sub(lambda block: f"{block[1]}{block[2]}{TABLES[block[1]]()}", text)


if __name__ == "__main__":
    for page in PAGES:
        before = page.read_text()
        after = up_to_date(before)
        if after != before:
            page.write_text(after)
            print(f"rewrote {page.relative_to(ROOT)}")
