"""The architectural state that instructions work on."""

import numpy as np
from numpy.typing import NDArray

from dve_golden.fp32.reciprocal import reset_parameter_ram
from dve_golden.isa.control import RESET_CONTROL
from dve_golden.isa.enums import EVENTS, MAX_CHANNELS, REGISTERS, SEMAPHORES
from dve_golden.isa.generations import Generation
from dve_golden.memory.address import PARTITIONS, Geometry, Region

LANE_STATE = ("N", "mean", "A", "B", "C")
"""Columns of the lane state (batchnorm.md section 6)."""


class State:
    """Memories and registers after reset; all arrays are meant to be read and written in place.

    Everything is zero except the Parameter RAM (isa_common.md 3.2) and the control values (2.6).
    NaN patterns that the user writes into the float arrays are kept bit for bit until an
    instruction overwrites them.

    Parameters
    ----------
    sbuf_bytes, psum_bytes
        Configured bytes per partition; the generation's active size is the upper limit.
    generation
        Of the engine: which opcodes it knows and where its memories lie.

    Members
    -------
    geometry : Geometry
        Generation and memory sizes.
    sbuf, psum : uint8 [128, active bytes]
        The memories, one row per partition.
    registers : uint32 [64]
        Address registers.
    parameter_ram : float32 [256]
        Entry n is 1/n after reset, entry 0 is 1.
    lane_state : float32 [128, 5]
        N, mean, A, B, C of each channel (not partition).
    semaphores : uint32 [256]
        Counters modulo 2^32; a wait reads them as signed.
    events : uint8 [256]
        One bit each, 0 or 1.
    control : uint32 [7]
        Control values of the converters, which no instruction changes, as `Control.words` gives
        them; after reset those of the generation.

    Raises
    ------
    ValueError
        If a size is not positive.
    """

    def __init__(
        self,
        *,
        sbuf_bytes: int = 64 * 1024,
        psum_bytes: int = 16 * 1024,
        generation: Generation = Generation.CAYMAN,
    ) -> None:
        self.geometry = Geometry(
            sbuf_bytes=sbuf_bytes, psum_bytes=psum_bytes, generation=generation
        )
        self.sbuf = np.zeros((PARTITIONS, self.geometry.sbuf_active), np.uint8)
        self.psum = np.zeros((PARTITIONS, self.geometry.psum_active), np.uint8)
        self.registers = np.zeros(REGISTERS, np.uint32)
        self.parameter_ram = reset_parameter_ram()
        self.lane_state = np.zeros((MAX_CHANNELS, len(LANE_STATE)), np.float32)
        self.semaphores = np.zeros(SEMAPHORES, np.uint32)
        self.events = np.zeros(EVENTS, np.uint8)
        self.control = RESET_CONTROL[generation].words

    def memory(self, region: Region) -> NDArray[np.uint8]:
        """The bytes of a region, [128, active]."""
        return self.sbuf if region is Region.SBUF else self.psum
