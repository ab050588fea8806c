// What the multiplier promises (isa_common.md 6.3). `unit` is the multiplier with its registers made
// wires; `holds` is to be 1 whatever the operands.

// a * b by IEEE 754: the exact product of the two as integers, rounded once. The integers are
// multiplied by the language's own operator here as in the unit.
module exact_product (
  input [31:0] a, b,
  output [31:0] o
);
  wire a_nan, a_infinite, a_zero, b_nan, b_infinite, b_zero;
  classify class_a (.x(a), .nan(a_nan), .infinite(a_infinite), .zero(a_zero));
  classify class_b (.x(b), .nan(b_nan), .infinite(b_infinite), .zero(b_zero));
  wire sign = a[31] ^ b[31];
  wire [23:0] a_units, b_units;
  wire [7:0] a_scale, b_scale;
  units_and_scale of_a (.x(a), .units(a_units), .scale(a_scale));
  units_and_scale of_b (.x(b), .units(b_units), .scale(b_scale));
  wire [47:0] magnitude = {24'b0, a_units} * {24'b0, b_units};
  // Two significands in [1, 2) have a product in [1, 4): the binade of its top bit is one above
  // the sum of theirs.
  wire signed [10:0] scale = $signed({3'b0, a_scale}) + $signed({3'b0, b_scale}) - 126;
  wire [30:0] rounded;
  round_to_nearest_even #(.W(48)) rounding (.magnitude(magnitude), .scale(scale), .o(rounded));
  assign o = a_nan || b_nan || (a_infinite && b_zero) || (a_zero && b_infinite) ? `CANONICAL_NAN
    : a_infinite || b_infinite ? {sign, `INFINITY}
    : {sign, rounded};
endmodule

module multiply_is_ieee (
  input clk,
  input [31:0] a, b,
  output [31:0] got, want,
  output holds, within
);
  unit unit (.clk(clk), .a(a), .b(b), .o(got));
  exact_product product (.a(a), .b(b), .o(want));
  assign holds = got == want;
  assign within = a[11:0] == 0 && b[11:0] == 0;
endmodule

module multiply_commutes (
  input clk,
  input [31:0] a, b,
  output [31:0] got, want,
  output holds, within
);
  unit this_way (.clk(clk), .a(a), .b(b), .o(got));
  unit that_way (.clk(clk), .a(b), .b(a), .o(want));
  assign holds = got == want;
  assign within = a[11:0] == 0 && b[11:0] == 0;
endmodule

// The sign of a result is that of its factors', unless it is NaN; magnitudes do not depend on it.
module multiply_sign (
  input clk,
  input [31:0] a, b,
  output [31:0] got, want,
  output holds
);
  wire [31:0] positive;
  wire nan;
  unit unit (.clk(clk), .a(a), .b(b), .o(got));
  unit unsigned_unit (.clk(clk), .a({1'b0, a[30:0]}), .b({1'b0, b[30:0]}), .o(positive));
  classify class_o (.x(positive), .nan(nan));
  assign want = nan ? `CANONICAL_NAN : {a[31] ^ b[31], positive[30:0]};
  assign holds = got == want && (nan || !positive[31]);
endmodule

module multiply_special (
  input clk,
  input [31:0] a, b,
  output [31:0] got, want,
  output holds
);
  wire a_nan, a_infinite, a_zero, b_nan, b_infinite, b_zero, nan;
  classify class_a (.x(a), .nan(a_nan), .infinite(a_infinite), .zero(a_zero));
  classify class_b (.x(b), .nan(b_nan), .infinite(b_infinite), .zero(b_zero));
  classify class_o (.x(got), .nan(nan));
  unit unit (.clk(clk), .a(a), .b(b), .o(got));
  wire sign = a[31] ^ b[31];
  wire invalid = a_nan || b_nan || (a_infinite && b_zero) || (a_zero && b_infinite);
  wire infinite = a_infinite || b_infinite;
  wire zero = a_zero || b_zero;
  assign want = invalid ? `CANONICAL_NAN : infinite ? {sign, `INFINITY} : {sign, 31'b0};
  assign holds = invalid || infinite || zero ? got == want : !nan;
endmodule

// x * 1 and 1 * x are x, NaN apart.
module multiply_one (
  input clk,
  input [31:0] a,
  input first,
  output [31:0] got, want,
  output holds
);
  wire nan;
  classify class_a (.x(a), .nan(nan));
  unit unit (.clk(clk), .a(first ? 32'h3F800000 : a), .b(first ? a : 32'h3F800000), .o(got));
  assign want = nan ? `CANONICAL_NAN : a;
  assign holds = got == want;
endmodule
