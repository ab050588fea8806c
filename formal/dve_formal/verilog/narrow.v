// What narrow promises (isa_common.md 2.5). `unit` is the converter with its registers made wires;
// `holds` is to be 1 for every binary32 pattern. A NaN becomes the canonical one of the format, and
// infinity is the number after the largest: it is near to what is beyond half a step.

module narrow_fp32 (
  input clk,
  input [31:0] i,
  output [31:0] got, want,
  output holds
);
  wire nan;
  classify class_i (.x(i), .nan(nan));
  unit unit (.clk(clk), .control(7'b0), .dtype(4'hA), .i(i), .o(got));
  assign want = nan ? `CANONICAL_NAN : i;
  assign holds = got == want;
endmodule

module narrow_fp32r (
  input clk,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  wire nan, infinite, fits;
  classify class_i (.x(i), .nan(nan), .infinite(infinite));
  unit unit (.clk(clk), .control(7'b0), .dtype(4'hB), .i(i), .o(got));
  nearest_prefix #(.DROPPED(10)) nearest (.m(i[30:0]), .c(got[30:0]), .o(fits));
  assign holds = nan ? got == `CANONICAL_NAN
    : infinite ? got == i
    : fits && got[31] == i[31];
endmodule

module narrow_bf16 (
  input clk,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  wire nan, infinite, fits;
  classify class_i (.x(i), .nan(nan), .infinite(infinite));
  unit unit (.clk(clk), .control(7'b0), .dtype(4'h6), .i(i), .o(got));
  nearest_prefix #(.DROPPED(16)) nearest (.m(i[30:0]), .c({got[14:0], 16'b0}), .o(fits));
  assign holds = got[31:16] == 0 && (nan ? got[15:0] == 16'h7FC0
    : infinite ? got[15:0] == i[31:16]
    : fits && got[15] == i[31]);
endmodule

module narrow_fp16 (
  input clk,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  wire nan, infinite, fits;
  classify class_i (.x(i), .nan(nan), .infinite(infinite));
  unit unit (.clk(clk), .control(7'b0), .dtype(4'h7), .i(i), .o(got));
  nearest_half nearest (.m(i[30:0]), .c(got[14:0]), .o(fits));
  assign holds = got[31:16] == 0 && (nan ? got[15:0] == 16'h7E00
    : infinite ? got[15:0] == {i[31], 15'h7C00}
    : fits && got[15] == i[31]);
endmodule
