"""Storage formats to and from binary32, the hub format (isa_common.md 2.5).

``widen`` on the operand side, ``narrow`` on the result side; ``cuts`` places their pipeline
registers.
"""
