"""IEEE binary32 units: fixed latency, one operation per clock, round to nearest even.

Subnormals, signed zeros and infinities as in IEEE 754; every NaN result is the canonical one.
Sources: batchnorm.md sections 8 and 9, isa_common.md 2.5.
"""
