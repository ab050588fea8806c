"""The coefficients that the host stages between the two phases (batchnorm.md sections 8, 9)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Coefficients(NamedTuple):
    """float32 [channels] each.

    Members
    -------
    a, b, c
        What ParamLoad2 stages: prefactor times N, constant and slope.
    d_gamma, d_beta
        Gradients for the user.
    """

    a: NDArray[np.float32]
    b: NDArray[np.float32]
    c: NDArray[np.float32]
    d_gamma: NDArray[np.float32]
    d_beta: NDArray[np.float32]


def host_coefficients(
    sums: NDArray[np.float64],
    count: int,
    inv_std: NDArray[np.float32],
    gamma: NDArray[np.float32],
    *,
    mean_coupling: bool = True,
) -> Coefficients:
    """Form A, B, C and the parameter gradients in float64 and round each once to binary32.

    Parameters
    ----------
    sums : float64 [channels, 3]
        d_beta, d_gamma and the sum S of the normalised values, added over the tiles.
    count : int
        Elements of a channel, N.
    inv_std, gamma : float32 [channels]
    mean_coupling : bool
        Correct for the difference between the given mean and the exact one, which S carries.
        Without it the given mean is taken as exact.
    """
    d_beta, raw_d_gamma, coupling = sums.T
    scale = inv_std.astype(np.float64)
    with np.errstate(all="ignore"):  # infinities and NaN of x and dy pass through
        shift = coupling / count if mean_coupling else np.zeros_like(coupling)
        d_gamma = raw_d_gamma - shift * d_beta
        return Coefficients(
            a=(gamma * scale).astype(np.float32),
            b=(d_beta - d_gamma * shift).astype(np.float32),
            c=(d_gamma * scale).astype(np.float32),
            d_gamma=d_gamma.astype(np.float32),
            d_beta=d_beta.astype(np.float32),
        )
