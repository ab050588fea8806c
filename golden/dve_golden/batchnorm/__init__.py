"""Batch-norm on tensors: statistics, backward pass, layout, tiling, programs, float64 oracle."""

from dve_golden.batchnorm.backward import backward, step_count
from dve_golden.batchnorm.engine import Engine, GoldenEngine
from dve_golden.batchnorm.layer import Gradients, Layer
from dve_golden.batchnorm.oracle import reference
from dve_golden.batchnorm.statistics import statistics

__all__ = [
    "Engine",
    "GoldenEngine",
    "Gradients",
    "Layer",
    "backward",
    "reference",
    "statistics",
    "step_count",
]
