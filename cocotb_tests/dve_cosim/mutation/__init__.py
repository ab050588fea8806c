"""The proof that the tests can fail: single-point mutants of the exported Verilog."""
