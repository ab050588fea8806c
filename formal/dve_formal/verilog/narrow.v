// What narrow promises (isa_common.md 2.5, 2.6). `unit` is the converter with its registers made
// wires; `holds` is to be 1 for every binary32 pattern and all control values. A NaN becomes the
// canonical one of the format. Bits above an element are not looked at.

module narrow_fp32 (
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

module narrow_fp32r (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  wire fits;
  unit unit (.clk(clk), .control(control), .dtype(4'hB), .i(i), .o(got));
  narrows_to #(.E(8), .F(13)) float (
    .i(i),
    .got(got[31:10]),
    .extended(1'b0),
    .saturates(1'b0),
    .nan_saturates(1'b0),
    .flush(control[`FLUSH_TO_ZERO]),
    .o(fits)
  );
  assign holds = fits && got[9:0] == 0;
endmodule

module narrow_bf16 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h6), .i(i), .o(got));
  narrows_to #(.E(8), .F(7)) float (
    .i(i),
    .got(got[15:0]),
    .extended(1'b0),
    .saturates(control[`SIS]),
    .nan_saturates(control[`SNS]),
    .flush(control[`FLUSH_TO_ZERO]),
    .o(holds)
  );
endmodule

module narrow_fp16 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h7), .i(i), .o(got));
  narrows_to #(.E(5), .F(10)) float (
    .i(i),
    .got(got[15:0]),
    .extended(1'b0),
    .saturates(control[`SIS]),
    .nan_saturates(control[`SNS]),
    .flush(control[`FLUSH_TO_ZERO]),
    .o(holds)
  );
endmodule

module narrow_fp8_exp3 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'hD), .i(i), .o(got));
  narrows_to #(.E(3), .F(4)) float (
    .i(i),
    .got(got[7:0]),
    .extended(control[`RANGE_EXTENSION]),
    .saturates(control[`OCP_SAT]),
    .nan_saturates(1'b0),
    .flush(control[`FLUSH_TO_ZERO]),
    .o(holds)
  );
endmodule

module narrow_fp8_exp4 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'hE), .i(i), .o(got));
  narrows_to #(.E(4), .F(3)) float (
    .i(i),
    .got(got[7:0]),
    .extended(control[`EMAX_8]),
    .saturates(control[`OCP_SAT]),
    .nan_saturates(1'b0),
    .flush(control[`FLUSH_TO_ZERO]),
    .o(holds)
  );
endmodule

module narrow_fp8_exp5 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'hF), .i(i), .o(got));
  narrows_to #(.E(5), .F(2)) float (
    .i(i),
    .got(got[7:0]),
    .extended(1'b0),
    .saturates(control[`OCP_SAT]),
    .nan_saturates(1'b0),
    .flush(control[`FLUSH_TO_ZERO]),
    .o(holds)
  );
endmodule

// The integer part of a magnitude below 2^33, with 24 bits of fraction, is rounded and saturated in
// 35 bits with sign; larger magnitudes count as 2^33.
module narrowed_integer #(
  parameter BITS = 32,
  parameter SIGNED = 1
) (
  input [31:0] i,
  input nearest_even,
  output [BITS-1:0] o
);
  wire nan;
  classify class_i (.x(i), .nan(nan));
  wire [7:0] field = i[30:23];
  wire [56:0] units = {33'b0, 1'b1, i[22:0]} << field - 126;  // of 2^-24; below 1/2 nothing matters
  wire [33:0] whole = field < 126 ? 0 : field < 127 + 33 ? units[56:24] : 34'h200000000;
  wire half = field >= 126 && field < 127 + 33 && units[23];
  wire rest = units[22:0] != 0;
  wire up = nearest_even && half && (rest || whole[0]);
  wire signed [35:0] magnitude = {2'b0, whole} + up;
  wire signed [35:0] value = i[31] ? -magnitude : magnitude;
  wire signed [35:0] greatest = (36'sd1 <<< BITS - SIGNED) - 1;
  wire signed [35:0] least = SIGNED ? -greatest - 1 : 0;
  assign o = nan ? 0 : value > greatest ? greatest : value < least ? least : value;
endmodule

module narrow_int8 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output [7:0] want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h2), .i(i), .o(got));
  narrowed_integer #(.BITS(8), .SIGNED(1)) integer_i (
    .i(i), .nearest_even(control[`NEAREST_EVEN]), .o(want)
  );
  assign holds = got[7:0] == want;
endmodule

module narrow_uint8 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output [7:0] want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h3), .i(i), .o(got));
  narrowed_integer #(.BITS(8), .SIGNED(0)) integer_i (
    .i(i), .nearest_even(control[`NEAREST_EVEN]), .o(want)
  );
  assign holds = got[7:0] == want;
endmodule

module narrow_int16 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output [15:0] want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h4), .i(i), .o(got));
  narrowed_integer #(.BITS(16), .SIGNED(1)) integer_i (
    .i(i), .nearest_even(control[`NEAREST_EVEN]), .o(want)
  );
  assign holds = got[15:0] == want;
endmodule

module narrow_uint16 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output [15:0] want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h5), .i(i), .o(got));
  narrowed_integer #(.BITS(16), .SIGNED(0)) integer_i (
    .i(i), .nearest_even(control[`NEAREST_EVEN]), .o(want)
  );
  assign holds = got[15:0] == want;
endmodule

module narrow_int32 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output [31:0] want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h8), .i(i), .o(got));
  narrowed_integer #(.BITS(32), .SIGNED(1)) integer_i (
    .i(i), .nearest_even(control[`NEAREST_EVEN]), .o(want)
  );
  assign holds = got[31:0] == want;
endmodule

module narrow_uint32 (
  input clk,
  input [6:0] control,
  input [31:0] i,
  output [31:0] got,
  output [31:0] want,
  output holds
);
  unit unit (.clk(clk), .control(control), .dtype(4'h9), .i(i), .o(got));
  narrowed_integer #(.BITS(32), .SIGNED(0)) integer_i (
    .i(i), .nearest_even(control[`NEAREST_EVEN]), .o(want)
  );
  assign holds = got[31:0] == want;
endmodule
