// binary32 patterns taken apart, and what every specification here shares (isa_common.md 2.5).
// Written from IEEE 754-2019, one bit at a time, and not from the units.

`define CANONICAL_NAN 32'h7FC00000
`define INFINITY 31'h7F800000

// Which kind of number a pattern is.
module classify (
  input [31:0] x,
  output nan, infinite, zero, finite
);
  assign nan = x[30:0] > `INFINITY;
  assign infinite = x[30:0] == `INFINITY;
  assign finite = x[30:0] < `INFINITY;
  assign zero = x[30:0] == 0;
endmodule

// A finite number as units * 2^(scale - 150): its units have a hidden bit unless it is subnormal,
// and subnormals have the scale of the smallest normals (3.4).
module units_and_scale (
  input [31:0] x,
  output [23:0] units,
  output [7:0] scale
);
  assign units = {x[30:23] != 0, x[22:0]};
  assign scale = x[30:23] == 0 ? 8'd1 : x[30:23];
endmodule

// magnitude * 2^(scale - W - 126) rounded to the nearest, ties to even (4.3.1): if the top bit of
// the magnitude is set then it is the leading one of a result in binade `scale`. Otherwise move by
// one place at a time; below scale 1 there are no more binades, and what leaves on the right is
// remembered as one bit.
module round_to_nearest_even #(
  parameter W = 53
) (
  input [W-1:0] magnitude,
  input signed [10:0] scale,
  output [30:0] o
);
  reg [W-1:0] m;
  reg signed [10:0] s;
  reg lost;
  integer step;
  always @* begin
    m = magnitude;
    s = scale;
    lost = 0;
    for (step = 0; step < W; step = step + 1)
      if (!m[W-1] && s > 1) begin
        m = m << 1;
        s = s - 1;
      end
    for (step = 0; step < W; step = step + 1)
      if (s < 1) begin
        lost = lost | m[0];
        m = m >> 1;
        s = s + 1;
      end
  end
  wire vanishes = s < 1;  // further than the width: less than half of the smallest number
  wire [23:0] kept = m[W-1:W-24];
  wire half = m[W-25];
  wire rest = lost || m[W-26:0] != 0;
  wire round_up = half && (rest || kept[0]);
  wire [24:0] rounded = kept + round_up;
  // Field s if the hidden bit is set, one more after a carry, 0 if there is no hidden bit.
  wire signed [10:0] field = s - 1 + $signed({9'b0, rounded[24:23]});
  wire [22:0] fraction = rounded[24] ? 23'b0 : rounded[22:0];
  assign o = magnitude == 0 || vanishes ? 31'b0
    : field >= 255 ? `INFINITY
    : {field[7:0], fraction};
endmodule
