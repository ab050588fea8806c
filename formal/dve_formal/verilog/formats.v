// Storage formats by comparison with the midpoints between their numbers: nothing is rounded here.

// The value of a pattern of 5 exponent and 11 fraction bits, exponent 31 as if it were finite, as a
// binary32 magnitude. Code 2c is number c of FP16, and 2c + 1 the midpoint between it and the next:
// within a binade codes are equally spaced.
module half_steps (
  input [15:0] code,
  output [30:0] o
);
  wire [10:0] fraction = code[10:0];
  reg [30:0] subnormal;  // fraction * 2^-25, whose highest one becomes the hidden bit
  integer place;
  always @* begin
    subnormal = 0;
    for (place = 0; place < 11; place = place + 1)
      if (fraction[place])
        subnormal = (102 + place) << 23 | (({20'b0, fraction} << 23 - place) & 31'h7FFFFF);
  end
  wire [30:0] normal = {8'd112 + {3'b0, code[15:11]}, fraction, 12'b0};
  assign o = code[15:11] == 0 ? subnormal : normal;
endmodule

// Whether code `c` is the one nearest to magnitude `m`, given the midpoints to its neighbours in the
// order of codes; of a midpoint it is the even one.
module nearest (
  input [30:0] m,
  input [31:0] below, above,
  input odd, least, greatest,
  output o
);
  assign o = (least || m > below || (m == below && !odd))
    && (greatest || m < above || (m == above && !odd));
endmodule

// A format whose patterns are binary32's without the last DROPPED bits.
module nearest_prefix #(
  parameter DROPPED = 16
) (
  input [30:0] m, c,  // c in binary32
  output o
);
  wire fits;
  nearest nearest (
    .m(m),
    .below({1'b0, c} - (1 << DROPPED - 1)),
    .above({1'b0, c} + (1 << DROPPED - 1)),
    .odd(c[DROPPED]),
    .least(c == 0),
    .greatest(c == `INFINITY),
    .o(fits)
  );
  assign o = fits && c[DROPPED-1:0] == 0 && c <= `INFINITY;
endmodule

module nearest_half (
  input [30:0] m,
  input [14:0] c,
  output o
);
  wire [30:0] below, above;
  wire fits;
  half_steps midpoint_below (.code({c, 1'b0} - 16'd1), .o(below));
  half_steps midpoint_above (.code({c, 1'b0} + 16'd1), .o(above));
  nearest nearest (
    .m(m),
    .below({1'b0, below}),
    .above({1'b0, above}),
    .odd(c[0]),
    .least(c == 0),
    .greatest(c == 15'h7C00),
    .o(fits)
  );
  assign o = fits && c <= 15'h7C00;
endmodule
