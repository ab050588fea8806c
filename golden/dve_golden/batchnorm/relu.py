"""The rectifier that follows the layer in the forward pass, fused into the backward pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dve_golden.batchnorm.operands import parameter

MASK_DTYPES = ("bool", "uint8")


@dataclass(frozen=True, eq=False)
class Relu:
    """Where the gradient passes: where ``mask`` is not 0, or gamma x_norm + beta is above 0.

    Members
    -------
    mask : uint8 [N, C, ...], optional
        As the forward pass saved it.
    beta : float32 [C], optional
        Shift of the layer, from which the mask is formed again; None if there is a mask.
    """

    mask: NDArray[np.uint8] | None
    beta: NDArray[np.float32] | None

    @classmethod
    def from_arrays(
        cls,
        shape: tuple[int, ...],
        fused: bool,
        mask: ArrayLike | None,
        beta: ArrayLike | None,
    ) -> "Relu | None":
        """The rectifier of a layer of ``shape``, None if there is none; operands are checked.

        Raises
        ------
        ValueError
            If a mask or a beta is given that has not the layer's shape or a wrong dtype, whether
            it is used or not; or if a fused rectifier has neither, or ``fused`` is no truth value.
        """
        if not isinstance(fused, bool | np.bool_):
            raise ValueError(f"fuse_relu must be True or False, got {fused!r}")
        stored = None if mask is None else _mask(mask, shape)
        shift = None if beta is None else parameter("beta", beta, shape[1])
        if not fused:
            return None
        if stored is None and shift is None:
            raise ValueError("fuse_relu needs relu_mask, or beta to form the mask again")
        return cls(stored, shift if stored is None else None)

    def arguments(self) -> dict[str, Any]:
        """Arguments of `dve_golden.batchnorm.backward` that describe this rectifier."""
        return {"fuse_relu": True, "relu_mask": self.mask, "beta": self.beta}


def _mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    array = np.asarray(mask)
    if array.dtype.name not in MASK_DTYPES:
        raise ValueError(f"relu_mask must be {' or '.join(MASK_DTYPES)}, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"relu_mask must have the shape of x, {shape}, got {array.shape}")
    return array.view(np.uint8)
