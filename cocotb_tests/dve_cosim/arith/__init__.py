"""The arithmetic units alone: millions of operands, and two references independent of both models.

`ieee` is IEEE 754's definition in integers, `softfloat` the SoftFloat library. `grids` and
`converter_grids` say with which operands, `campaign` compares.
"""
