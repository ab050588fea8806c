"""What the tensor-level driver asks of an engine, and the golden machine in that role."""

from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dve_golden.batchnorm.step import Step
from dve_golden.isa.enums import Reason
from dve_golden.isa.generations import Generation
from dve_golden.machine import Completion, Machine

RTL_MODULE = "dve_cosim.batchnorm_rtl"
"""Module whose ``engine(**options)`` makes the "rtl" backend. Named here, imported on demand:
the golden model does not depend on the hardware description or a simulator."""


class Engine(Protocol):
    """Anything that executes steps on a persistent architectural state."""

    @property
    def sbuf_bytes(self) -> int:
        """Addressable bytes per SBUF partition."""
        ...

    @property
    def generation(self) -> Generation:
        """Which instruction set and memory map it has."""
        ...

    def execute(self, step: Step) -> NDArray[np.uint8]:
        """Place the images, run the program and return SBUF afterwards, uint8 [128, bytes].

        Only the bytes of the step's results need to be those of the engine's memory. They may be
        a view of it, valid until the next step.

        Raises
        ------
        RuntimeError
            If the engine rejects an instruction.
        """
        ...


class GoldenEngine:
    """The golden machine.

    Parameters
    ----------
    sbuf_bytes, psum_bytes : int
        Configured bytes per partition.
    generation : Generation

    Members
    -------
    machine : Machine
        The architectural state.
    """

    def __init__(
        self,
        *,
        sbuf_bytes: int = 64 * 1024,
        psum_bytes: int = 16 * 1024,
        generation: Generation = Generation.CAYMAN,
    ) -> None:
        self.machine = Machine(sbuf_bytes=sbuf_bytes, psum_bytes=psum_bytes, generation=generation)

    @property
    def sbuf_bytes(self) -> int:
        return self.machine.geometry.sbuf_active

    @property
    def generation(self) -> Generation:
        return self.machine.geometry.generation

    def execute(self, step: Step) -> NDArray[np.uint8]:
        for image in step.images:
            image.place(self.machine.sbuf)
        require_executed(self.machine.run(step.program))
        return self.machine.sbuf


def require_executed(completions: list[Completion]) -> None:
    """Raise RuntimeError if one of the completions carries a reason."""
    for completion in completions:
        if completion.reason != Reason.NONE:
            raise RuntimeError(
                f"instruction {completion.sequence} (opcode {completion.opcode:#04x}) was "
                f"rejected: reason {Reason(completion.reason).name}"
            )


def make_engine(backend: str, **options: Any) -> Engine:
    """The engine of a backend's name; ``options`` go to its constructor.

    Raises
    ------
    ValueError
        If there is no such backend.
    ImportError
        If the co-simulation library of the "rtl" backend is not installed.
    """
    if backend == "golden":
        return GoldenEngine(**options)
    if backend == "rtl":
        return import_module(RTL_MODULE).engine(**options)
    raise ValueError(f"backend must be 'golden', 'rtl' or an engine, got {backend!r}")


def choose_engine(
    backend: str | Engine, generation: Generation | str | None, options: dict[str, Any]
) -> Engine:
    """The engine that a caller of this package asks for.

    Parameters
    ----------
    backend
        A name as of `make_engine`, or an engine.
    generation
        Of a named backend; of an engine, to be sure of it.
    options
        For the constructor of a named backend.

    Raises
    ------
    ValueError
        If the backend or the generation is unknown, or the engine is of another one.
    TypeError
        If options are given for an engine that exists already.
    """
    if generation is not None:
        try:
            generation = Generation(generation)
        except ValueError:
            names = ", ".join(Generation)
            raise ValueError(f"generation must be one of {names}, got {generation!r}") from None
    if isinstance(backend, str):
        chosen = {} if generation is None else {"generation": generation}
        return make_engine(backend, **chosen, **options)
    if options:
        raise TypeError(f"an engine takes no options, got {', '.join(options)}")
    if not all(hasattr(backend, name) for name in ("execute", "sbuf_bytes", "generation")):
        raise ValueError(f"backend must be 'golden', 'rtl' or an engine, got {backend!r}")
    if generation not in (None, backend.generation):
        raise ValueError(f"the engine is {backend.generation}, not {generation}")
    return backend
