"""Proofs that take seconds, and units with a planted fault, which must be refuted."""

import re

import numpy as np
import pytest
from dve_cosim.arith import ieee
from dve_cosim.errors import CosimError
from dve_formal import netlist, prover, solver
from dve_formal.properties import PROPERTIES
from dve_formal.prover import Verdict, prove, unit_of
from dve_formal.solver import Answer, decide
from dve_golden.isa.control import Control, IntegerRounding
from dve_rtl.config import PRESETS
from dve_rtl.convert.control import encoded

MINUTES = {"add_is_ieee"}
"""Left to ``dve prove``."""

CONVERTERS = ("widen", "narrow")
UNITS = ("adder", "multiplier", *CONVERTERS)
NEAREST = IntegerRounding.NEAREST_EVEN
PLENTY = 600.0
"""Seconds; nothing here needs them."""


def chosen(*names):
    return [entry for entry in PROPERTIES if entry.name in names]


def of(unit):
    return [entry for entry in PROPERTIES if entry.unit == unit and entry.name not in MINUTES]


QUICK = [
    *((unit, "fpga") for unit in UNITS),
    *((unit, "sim") for unit in CONVERTERS),
]
"""Units and presets."""


@pytest.mark.parametrize(("unit", "preset"), QUICK)
def test_everything_quick_is_proved(unit, preset):
    findings = list(prove(of(unit), {preset: PRESETS[preset]}, seconds=PLENTY))
    assert [finding.entry for finding in findings] == of(unit)
    for finding in findings:
        assert finding.verdict is Verdict.PROVED, finding.described()


def test_every_promised_result_has_a_property():
    """A module of the specifications that no property names would prove nothing."""
    named = {entry.name for entry in PROPERTIES if not entry.structural}
    modules = {
        match[1]
        for unit in UNITS
        for match in re.finditer(
            r"^module (\w+) \([^;]*\bholds\b[^;]*;",
            (netlist.VERILOG / f"{unit}.v").read_text(),
            re.MULTILINE,
        )
    }
    assert modules == named
    assert {entry.unit for entry in PROPERTIES if entry.structural} == set(UNITS)


# --- faults -------------------------------------------------------------------------------------


def planted(ports, wrong):
    """Units whose result has one bit flipped when the condition ``wrong`` holds."""

    def units(name, config):
        text, latency = unit_of(name, config)
        inner = text.replace("module unit(", "module sound(", 1)
        connected = ", ".join(f".{port}({port})" for port in ("clk", *ports))
        declared = ", ".join(
            f"input [{width - 1}:0] {port}" for port, width in {"clk": 1, **ports}.items()
        )
        return (
            f"{inner}\n"
            f"module unit({declared}, output [31:0] o);\n"
            f"wire [31:0] result;\n"
            f"sound sound({connected}, .o(result));\n"
            f"assign o = result ^ ({wrong});\n"
            "endmodule\n"
        ), latency

    return units


CONVERTER = {"dtype": 4, "control": 7, "i": 32}


def find(name, units, preset="sim"):
    (finding,) = prove(chosen(name), {preset: PRESETS[preset]}, seconds=PLENTY, units=units)
    return finding


@pytest.mark.parametrize(
    ("name", "code", "form"),
    [
        ("narrow_fp16", 7, ieee.BINARY16),
        ("narrow_bf16", 6, ieee.BFLOAT16),
        ("narrow_fp32r", 11, ieee.FP32R),
    ],
)
def test_one_wrong_bit_of_one_operand_is_found(name, code, form):
    pattern = 0x387FE123  # a subnormal of FP16
    units = planted(CONVERTER, f"dtype == {code} && control == 0 && i == 32'h{pattern:x}")
    finding = find(name, units, "fpga")
    assert finding.verdict is Verdict.REFUTED
    assert finding.counterexample["i"] == pattern
    right = int(ieee.narrowed(np.array([pattern], np.uint32), form)[0])
    assert finding.counterexample["got"] == right ^ 1
    assert finding.described()["counterexample"]["i"] == "0x387fe123"


