// What widen promises (isa_common.md 2.5, 2.6). `unit` is the converter with its registers made
// wires; `holds` is to be 1 for every element and all control values. A NaN becomes the canonical
// one.

// A float of E exponent and F fraction bits. If it is `extended` then its last code is the only NaN
// and it has no infinity.
module widened_float #(
  parameter E = 5,
  parameter F = 10
) (
  input [E+F:0] i,
  input extended, flush,
  output [31:0] o
);
  localparam [E+F-1:0] INFINITE = ((1 << E) - 1) << F;
  localparam [E+F-1:0] ONES = {E + F{1'b1}};
  wire sign = i[E+F];
  wire [E+F-1:0] code = i[E+F-1:0];
  wire [30:0] magnitude;
  steps #(.E(E), .F(F)) number (.code(code), .o(magnitude));
  assign o = (extended ? code == ONES : code > INFINITE) ? `CANONICAL_NAN
    : !extended && code == INFINITE ? {sign, `INFINITY}
    : flush && code < 1 << F ? {sign, 31'b0}
    : {sign, magnitude};
endmodule

module widen_fp32 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got, want,
  output holds
);
  wire nan;
  classify class_i (.x(i), .nan(nan));
  unit unit (.clk(clk), .control(control), .dtype(4'hA), .i(i), .o(got));
  assign want = nan ? `CANONICAL_NAN
    : control[`FLUSH_TO_ZERO] && i[30:0] < 1 << 23 ? {i[31], 31'b0}
    : i;
  assign holds = got == want;
endmodule

module widen_bf16 (
  input clk,
  input [6:0] control,
  input [15:0] i,
  output [31:0] got, want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h6), .i({16'b0, i}), .o(got));
  widened_float #(.E(8), .F(7)) float (
    .i(i), .extended(1'b0), .flush(control[`FLUSH_TO_ZERO]), .o(want)
  );
  assign holds = got == want;
endmodule

module widen_fp16 (
  input clk,
  input [6:0] control,
  input [15:0] i,
  output [31:0] got, want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h7), .i({16'b0, i}), .o(got));
  widened_float #(.E(5), .F(10)) float (
    .i(i), .extended(1'b0), .flush(control[`FLUSH_TO_ZERO]), .o(want)
  );
  assign holds = got == want;
endmodule

module widen_fp8_exp3 (
  input clk,
  input [6:0] control,
  input [7:0] i,
  output [31:0] got, want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'hD), .i({24'b0, i}), .o(got));
  widened_float #(.E(3), .F(4)) float (
    .i(i), .extended(control[`RANGE_EXTENSION]), .flush(control[`FLUSH_TO_ZERO]), .o(want)
  );
  assign holds = got == want;
endmodule

module widen_fp8_exp4 (
  input clk,
  input [6:0] control,
  input [7:0] i,
  output [31:0] got, want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'hE), .i({24'b0, i}), .o(got));
  widened_float #(.E(4), .F(3)) float (
    .i(i), .extended(control[`EMAX_8]), .flush(control[`FLUSH_TO_ZERO]), .o(want)
  );
  assign holds = got == want;
endmodule

module widen_fp8_exp5 (
  input clk,
  input [6:0] control,
  input [7:0] i,
  output [31:0] got, want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'hF), .i({24'b0, i}), .o(got));
  widened_float #(.E(5), .F(2)) float (
    .i(i), .extended(1'b0), .flush(control[`FLUSH_TO_ZERO]), .o(want)
  );
  assign holds = got == want;
endmodule

// Whether a result is the number nearest to an integer. The result, which has a field of 127 or
// more, in units of 2^-24 between its midpoints: with one fraction bit more, pattern 2c + 1 is the
// midpoint between c and the next.
module widens_integer (
  input negative,
  input [31:0] magnitude, got,
  output o
);
  wire [31:0] code_above = {got[30:0], 1'b0} + 1;
  wire [31:0] code_below = {got[30:0], 1'b0} - 1;
  wire [5:0] binade_above = code_above[31:24] - 127;
  wire [5:0] binade_below = code_below[31:24] - 127;
  wire [57:0] above = {33'b0, 1'b1, code_above[23:0]} << binade_above;
  // Half a step below 1.0 is of no concern: an integer that is not 0 is 1 or more.
  wire [57:0] below = got[30:0] == 31'h3F800000 ? 58'b0
    : {33'b0, 1'b1, code_below[23:0]} << binade_below;
  wire [57:0] exact = {2'b0, magnitude, 24'b0};
  wire in_range = got[30:23] >= 127 && got[30:23] <= 127 + 32;
  wire fits = (exact > below || (exact == below && !got[0]))
    && (exact < above || (exact == above && !got[0]));
  assign o = magnitude == 0 ? got == 0 : got[31] == negative && in_range && fits;
endmodule

module widen_int8 (
  input clk,
  input [6:0] control,
  input [7:0] i,
  output [31:0] got,
  output holds
);
  wire [7:0] magnitude = i[7] ? -i : i;
  unit unit (.clk(clk), .control(control), .dtype(4'h2), .i({24'b0, i}), .o(got));
  widens_integer integer_i (.negative(i[7]), .magnitude({24'b0, magnitude}), .got(got), .o(holds));
endmodule

module widen_uint8 (
  input clk,
  input [6:0] control,
  input [7:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h3), .i({24'b0, i}), .o(got));
  widens_integer integer_i (.negative(1'b0), .magnitude({24'b0, i}), .got(got), .o(holds));
endmodule

module widen_int16 (
  input clk,
  input [6:0] control,
  input [15:0] i,
  output [31:0] got,
  output holds
);
  wire [15:0] magnitude = i[15] ? -i : i;
  unit unit (.clk(clk), .control(control), .dtype(4'h4), .i({16'b0, i}), .o(got));
  widens_integer integer_i (.negative(i[15]), .magnitude({16'b0, magnitude}), .got(got), .o(holds));
endmodule

module widen_uint16 (
  input clk,
  input [6:0] control,
  input [15:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h5), .i({16'b0, i}), .o(got));
  widens_integer integer_i (.negative(1'b0), .magnitude({16'b0, i}), .got(got), .o(holds));
endmodule

module widen_int32 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  wire [31:0] magnitude = i[31] ? -i : i;
  unit unit (.clk(clk), .control(control), .dtype(4'h8), .i(i), .o(got));
  widens_integer integer_i (.negative(i[31]), .magnitude(magnitude), .got(got), .o(holds));
endmodule

module widen_uint32 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h9), .i(i), .o(got));
  widens_integer integer_i (.negative(1'b0), .magnitude(i), .got(got), .o(holds));
endmodule
