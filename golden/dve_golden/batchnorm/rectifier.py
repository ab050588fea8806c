"""A fused rectifier on the engine: the gradient where it passes, 0 elsewhere."""

from dataclasses import dataclass

from dve_golden.batchnorm.columns import Row
from dve_golden.isa.enums import Dtype
from dve_golden.program.builder import ProgramBuilder
from dve_golden.program.tensor import Tensor, View


@dataclass(frozen=True)
class Scratch:
    """What forming a mask again needs: a product and a predicate per element."""

    product: Tensor
    passes: Tensor

    @classmethod
    def allocate(cls, b: ProgramBuilder, channels: int, elements: int) -> "Scratch":
        return cls(
            b.sbuf("product", channels, elements),
            b.sbuf("passes", channels, elements, Dtype.UINT8),
        )


def form_mask(b: ProgramBuilder, scratch: Scratch, x: View, columns: Tensor, tile: int) -> View:
    """Predicates of the elements of ``x``: whether gamma x_norm + beta > 0.

    Formed as ``beta > (mean - x) A``: the sum with beta, whose sign alone counts, is not rounded.
    """
    count, channels = x.shape[0], x.channels
    product, passes = scratch.product[:count].on(channels), scratch.passes[:count].on(channels)
    mean, a, beta = (columns[row, tile].on(channels) for row in (Row.MEAN, Row.A, Row.BETA))
    b.tensor_tensor(product, mean, x, op="subtract")
    b.tensor_tensor(product, product, a, op="mult")
    b.tensor_tensor(passes, beta, product, op="is_gt")
    return passes
