"""Tensors in, gradients out: the composition of batchnorm.md section 11 on any engine."""

from typing import Any

from numpy.typing import ArrayLike

from dve_golden.batchnorm.engine import Engine, choose_engine
from dve_golden.batchnorm.layer import Gradients, Layer
from dve_golden.batchnorm.on_engine import EngineBackward
from dve_golden.batchnorm.on_host import host_backward, host_step_count
from dve_golden.batchnorm.plan import Plan
from dve_golden.isa.generations import Generation


def backward(
    dy: ArrayLike,
    x: ArrayLike,
    mean: ArrayLike,
    gamma: ArrayLike,
    *,
    inv_std: ArrayLike | None = None,
    var: ArrayLike | None = None,
    eps: ArrayLike | None = None,
    fuse_relu: bool = False,
    relu_mask: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    mean_coupling: bool = True,
    backend: str | Engine = "golden",
    dtype: str = "fp32",
    generation: Generation | str | None = None,
    on_engine: bool = True,
    **engine_options: Any,
) -> Gradients:
    """Gradients of a batch-norm layer, computed by instructions of the engine.

    Channels are cut into tiles of 128, the elements of a channel into tiles of at most 8,192 that
    the partition holds; see `dve_golden.batchnorm.plan.Plan`. A different memory size may change
    the last bits, because sums of tiles are rounded; lanes and latencies change none. The host
    computes nothing but inv_std, where ``var`` is given.

    Parameters
    ----------
    dy, x : array [N, C, ...]
        Gradient of the output, and input of the layer; rank 2 to 5, one shape. Rounded to
        binary32, then to ``dtype``.
    mean : array [C]
        Batch mean as saved by the forward pass; it may be rounded. What is [C] here may be given
        as [C, 1] as well.
    gamma : array [C]
        Scale.
    inv_std : array [C], optional
        1/sqrt(var + eps).
    var, eps : array [C] and number, optional
        Biased variance and its addend, instead of ``inv_std``. If all three are given they must
        agree, and ``inv_std`` is used.
    fuse_relu : bool
        Whether the forward pass had a rectifier behind the layer: dy counts where it passed its
        input, and is 0 elsewhere.
    relu_mask : bool or uint8 array [N, C, ...], optional
        Where the rectifier passed its input: not 0. Without it, where gamma x_norm + beta is above
        0, formed again in binary32 from x, mean and ``beta``.
    beta : array [C], optional
        Shift; needed to form the mask again. Without ``fuse_relu``, mask and beta are checked and
        not used.
    mean_coupling : bool
        Correct for the rounding of ``mean`` (batchnorm.md section 8).
    backend : "golden", "rtl" or Engine
        Who executes: the numpy model, the Verilog under a simulator, or an engine of your own.
    dtype : "fp32", "bf16" or "fp16"
        Storage format of x, dy and d_x. Parameters and sums are binary32.
    generation : Generation or str, optional
        Of a named backend, "cayman" if not given; an engine of your own has one already.
    on_engine : bool
        If False, the host adds the sums of the tiles and forms the coefficients in float64; there
        is no rectifier then.
    **engine_options
        For a named backend, its constructor's: ``sbuf_bytes`` and ``psum_bytes`` of "golden";
        ``config`` of "rtl".

    Returns
    -------
    Gradients
        The tuple (d_x, d_gamma, d_beta), float32; d_x holds values of ``dtype``.

    Raises
    ------
    ValueError
        If the operands do not describe a layer (see `Layer.from_arrays`), the backend or the
        generation is unknown, or a partition holds no tile.
    TypeError
        If options are given for an engine that exists already.
    """
    layer = Layer.from_arrays(
        dy,
        x,
        mean,
        gamma,
        inv_std=inv_std,
        var=var,
        eps=eps,
        dtype=dtype,
        fuse_relu=fuse_relu,
        relu_mask=relu_mask,
        beta=beta,
    )
    engine = choose_engine(backend, generation, engine_options)
    if on_engine:
        return EngineBackward(layer, engine, mean_coupling=mean_coupling).run()
    return host_backward(layer, engine, mean_coupling=mean_coupling)


def step_count(layer: Layer, sbuf_bytes: int, *, on_engine: bool = True) -> int:
    """Steps that `backward` hands to an engine of that size.

    Raises
    ------
    ValueError
        If a partition holds no tile.
    """
    return Plan.fit(layer, sbuf_bytes).steps if on_engine else host_step_count(layer, sbuf_bytes)
