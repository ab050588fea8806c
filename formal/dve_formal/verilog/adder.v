// What the adder promises (isa_common.md 6.3, batchnorm.md section 8). `unit` is the adder with its
// registers made wires; `holds` is to be 1 whatever the operands.

// a + b or a - b by IEEE 754: the exact sum of the two as integers, rounded once. An operand more
// than 28 binades below the other is taken 28 below: it stays smaller than 1/16 of a unit of the
// other's last place and keeps its sign, and that is all that rounding can see of it.
module exact_sum (
  input [31:0] a, b,
  input subtract,
  output [31:0] o
);
  wire [31:0] c = {b[31] ^ subtract, b[30:0]};
  wire a_nan, a_infinite, c_nan, c_infinite;
  classify class_a (.x(a), .nan(a_nan), .infinite(a_infinite));
  classify class_c (.x(c), .nan(c_nan), .infinite(c_infinite));

  wire in_order = a[30:0] >= c[30:0];
  wire [31:0] large = in_order ? a : c;
  wire [31:0] small = in_order ? c : a;
  wire [23:0] large_units, small_units;
  wire [7:0] large_scale, small_scale;
  units_and_scale of_large (.x(large), .units(large_units), .scale(large_scale));
  units_and_scale of_small (.x(small), .units(small_units), .scale(small_scale));
  wire [7:0] apart = large_scale - small_scale;
  wire [4:0] distance = apart > 28 ? 5'd28 : apart[4:0];

  wire [52:0] large_magnitude = {1'b0, large_units, 28'b0};
  wire [52:0] small_magnitude = {1'b0, small_units, 28'b0} >> distance;
  wire [52:0] magnitude = large[31] == small[31]
    ? large_magnitude + small_magnitude
    : large_magnitude - small_magnitude;
  wire [30:0] rounded;
  round_to_nearest_even #(.W(53)) rounding (
    .magnitude(magnitude), .scale({3'b0, large_scale} + 11'd1), .o(rounded)
  );
  assign o = a_nan || c_nan || (a_infinite && c_infinite && a[31] != c[31]) ? `CANONICAL_NAN
    : a_infinite ? a
    : c_infinite ? c
    : magnitude == 0 ? {a[31] & c[31], 31'b0}  // of opposite signs: +0 (6.3)
    : {large[31], rounded};
endmodule

module add_is_ieee (
  input clk,
  input [31:0] a, b,
  input subtract,
  output [31:0] got, want,
  output holds, within
);
  unit unit (.clk(clk), .a(a), .b(b), .subtract(subtract), .o(got));
  exact_sum sum (.a(a), .b(b), .subtract(subtract), .o(want));
  assign holds = got == want;
  assign within = a[11:0] == 0 && b[11:0] == 0;
endmodule

module add_commutes (
  input clk,
  input [31:0] a, b,
  output [31:0] got, want,
  output holds, within
);
  unit this_way (.clk(clk), .a(a), .b(b), .subtract(1'b0), .o(got));
  unit that_way (.clk(clk), .a(b), .b(a), .subtract(1'b0), .o(want));
  assign holds = got == want;
  assign within = a[11:0] == 0 && b[11:0] == 0;
endmodule

module subtract_self (
  input clk,
  input [31:0] a,
  output [31:0] got, want,
  output holds
);
  wire finite;
  classify class_a (.x(a), .finite(finite));
  unit unit (.clk(clk), .a(a), .b(a), .subtract(1'b1), .o(got));
  assign want = finite ? 32'b0 : `CANONICAL_NAN;
  assign holds = got == want;
endmodule

module subtract_is_add (
  input clk,
  input [31:0] a, b,
  output [31:0] got, want,
  output holds
);
  unit subtracting (.clk(clk), .a(a), .b(b), .subtract(1'b1), .o(got));
  unit adding (.clk(clk), .a(a), .b(b ^ 32'h80000000), .subtract(1'b0), .o(want));
  assign holds = got == want;
endmodule

module add_special (
  input clk,
  input [31:0] a, b,
  input subtract,
  output [31:0] got, want,
  output holds
);
  wire [31:0] c = b ^ {subtract, 31'b0};
  wire a_nan, a_infinite, c_nan, c_infinite, nan;
  classify class_a (.x(a), .nan(a_nan), .infinite(a_infinite));
  classify class_c (.x(c), .nan(c_nan), .infinite(c_infinite));
  classify class_o (.x(got), .nan(nan));
  unit unit (.clk(clk), .a(a), .b(b), .subtract(subtract), .o(got));
  wire invalid = a_nan || c_nan || (a_infinite && c_infinite && a[31] != c[31]);
  wire special = a_nan || c_nan || a_infinite || c_infinite;
  assign want = invalid ? `CANONICAL_NAN : a_infinite ? a : c;
  assign holds = special ? got == want : !nan;
endmodule

module add_zero (
  input clk,
  input [31:0] a,
  input sign, subtract, first,
  output [31:0] got, want,
  output holds
);
  // A zero of either sign on either side; x + 0 is x, and of two zeros -0 only if both are.
  wire [31:0] zero = {sign, 31'b0};
  wire finite, a_zero;
  classify class_a (.x(a), .finite(finite), .zero(a_zero));
  unit unit (
    .clk(clk), .a(first ? zero : a), .b(first ? a : zero), .subtract(subtract), .o(got)
  );
  wire a_sign = a[31] ^ (subtract & first);
  wire zero_sign = sign ^ (subtract & !first);
  assign want = {a_zero ? a_sign & zero_sign : a_sign, a[30:0]};
  assign holds = got == want || !finite;
endmodule

module add_negates (
  input clk,
  input [31:0] a, b,
  output [31:0] got, want,
  output holds
);
  wire nan, zero;
  wire [31:0] sum;
  unit unit (.clk(clk), .a(a), .b(b), .subtract(1'b0), .o(sum));
  unit negated (
    .clk(clk), .a(a ^ 32'h80000000), .b(b ^ 32'h80000000), .subtract(1'b0), .o(got)
  );
  classify class_o (.x(sum), .nan(nan), .zero(zero));
  assign want = nan ? `CANONICAL_NAN : sum ^ 32'h80000000;
  // An exact zero of two opposite numbers is +0 both times.
  assign holds = got == want || (zero && a[31] != b[31] && got == 0);
endmodule
