"""Where mutants are possible, what they are called, and the texts that hold them."""

import random
import re
from itertools import islice

import pytest
from dve_cosim.engine import engine_verilog
from dve_cosim.errors import CosimError
from dve_cosim.mutation.instrument import instrumented, mutated
from dve_cosim.mutation.operators import OPERATORS
from dve_cosim.mutation.records import read_records
from dve_cosim.mutation.sample import LEAST, sample, shares
from dve_cosim.mutation.selection import CONFIG
from dve_cosim.mutation.sites import Mutant, sites_of
from dve_cosim.mutation.verilog import parse

TEXT = r"""
module top(clk, rst, a, b, pick, q, word);
  wire \$1 ;
  wire \$2 ;
  reg [3:0] \$3 ;
  input clk;
  wire clk;
  input rst;
  wire rst;
  input [3:0] a;
  wire [3:0] a;
  input [3:0] b;
  wire [3:0] b;
  input [1:0] pick;
  wire [1:0] pick;
  wire [3:0] copy;
  wire [3:0] unread;
  wire [4:0] sum;
  output [3:0] q;
  reg [3:0] q = 4'h0;
  output [7:0] word;
  wire [7:0] word;
  reg [7:0] words [15:0];
  initial begin
    words[0] = 8'h01;
  end
  always @(posedge clk) begin
    if (\$1 )
      words[a] <= { 4'h5, b };
  end
  reg [7:0] _0_;
  always @(posedge clk)
    _0_ <= words[b];
  assign word = _0_;
  assign \$1  = a < b;
  assign \$2  = a == 4'h7;
  assign sum = a - b;
  assign copy = sum[3:0];
  assign unread = a & b;
  always @(posedge clk)
    q <= \$3 ;
  always @* begin
    if (\$auto$verilog_backend.cc:1:dump_module$1 ) begin end
    \$3  = q;
    (* full_case = 32'd1 *)
    casez (pick)
      2'h0:
          /* empty */;
      2'h1:
          \$3  = copy;
      default:
          if (\$2 ) begin
            \$3  = 4'ha;
          end
    endcase
    if (rst) begin
      \$3  = 4'h0;
    end
  end
endmodule
"""


@pytest.fixture(scope="module")
def design():
    """The export of the engine of a campaign, and its sites."""
    text = engine_verilog(CONFIG)
    return text, sites_of(text)


def mutants_of(sites):
    return [
        Mutant(site, change)
        for inside in sites.values()
        for site in inside
        for change in site.changes
    ]


def described(text=TEXT):
    return {f"{m.site.shown}: {m.change.detail}" for m in mutants_of(sites_of(text))}


def statement(text, mutant):
    """What a mutant makes of its lines, without layout."""
    before, after = text.splitlines(), mutated(text, mutant).splitlines()
    changed = [line for line in after if line not in before]
    return [re.sub(r"\s+", " ", line).strip() for line in changed]


@pytest.mark.parametrize(
    ("mutant", "wrong"),
    [
        ("(a < b): inverted", [r"assign \$1 = !(a < b ) ;"]),
        ("(a < b): operands of < swapped", [r"assign \$1 = (b < a ) ;"]),
        ("(a < b): < becomes <=", [r"assign \$1 = (a <= b ) ;"]),
        ("(a == 4'h7): in term 2 4'h7 becomes 4'h8", [r"assign \$2 = a == 4'h8 ;"]),
        ("(a == 4'h7): in term 2 4'h7 becomes 4'h6", [r"assign \$2 = a == 4'h6 ;"]),
        ("sum = (a - b): - becomes +", ["assign sum = (a + b ) ;"]),
        (
            "sum = (a - b): bit 3 is 1",
            [r"wire [4:0] \mutant.right = a - b ;", r"assign sum = \mutant.right | 5'h8 ;"],
        ),
        ("case pick: bit 1 is 0", ["casez ((pick ) & ~2'h2 )"]),
        (
            "case pick is default: if (a == 4'h7): next q = 4'ha: omitted",
            ["begin end"],
        ),
        (
            "case pick is default: if (a == 4'h7): next q = 4'ha: bit 0 is 1",
            [r"begin \$3 = 4'ha ; \$3 [0] = 1'h1; end"],
        ),
        (
            "case pick is default: if (a == 4'h7): next q = 4'ha: 4'ha becomes 4'hb",
            [r"begin \$3 = 4'hb ; end"],
        ),
        ("case pick is default: if (a == 4'h7): always true", ["if (1'h1 ) begin"]),
        (
            "if (a < b): words[a] <= {4'h5, b}: bit 7 is 1",
            ["begin words[a] <= { 4'h5, b } ; words[a] [7] <= 1'h1; end"],
        ),
        ("if rst: always false", ["if (1'h0 ) begin"]),
    ],
)
def test_what_a_mutant_writes(mutant, wrong):
    found = {f"{m.site.shown}: {m.change.detail}": m for m in mutants_of(sites_of(TEXT))}
    assert statement(TEXT, found[mutant]) == wrong


