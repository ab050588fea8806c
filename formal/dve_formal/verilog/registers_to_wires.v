// For Yosys: in a pipeline that only delays, the result is a function of the operands, and a register
// is no part of it.

(* techmap_celltype = "$dff" *)
module register_to_wire (
  input CLK,
  input [WIDTH-1:0] D,
  output [WIDTH-1:0] Q
);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1;
  assign Q = D;
endmodule
