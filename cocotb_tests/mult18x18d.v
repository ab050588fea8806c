// Behaviour of the Lattice ECP5 multiplier block MULT18X18D, as far as rtl/dve_rtl/fp32/product.py
// uses it: unsigned factors, one clock, no shift chains. Yosys ships this cell as a black box without
// behaviour (share/ecp5/cells_bb.v), so this model is ours, written from Lattice's "ECP5 and ECP5-5G
// sysDSP Usage Guide" (FPGA-TN-02205): optional registers on the factors, in the pipeline and on the
// product, each with a choice of clock. A mode that it lacks stops the simulation.
module MULT18X18D #(
  parameter REG_INPUTA_CLK = "NONE",
  parameter REG_INPUTB_CLK = "NONE",
  parameter REG_PIPELINE_CLK = "NONE",
  parameter REG_OUTPUT_CLK = "NONE",
  parameter GSR = "ENABLED"
) (
  input CLK0, CE0, RST0, SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6,
    A5, A4, A3, A2, A1, A0,
  input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6,
    B5, B4, B3, B2, B1, B0,
  input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6,
    C5, C4, C3, C2, C1, C0,
  output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24,
    P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12,
    P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6,
    A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6,
    B5, B4, B3, B2, B1, B0};
  wire [17:0] c = {C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6,
    C5, C4, C3, C2, C1, C0};
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24,
    P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12,
    P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = product;

  reg [17:0] a_register, b_register;
  reg [35:0] pipeline_register, output_register;
  wire [17:0] a_factor = REG_INPUTA_CLK == "CLK0" ? a_register : a;
  wire [17:0] b_factor = REG_INPUTB_CLK == "CLK0" ? b_register : b;
  wire [35:0] exact = {18'b0, a_factor} * {18'b0, b_factor};
  wire [35:0] piped = REG_PIPELINE_CLK == "CLK0" ? pipeline_register : exact;
  wire [35:0] product = REG_OUTPUT_CLK == "CLK0" ? output_register : piped;

  always @(posedge CLK0) begin
    a_register <= a;
    b_register <= b;
    pipeline_register <= exact;
    output_register <= piped;
  end
  always @* begin
    if (SIGNEDA || SIGNEDB || SOURCEA || SOURCEB || c != 0) $fatal(1, "mode not modelled");
    if (!CE0 || RST0) $fatal(1, "registers do not run");
  end
endmodule
