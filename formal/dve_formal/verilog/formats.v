// Storage formats by comparison with the midpoints between their numbers: nothing is rounded here.

// Bits of the control values, in the order of the instruction set's table.
`define EMAX_8 0
`define RANGE_EXTENSION 1
`define OCP_SAT 2
`define SIS 3
`define SNS 4
`define NEAREST_EVEN 5
`define FLUSH_TO_ZERO 6

// The value of a pattern of E exponent and F fraction bits as a binary32 magnitude, as if the last
// exponent had neither infinity nor NaN. With one fraction bit more than a format, code 2c is number
// c of the format, and 2c + 1 the midpoint between it and the next: within a binade codes are
// equally spaced.
module steps #(
  parameter E = 5,
  parameter F = 11
) (
  input [E+F-1:0] code,
  output [30:0] o
);
  localparam REBIAS = 127 - ((1 << E - 1) - 1);
  wire [F-1:0] fraction = code[F-1:0];
  wire [E-1:0] field = code[E+F-1:F];
  reg [30:0] subnormal;  // fraction * 2^(1 - bias - F), whose highest one becomes the hidden bit
  integer place;
  always @* begin
    subnormal = 0;
    for (place = 0; place < F; place = place + 1)
      if (fraction[place])
        subnormal = (REBIAS + 1 - F + place) << 23
          | (({{31 - F{1'b0}}, fraction} << 23 - place) & 31'h7FFFFF);
  end
  wire [7:0] rebiased = REBIAS + field;
  wire [30:0] normal = {rebiased, fraction, {23 - F{1'b0}}};
  // binary32's exponent: subnormals have the scale of binary32's.
  assign o = E == 8 ? {code, {23 - F{1'b0}}} : field == 0 ? subnormal : normal;
endmodule

// Whether code `c` is what magnitude `m` rounds to: nearer to it than to its neighbours in the order
// of codes, and of a midpoint the even one. Code `last` stands for itself and all beyond. If
// subnormals are flushed then 0 stands for all that would round to one.
module rounds_to #(
  parameter E = 5,
  parameter F = 10
) (
  input [30:0] m,
  input [E+F-1:0] c, last,
  input flush,
  output o
);
  localparam [E+F:0] NORMAL = 1 << F + 1;  // the smallest, with the bit more
  wire flushed = flush && c == 0;
  wire [30:0] below, above;
  steps #(.E(E), .F(F + 1)) midpoint_below (.code({c, 1'b0} - 1'b1), .o(below));
  steps #(.E(E), .F(F + 1)) midpoint_above (
    .code(flushed ? NORMAL - 1'b1 : {c, 1'b0} + 1'b1),
    .o(above)
  );
  assign o = (c == 0 || m > below || (m == below && !c[0]))
    && (c == last || m < above || (m == above && !c[0] && !flushed))
    && c <= last
    && !(flush && c != 0 && c < 1 << F);
endmodule

// Whether `got` is what binary32 pattern `i` becomes as a float of E and F bits with an infinity, or,
// if it is `extended`, without one: then the last code is NaN, and the largest number is before it.
module narrows_to #(
  parameter E = 5,
  parameter F = 10
) (
  input [31:0] i,
  input [E+F:0] got,
  input extended, saturates, nan_saturates, flush,
  output o
);
  localparam [E+F-1:0] INFINITE = ((1 << E) - 1) << F;
  localparam [E+F-1:0] QUIET = INFINITE | 1 << F - 1;
  localparam [E+F-1:0] ONES = {E + F{1'b1}};
  wire nan, nearest;
  wire [E+F-1:0] beyond = extended ? ONES : INFINITE;
  wire [E+F-1:0] largest = beyond - 1'b1;
  wire sign = got[E+F];
  wire [E+F-1:0] code = got[E+F-1:0];
  classify class_i (.x(i), .nan(nan));
  rounds_to #(.E(E), .F(F)) rounding (
    .m(i[30:0]),
    .c(code),
    .last(saturates ? largest : beyond),
    .flush(flush),
    .o(nearest)
  );
  wire is_nan_code = extended && code == beyond;
  assign o = nan ? got == (nan_saturates ? {1'b0, largest} : extended ? {1'b0, ONES} : {1'b0, QUIET})
    : nearest && sign == (i[31] && !is_nan_code);
endmodule
