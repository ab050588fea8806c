"""The backward pass on tensors: layout, tiling, program, host coefficients, float64 oracle."""

from dve_golden.batchnorm.backward import backward, step_count
from dve_golden.batchnorm.engine import Engine, GoldenEngine
from dve_golden.batchnorm.layer import Gradients, Layer
from dve_golden.batchnorm.oracle import reference

__all__ = [
    "Engine",
    "GoldenEngine",
    "Gradients",
    "Layer",
    "backward",
    "reference",
    "step_count",
]