@pytest.mark.parametrize(
    "absent",
    [
        "unread",  # nobody reads it
        "copy = ",  # a copy computes nothing
        "sum = (a - b): bit 4 is",  # of the difference only four bits are read
        "next q = 4'h0",  # a reset value: the condition above it is a site already
        "{4'h5, b}: bit 6 is 1",  # it is 1 already
        "dump_module",  # what the back end adds
    ],
)
def test_what_is_no_site(absent):
    assert not [name for name in described() if absent in name]


def test_an_id_outlasts_changes_elsewhere():
    before = {mutant.id for mutant in mutants_of(sites_of(TEXT))}
    grown = TEXT.replace(r"\$2 ", r"\$7 ").replace(r"\$3 ", r"\$91 ")
    grown = grown.replace("  assign sum", "  wire \\$2 ;\n  assign \\$2  = ^ a;\n\n  assign sum")
    assert before <= {mutant.id for mutant in mutants_of(sites_of(grown))}
    other = TEXT.replace("a < b", "b < a")
    assert before - {mutant.id for mutant in mutants_of(sites_of(other))}


def test_unknown_verilog_is_named():
    with pytest.raises(CosimError, match=r"line 2: unexpected 'b = a;'"):
        parse("module m(a);\n  always @* else b = a;\nendmodule\n")


def test_the_design_offers_every_operator(design):
    _, sites = design
    found = {change.operator for inside in sites.values() for s in inside for change in s.changes}
    assert found == set(OPERATORS)
    assert {"dve_lane.units.mul0", "dve_engine.sequencer", "dve_ram_2r1w"} <= sites.keys()


def test_every_mutant_has_its_own_id(design):
    ids = [mutant.id for mutant in mutants_of(design[1])]
    assert len(ids) == len(set(ids)) > 10_000


def test_the_choice_follows_from_the_seed(design):
    text, sites = design
    first = [mutant.id for mutant in sample(sites, count=200, seed=3)]
    again = [mutant.id for mutant in sample(sites_of(text), count=200, seed=3)]
    assert first == again
    assert len(set(first)) == 200
    assert first != [mutant.id for mutant in sample(sites, count=200, seed=4)]


def test_every_module_has_its_share(design):
    _, sites = design
    chosen = sample(sites, count=200, seed=0)
    counts = {name: sum(m.site in inside for m in chosen) for name, inside in sites.items()}
    for name, inside in sites.items():
        assert counts[name] >= min(LEAST, len(inside)), name
    largest = max(sites, key=lambda name: len(sites[name]))
    assert counts[largest] == max(counts.values())
    operators = {mutant.change.operator for mutant in chosen}
    assert operators == set(OPERATORS)


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ({"a": 100, "b": 50, "c": 1}, 33, {"a": 21, "b": 11, "c": 1}),
        ({"a": 3, "b": 3}, 100, {"a": 3, "b": 3}),
        ({"a": 9, "b": 5, "c": 7}, 2, {"a": 1, "b": 0, "c": 1}),
        ({"a": 0, "b": 1}, 3, {"a": 0, "b": 1}),
    ],
)
def test_shares(sizes, count, expected):
    assert shares(sizes, count) == expected


def test_all_mutants_of_a_build_lie_behind_one_select(design):
    text, sites = design
    chosen = sample(sites, count=60, seed=1)
    changed = instrumented(text, chosen)
    for number in range(1, 61):
        assert changed.count(f"dve_mutation::selected == 16'd{number})") == 1
    # What was there before still is: with a select of 0 it is what counts.
    for mutant in chosen:
        value = mutant.site.statement.value
        assert value
        assert text[value.start : value.end] in changed
    head, _, rest = changed.partition("endpackage\n")
    assert head.startswith("package dve_mutation;")
    assert len(parse(text)) == rest.count("\nendmodule")


def test_a_mutant_alone_is_the_text_with_one_place_changed(design):
    text, sites = design
    candidates = mutants_of(sites)
    random.Random(5).shuffle(candidates)
    for mutant in islice(candidates, 30):
        changed = mutated(text, mutant)
        start = mutant.site.statement.start
        assert changed[:start] == text[:start]
        assert changed[start:] != text[start:]
        assert changed.endswith(text[mutant.site.statement.end :])


def test_the_records_are_complete():
    for name, record in read_records().items():
        assert re.fullmatch(r"[0-9a-f]{10}", name), name
        assert len(record.reason) > 20, name
        assert record.mutant, name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[0123456789]\nverdict = 'equivalent'\n", r"0123456789 must have verdict, mutant, reason"),
        (
            "[0123456789]\nverdict = 'perhaps'\nmutant = 'm'\nreason = 'r'\n",
            r"verdict of 0123456789 is 'perhaps', not one of equivalent, explained",
        ),
        ("[", r"cannot read .*known.toml"),
    ],
)
def test_a_bad_record_is_named(tmp_path, text, message):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(CosimError, match=message):
        read_records(path)
