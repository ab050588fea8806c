"""Aggregate, 0x62: mean and variance of a set from those of its parts (batchnorm.md section 10)."""

from collections.abc import Iterator

import numpy as np

from dve_golden.execute.operand import Operand
from dve_golden.execute.operands import Operands
from dve_golden.fp32.arithmetic import Floats
from dve_golden.fp32.fold import Fold
from dve_golden.fp32.reciprocal import engine_reciprocal
from dve_golden.isa.enums import STATISTICS
from dve_golden.memory.order import blocks
from dve_golden.state import State


def aggregate(state: State, operands: Operands) -> None:
    """Read the source twice, because the variance needs the mean of all; then write.

    Counts are data like means: of none at all, the mean is 0 * infinity, NaN.
    """
    src = operands.tensor("src", "in_dtype")
    count, weighted, within, between = (Fold(src.channels) for _ in range(4))
    for counts, means, nvars in _tuples(src):
        count.add(counts)
        weighted.add(np.multiply(counts, means))
        within.add(nvars)
    reciprocal = engine_reciprocal(count.total(), state.parameter_ram)
    mean = np.multiply(weighted.total(), reciprocal)
    for counts, means, _ in _tuples(src):
        distance = np.subtract(means, mean[:, np.newaxis])
        between.add(np.multiply(counts, np.multiply(distance, distance)))
    variance = np.multiply(np.add(within.total(), between.total()), reciprocal)
    operands.tensor("dst", "out_dtype").write(0, np.stack([mean, variance], axis=1))


def _tuples(src: Operand) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Counts, means and nvars, each [channels, tuples], piece by piece."""
    for first, last in blocks(0, src.walk.count // STATISTICS, STATISTICS * src.channels):
        values = src.read(STATISTICS * first, STATISTICS * last)
        yield values[:, 0::STATISTICS], values[:, 1::STATISTICS], values[:, 2::STATISTICS]
