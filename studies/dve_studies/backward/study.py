"""The measurements: every case, by whoever computes the gradients."""

from dataclasses import dataclass

import numpy as np
from dve_cosim.progress import Progress, silent
from dve_golden.batchnorm import Gradients, Layer, backward, reference
from dve_golden.batchnorm.accuracy import relative_errors
from dve_golden.isa.enums import Dtype

from dve_studies.backward.cases import COUNTS, Case, cases
from dve_studies.backward.narrow_form import narrow_gradients


@dataclass(frozen=True)
class Errors:
    """Largest errors of one case over its channels.

    Parameters
    ----------
    d_x, d_gamma, d_beta : float
        Relative to the scale of their terms; see `dve_golden.batchnorm.accuracy.relative_errors`.
    own_d_gamma : float
        Median error of d_gamma over the channels, relative to d_gamma itself.
    """

    d_x: float
    d_gamma: float
    d_beta: float
    own_d_gamma: float


@dataclass(frozen=True)
class Measured:
    """One case.

    Parameters
    ----------
    case : str
        Its name.
    count, dtype
        Of the case.
    engine, host, narrow, narrow_product : Errors
        With coefficients on the engine and on the host; with bf16 intermediates, and with a bf16
        product in the sum of d_gamma besides.
    """

    case: str
    count: int
    dtype: str
    engine: Errors
    host: Errors
    narrow: Errors
    narrow_product: Errors


def run(longest: int = COUNTS[-1], progress: Progress = silent) -> list[Measured]:
    """Every case of at most ``longest`` elements."""
    chosen = list(cases(longest))
    found = []
    for done, case in enumerate(chosen):
        found.append(measure(case))
        progress("measure", done + 1, len(chosen))
    return found


def measure(case: Case) -> Measured:
    """One case."""
    layer = case.layer()
    exact = reference(layer)
    arguments = layer.arguments()
    return Measured(
        case.name,
        case.count,
        case.dtype,
        engine=_errors(layer, backward(**arguments), exact),
        host=_errors(layer, backward(**arguments, on_engine=False), exact),
        narrow=_errors(layer, narrow_gradients(layer), exact),
        narrow_product=_errors(layer, narrow_gradients(layer, product=Dtype.BF16), exact),
    )


def _errors(layer: Layer, got: Gradients, exact: Gradients) -> Errors:
    found = relative_errors(layer, got, exact)
    off, of = np.abs(got.d_gamma - exact.d_gamma), np.abs(exact.d_gamma)
    own = np.divide(off, of, out=np.where(off == 0, 0.0, np.inf), where=of != 0)
    return Errors(*found, own_d_gamma=float(np.median(own)))
