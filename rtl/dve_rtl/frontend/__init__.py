"""Instruction bytes to validated operations: gather -> decode -> validate -> operation.

Legality follows isa_common.md 5.8 and batchnorm.md sections 2 to 7 for every generation.
"""
