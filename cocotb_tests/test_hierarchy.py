"""Arrays are found in generated Verilog under whatever name they were given."""

import pytest
from dve_cosim.errors import CosimError
from dve_cosim.hierarchy import array_path

VERILOG = r"""
module store #(parameter DEPTH = 2) (input clk);
  reg [63:0] words [0:DEPTH-1];
endmodule
module \lane.sbuf$12 (clk);
  store #(
    .DEPTH(32'd4),
    .BITS(32'd2)
  ) array (
    .clk(clk)
  );
endmodule
module lane(clk);
  wire [63:0] sbuf;
  \lane.sbuf$12  \sbuf$12  (
    .clk(clk)
  );
  store #(.DEPTH(2)) psum (
    .clk(clk)
  );
endmodule
"""


def test_a_renamed_instance_is_found_through_its_levels():
    assert array_path(VERILOG, module="lane", instance="sbuf", array="words") == (
        "\\sbuf$12 .array.words"
    )


def test_a_direct_instance_is_found():
    assert array_path(VERILOG, module="lane", instance="psum", array="words") == "psum.words"


@pytest.mark.parametrize(("instance", "array"), [("dram", "words"), ("psum", "bytes")])
def test_a_missing_array_is_named(instance, array):
    with pytest.raises(CosimError, match=f"0 arrays {array} under {instance}"):
        array_path(VERILOG, module="lane", instance=instance, array=array)
