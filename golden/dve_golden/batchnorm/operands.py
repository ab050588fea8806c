"""Checks that turn a user's arrays into operands of a layer."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

INV_STD_AGREEMENT = 1e-5
"""Largest relative difference between inv_std and 1/sqrt(var + eps) where both are given.

Binary32 forward passes differ by a few 2^-24; an unbiased variance, or a forgotten eps, by more.
"""


def numeric(name: str, values: ArrayLike) -> NDArray[np.float32]:
    """Real numbers, rounded once to binary32; bfloat16 of `ml_dtypes` counts as such.

    Raises
    ------
    ValueError
        If ``values`` are not an array of real numbers, or some are masked.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array, whose mask would be lost; use its filled()")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from error
    # To numpy itself bfloat16 is a type of no known kind.
    if array.dtype.kind not in "iuf" and array.dtype.name != "bfloat16":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    with np.errstate(over="ignore"):  # what exceeds binary32 becomes infinity
        return array.astype(np.float32)


def parameter(name: str, values: ArrayLike, channels: int) -> NDArray[np.float32]:
    """One finite number per channel, given as [C] or [C, 1], rounded once to binary32: [C].

    Raises
    ------
    ValueError
        If the shape is another, or a number is not finite in binary32.
    """
    array = _by_channel(name, numeric(name, values), channels)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        given = np.asarray(values).reshape(-1)[
            bad[0]
        ]  # as it was before rounding, which may overflow
        raise ValueError(f"{name} must be finite in binary32, got {given} in channel {bad[0]}")
    return array


def _by_channel(name: str, array: NDArray, channels: int) -> NDArray:
    """[C] of [C] or [C, 1]; the latter is how kernels of the public library take parameters."""
    if array.shape not in ((channels,), (channels, 1)):
        raise ValueError(f"{name} must have shape ({channels},), got {array.shape}")
    return array.reshape(channels)


def inverse_deviation(
    inv_std: ArrayLike | None, var: ArrayLike | None, eps: ArrayLike | None, channels: int
) -> NDArray[np.float32]:
    """inv_std as given, or 1/sqrt(var + eps) in float64 rounded once to binary32.

    Raises
    ------
    ValueError
        If they are missing, contradict each other, or binary32 holds no such number.
    """
    given = None if inv_std is None else parameter("inv_std", inv_std, channels)
    if given is not None:
        bad = np.flatnonzero(given <= 0)
        if bad.size:
            raise ValueError(f"inv_std must be positive, got {given[bad[0]]} in channel {bad[0]}")
        if var is None and eps is None:
            return given
    if var is None or eps is None:
        if given is not None or (var is None and eps is None):
            raise ValueError("give inv_std, or var together with eps")
        raise ValueError(
            f"{'eps' if var is not None else 'var'} is missing: var and eps go together"
        )
    derived = _from_variance(var, eps, channels)
    if given is None:
        return derived
    off = np.abs(given / derived - 1)
    if off.max() > INV_STD_AGREEMENT:
        worst = int(off.argmax())
        raise ValueError(
            f"inv_std contradicts var and eps in channel {worst}: "
            f"{given[worst]} is not 1/sqrt(var + eps) = {derived[worst]}"
        )
    return given


def _from_variance(var: ArrayLike, eps: ArrayLike, channels: int) -> NDArray[np.float32]:
    variance = np.asarray(var)
    if variance.dtype.kind not in "iuf":
        raise ValueError(f"var must hold real numbers, got dtype {variance.dtype}")
    variance = _by_channel("var", variance, channels)
    bad = np.flatnonzero(~(np.isfinite(variance) & (variance >= 0)))
    if bad.size:
        raise ValueError(
            f"var must be finite and not negative, got {variance[bad[0]]} in channel {bad[0]}"
        )
    epsilon = np.asarray(eps)
    if epsilon.dtype.kind not in "iuf" or epsilon.size != 1:
        raise ValueError(f"eps must be one number, got {eps!r}")
    addend = float(epsilon.reshape(()))
    if not (np.isfinite(addend) and addend >= 0):
        raise ValueError(f"eps must be finite and not negative, got {addend}")
    total = variance.astype(np.float64) + addend
    with np.errstate(all="ignore"):
        derived = (1 / np.sqrt(total)).astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(derived) & (derived > 0)))
    if bad.size:
        raise ValueError(
            f"var + eps is {total[bad[0]]} in channel {bad[0]}: binary32 holds no such inv_std"
        )
    return derived
