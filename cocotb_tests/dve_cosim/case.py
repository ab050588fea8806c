"""One program with the state it starts from, as the two files that ``dve run`` takes."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from dve_golden.isa.control import RESET_CONTROL
from dve_golden.isa.generations import Generation
from dve_rtl.config import EngineConfig

from dve_cosim.state import ArchState

SIZES = "memory_bytes"
"""Name of the array that holds the bytes per partition of SBUF and PSUM, uint32 [2].

What is legal depends on them, so a case is exact only with the sizes it was found with.
"""


@dataclass(frozen=True, eq=False)
class Case:
    """A program, and all that its outcome depends on but the engine.

    Parameters
    ----------
    program : bytes
    state : ArchState
        Before it.
    sbuf_bytes, psum_bytes : int
        Configured bytes per partition.
    generation : Generation
        Not in the files: it is what the folder that they are in is for.
    """

    program: bytes
    state: ArchState
    sbuf_bytes: int
    psum_bytes: int
    generation: Generation = Generation.CAYMAN

    def config(self, lanes: int) -> EngineConfig:
        """An engine to run it on."""
        return EngineConfig(
            lanes=lanes,
            generation=self.generation,
            sbuf_bytes=self.sbuf_bytes,
            psum_bytes=self.psum_bytes,
        )

    def files(self) -> dict[str, bytes]:
        """Contents by suffix: ``.bin`` is the program, ``.npz`` the state and the sizes."""
        buffer = io.BytesIO()
        sizes = np.array([self.sbuf_bytes, self.psum_bytes], np.uint32)
        np.savez_compressed(buffer, allow_pickle=False, **self.state.arrays(), **{SIZES: sizes})
        return {".bin": self.program, ".npz": buffer.getvalue()}

    @classmethod
    def load(cls, program: Path, generation: Generation = Generation.CAYMAN) -> Case:
        """The case of a ``.bin`` file and the ``.npz`` file beside it.

        A file without control values, as older ones are, has those after reset.
        """
        with np.load(program.with_suffix(".npz")) as arrays:
            values = dict(arrays)
        values.setdefault("control", RESET_CONTROL[generation].words)
        sbuf_bytes, psum_bytes = map(int, values.pop(SIZES))
        state = ArchState(**values)
        return cls(program.read_bytes(), state, sbuf_bytes, psum_bytes, generation)
