"""Operators of two tensors beside the fp32 units: choices and compares, and raw bits."""
