"""Yosys proves what is equivalent, and nothing else."""

import pytest
from dve_cosim.mutation.equivalence import is_proved
from dve_cosim.mutation.sites import Mutant, sites_of

TEXT = r"""
module \m.inner (clk, a, b, q);
  input clk;
  wire clk;
  input [3:0] a;
  wire [3:0] a;
  input [3:0] b;
  wire [3:0] b;
  wire [3:0] lowest;
  wire both;
  output [3:0] q;
  reg [3:0] q = 4'h0;
  reg [3:0] words [3:0];
  always @(posedge clk) begin
    words[a[1:0]] <= lowest;
  end
  reg [3:0] _0_;
  always @(posedge clk)
    _0_ <= words[b[1:0]];
  \m.inner.child  child (
    .a(lowest),
    .clk(clk)
  );
  assign lowest = a & - a;
  assign both = lowest == 4'h3;
  always @(posedge clk)
    q <= both ? b : _0_;
endmodule

module \m.inner.child (clk, a);
  input clk;
  wire clk;
  input [3:0] a;
  wire [3:0] a;
endmodule
"""


@pytest.mark.parametrize(
    ("mutant", "is_equivalent"),
    [
        # Of a word's lowest one alone, no two bits are set.
        ("both = (lowest == 4'h3): bit 0 is 0", True),
        ("both = (lowest == 4'h3): in term 2 4'h3 becomes 4'h4", False),
        ("q <= (both ? b : words[b[1:0]]): bit 2 is 1", False),
    ],
)
def test_proofs(mutant, is_equivalent, monkeypatch, tmp_path):
    monkeypatch.setenv("DVE_CACHE", str(tmp_path))
    mutants = {
        f"{site.shown}: {change.detail}": Mutant(site, change)
        for site in sites_of(TEXT)["m.inner"]
        for change in site.changes
    }
    assert is_proved(TEXT, mutants[mutant], lambda: None) is is_equivalent
    assert not list(tmp_path.rglob("*.v"))


def test_an_interrupt_ends_a_proof(monkeypatch, tmp_path):
    monkeypatch.setenv("DVE_CACHE", str(tmp_path))
    site = sites_of(TEXT)["m.inner"][0]

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        is_proved(TEXT, Mutant(site, site.changes[0]), interrupt)
    assert not list((tmp_path / "equivalence").glob("*/verdict"))