@pytest.mark.parametrize(
    ("name", "code", "control", "i", "right"),
    [
        ("narrow_fp32", 0xA, Control(flush_to_zero=True), 0x807FFFFF, 0x80000000),
        ("narrow_fp16", 7, Control(sis=True), 0x477FF000, 0x7BFF),
        ("narrow_fp16", 7, Control(flush_to_zero=True), 0xB87FDFFF, 0x8000),
        ("narrow_bf16", 6, Control(sns=True), 0xFFFFFFFF, 0x7F7F),
        ("narrow_fp8_exp3", 0xD, Control(range_extension=True), 0x41F40001, 0x7F),
        ("narrow_fp8_exp4", 0xE, Control(emax_e4m3=8), 0x43E80000, 0x7E),
        ("narrow_fp8_exp5", 0xF, Control(ocp_sat=True), 0xC7700000, 0xFB),
        ("narrow_int8", 2, Control(integer_rounding=NEAREST), 0xC3008000, 0x80),
        ("narrow_uint32", 9, Control(), 0x4F7FFFFF, 0xFFFFFF00),
        ("widen_fp8_exp3", 0xD, Control(range_extension=True), 0x7E, 0x41F00000),
        ("widen_fp8_exp4", 0xE, Control(), 0xF8, 0xFF800000),
        ("widen_fp8_exp5", 0xF, Control(flush_to_zero=True), 0x83, 0x80000000),
        ("widen_bf16", 6, Control(flush_to_zero=True), 0x7F, 0),
        ("widen_int16", 4, Control(), 0x8000, 0xC7000000),
    ],
)
def test_one_wrong_bit_under_one_control_value_is_found(name, code, control, i, right):
    bits = sum(bit << at for at, bit in enumerate(encoded(control).values()))
    units = planted(CONVERTER, f"dtype == {code} && control == {bits} && i == 32'h{i:x}")
    finding = find(name, units)
    assert finding.verdict is Verdict.REFUTED
    shown = finding.counterexample
    assert (shown["control"], shown["i"]) == (bits, i)
    assert (shown["got"] ^ right) % (1 << 8) == 1  # bits above an element are no part of it


def test_one_wrong_sum_is_found():
    a, b = 0x12345678, 0x92345679
    ports = {"a": 32, "b": 32, "subtract": 1}
    units = planted(ports, f"a == 32'h{a:x} && b == 32'h{b:x} && !subtract")
    finding = find("subtract_is_add", units)
    assert finding.verdict is Verdict.REFUTED
    shown = finding.counterexample
    assert (shown["a"], shown["b"]) == (a, b ^ 0x80000000)
    operands = (np.array([operand], np.uint32) for operand in (a, b))
    right = int(ieee.add(*operands)[0])
    assert (shown["got"], shown["want"]) == (right, right ^ 1)


def test_a_wrong_integer_is_found():
    finding = find("widen_int32", planted(CONVERTER, "i == 32'h81000001"))
    assert finding.verdict is Verdict.REFUTED
    assert finding.counterexample["i"] == 0x81000001


# --- pipelines ----------------------------------------------------------------------------------

HEAD = (
    "module unit(input clk, input [3:0] dtype, input [6:0] control, input [31:0] i,"
    " output [31:0] o);\n"
)


@pytest.mark.parametrize(
    ("body", "explanation"),
    [
        (
            "reg [31:0] x; reg [31:0] y; always @(posedge clk) begin x <= i; y <= x + dtype; end"
            " assign o = y;",
            "dtype is behind 0 registers where it meets x behind 1",
        ),
        (
            "reg [31:0] x; always @(posedge clk) x <= i; assign o = {i[31:16], x[15:0]};",
            r"bits of o are behind \[0, 1\] registers",
        ),
        ("reg [31:0] x; always @(posedge clk) x <= i; assign o = x;", "1 registers, latency 2"),
        ("reg [31:0] x; always @(posedge clk) if (dtype[0]) x <= i; assign o = x;", "a loop"),
        ("reg [31:0] x; always @(negedge clk) x <= i; assign o = x;", "not on the rising edge"),
        ("reg [31:0] x; always @* if (clk) x = i; assign o = x;", "not a plain register"),
        ("assign o = 0;", "no operand"),
        ("assign o = control;", "no operand"),
    ],
)
def test_a_pipeline_that_does_more_than_delay_is_refuted(body, explanation):
    def units(name, config):
        return f"{HEAD}{body}\nendmodule\n", 2

    finding = find("widen_pipeline", units)
    assert finding.verdict is Verdict.REFUTED
    assert re.search(explanation, finding.explanation)


