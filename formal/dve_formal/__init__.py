"""Proofs about the arithmetic units, for all operands: Yosys makes them formulas, Bitwuzla decides.

The specifications are the Verilog files in ``verilog``, written from IEEE 754 and not from the
units. A unit takes part as one formula, with its registers made wires; that its registers do
nothing but delay is a property of its own (`pipeline`).
"""
