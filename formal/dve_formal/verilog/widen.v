// What widen promises (isa_common.md 2.5). `unit` is the converter with its registers made wires;
// `holds` is to be 1 for every element. A NaN becomes the canonical one.

module widen_fp32 (
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

module widen_bf16 (
  input clk,
  input [15:0] i,
  output [31:0] got, want,
  output holds
);
  unit unit (.clk(clk), .control(7'b0), .dtype(4'h6), .i({16'b0, i}), .o(got));
  assign want = i[14:0] > 15'h7F80 ? `CANONICAL_NAN : {i, 16'b0};
  assign holds = got == want;
endmodule

module widen_fp16 (
  input clk,
  input [15:0] i,
  output [31:0] got, want,
  output holds
);
  wire [30:0] magnitude;
  unit unit (.clk(clk), .control(7'b0), .dtype(4'h7), .i({16'b0, i}), .o(got));
  half_steps number (.code({i[14:0], 1'b0}), .o(magnitude));
  assign want = i[14:0] > 15'h7C00 ? `CANONICAL_NAN
    : i[14:0] == 15'h7C00 ? {i[15], `INFINITY}
    : {i[15], magnitude};
  assign holds = got == want;
endmodule

// The result, which has a field of 127 or more, in units of 2^-24 between its midpoints: with one
// fraction bit more, pattern 2c + 1 is the midpoint between c and the next.
module widen_int32 (
  input clk,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(7'b0), .dtype(4'h8), .i(i), .o(got));
  wire [31:0] magnitude = i[31] ? -i : i;
  wire [31:0] code_above = {got[30:0], 1'b0} + 1;
  wire [31:0] code_below = {got[30:0], 1'b0} - 1;
  wire [4:0] binade_above = code_above[31:24] - 127;
  wire [4:0] binade_below = code_below[31:24] - 127;
  wire [56:0] above = {32'b0, 1'b1, code_above[23:0]} << binade_above;
  // Half a step below 1.0 is of no concern: an integer that is not 0 is 1 or more.
  wire [56:0] below = got[30:0] == 31'h3F800000 ? 57'b0
    : {32'b0, 1'b1, code_below[23:0]} << binade_below;
  wire [56:0] exact = {1'b0, magnitude, 24'b0};
  wire in_range = got[30:23] >= 127 && got[30:23] <= 127 + 31;
  wire fits = (exact > below || (exact == below && !got[0]))
    && (exact < above || (exact == above && !got[0]));
  assign holds = i == 0 ? got == 0 : got[31] == i[31] && in_range && fits;
endmodule