def test_control_values_may_meet_an_operand_in_any_stage():
    body = (
        "reg [31:0] x; reg [31:0] y; wire negate = ~control[0]; always @(posedge clk) begin"
        " x <= i ^ control[1]; y <= negate ? ~x : x; end assign o = y + control[2];"
    )

    def units(name, config):
        return f"{HEAD}{body}\nendmodule\n", 2

    assert find("widen_pipeline", units).verdict is Verdict.PROVED


# --- time and tools -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([None, False], Verdict.BOUNDED),
        ([None, True], Verdict.REFUTED),
        ([None, None], Verdict.OPEN),
    ],
)
def test_without_enough_time_a_restricted_proof_is_tried(monkeypatch, answers, verdict):
    asked = []

    def limited(formula, terms, *, seconds, poll):
        asked.append((formula.count("(assert "), seconds))
        satisfiable = answers[len(asked) - 1]
        return Answer(satisfiable, dict.fromkeys(terms, 5) if satisfiable else {})

    monkeypatch.setattr(prover, "decide", limited)
    (finding,) = prove(chosen("multiply_commutes"), {"sim": PRESETS["sim"]}, seconds=3.0)
    assert finding.verdict is verdict
    assert asked[0][0] + 1 == asked[1][0]
    assert {seconds for _, seconds in asked} == {3.0}
    assert finding.described()["within"] == (
        "fractions of 11 bits" if verdict is Verdict.BOUNDED else ""
    )
    assert finding.counterexample.get("a") == (5 if verdict is Verdict.REFUTED else None)


def test_the_solver_is_given_up_in_time():
    polls = []
    factors = "(declare-const p (_ BitVec 80)) (declare-const q (_ BitVec 80))"
    product = "#x" + f"{(10**12 + 39) * (10**11 + 3):020x}"  # of two primes
    formula = (
        f"(set-logic QF_BV) {factors} (assert (= (bvmul p q) {product}))"
        "(assert (and (bvult p #x00000100000000000000) (bvult q #x00000100000000000000)"
        "(bvugt p #x00000000000000000001) (bvugt q #x00000000000000000001)))"
    )
    answer = decide(formula, [], seconds=0.3, poll=lambda: polls.append(1))
    assert answer == Answer(None, {})
    assert polls


def test_values_of_a_formula_that_can_be_true():
    formula = "(set-logic QF_BV)(declare-const p (_ BitVec 8))(assert (= (bvadd p #x01) #x00))"
    assert decide(formula, ["p", "(= p #xff)"], seconds=PLENTY, poll=lambda: None) == Answer(
        True, {"p": 255, "(= p #xff)": 1}
    )


def test_a_solver_that_fails_is_one_line():
    with pytest.raises(CosimError, match="the solver ended with exit code 1: "):
        decide("(assert", [], seconds=PLENTY, poll=lambda: None)


def test_missing_tools_are_named(monkeypatch):
    monkeypatch.setattr(solver.util, "find_spec", lambda name: None)
    with pytest.raises(CosimError, match=r"bitwuzla is not installed; .*opendve\[formal\]"):
        solver.bitwuzla_version()
    with pytest.raises(CosimError, match="yosys-of-tomorrow is not installed; "):
        netlist._version("yosys-of-tomorrow")


def test_what_yosys_does_not_read_is_one_line():
    with pytest.raises(CosimError, match=r"yosys failed with exit code 1; see .*\.log"):
        find("widen_fp32", lambda name, config: ("module unit(", 1))
