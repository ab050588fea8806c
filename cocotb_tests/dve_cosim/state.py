"""The architectural state as arrays, and as the image files of the simulation top."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from dve_golden.fp32.reciprocal import reset_parameter_ram
from dve_golden.isa.control import CONTROL_WORDS, RESET_CONTROL, Control
from dve_golden.isa.enums import (
    EVENTS,
    MAX_CHANNELS,
    PARAMETER_RAM_ENTRIES,
    REGISTERS,
    SEMAPHORES,
)
from dve_rtl.config import WORD_BYTES, EngineConfig
from numpy.typing import NDArray

LANE_STATE = ("N", "mean", "A", "B", "C")
"""Columns of the lane state (batchnorm.md section 6)."""

SHAPES: dict[str, tuple[int, ...]] = {
    "registers": (REGISTERS,),
    "parameter_ram": (PARAMETER_RAM_ENTRIES,),
    "lane_state": (MAX_CHANNELS, len(LANE_STATE)),
    "semaphores": (SEMAPHORES,),
    "events": (EVENTS,),
    "control": (len(CONTROL_WORDS),),
}


class HasState(Protocol):
    """Whatever carries the arrays, such as the golden machine."""

    sbuf: NDArray[np.uint8]
    psum: NDArray[np.uint8]
    registers: NDArray[np.uint32]
    parameter_ram: NDArray[np.float32]
    lane_state: NDArray[np.float32]
    semaphores: NDArray[np.uint32]
    events: NDArray[np.uint8]
    control: NDArray[np.uint32]


@dataclass(eq=False)
class ArchState:
    """The state of design section 4; float arrays hold bit patterns, NaN included.

    Parameters
    ----------
    sbuf, psum : uint8 [128, addressable bytes]
        One row per partition.
    registers : uint32 [64]
    parameter_ram : float32 [256]
    lane_state : float32 [128, 5]
        N, mean, A, B, C of each channel.
    semaphores : uint32 [256]
    events : uint8 [256]
        0 or 1 each.
    control : uint32 [7]
        Control values, as of `dve_golden.isa.control.Control`; unless given, those of cayman.
    """

    sbuf: NDArray[np.uint8]
    psum: NDArray[np.uint8]
    registers: NDArray[np.uint32]
    parameter_ram: NDArray[np.float32]
    lane_state: NDArray[np.float32]
    semaphores: NDArray[np.uint32] = field(
        default_factory=lambda: np.zeros(SHAPES["semaphores"], np.uint32)
    )
    events: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(SHAPES["events"], np.uint8))
    control: NDArray[np.uint32] = field(default_factory=lambda: Control().words)

    @classmethod
    def reset(cls, config: EngineConfig) -> ArchState:
        """The state after reset, with the addressable bytes of ``config``."""
        return cls(
            sbuf=np.zeros((MAX_CHANNELS, config.sbuf_active_bytes), np.uint8),
            psum=np.zeros((MAX_CHANNELS, config.psum_active_bytes), np.uint8),
            registers=np.zeros(SHAPES["registers"], np.uint32),
            parameter_ram=reset_parameter_ram(),
            lane_state=np.zeros(SHAPES["lane_state"], np.float32),
            control=RESET_CONTROL[config.generation].words,
        )

    @classmethod
    def copy_of(cls, other: HasState) -> ArchState:
        """A snapshot."""
        return cls(
            sbuf=other.sbuf.copy(),
            psum=other.psum.copy(),
            registers=other.registers.copy(),
            parameter_ram=other.parameter_ram.copy(),
            lane_state=other.lane_state.copy(),
            semaphores=other.semaphores.copy(),
            events=other.events.copy(),
            control=other.control.copy(),
        )

    def arrays(self) -> dict[str, NDArray]:
        """The arrays by name."""
        return dict(vars(self))

    def copy_into(self, other: HasState) -> None:
        """Set the state of a machine of the same sizes, bit for bit."""
        for name, array in self.arrays().items():
            # As bytes: assigning float32 would be free to quieten a signalling NaN.
            getattr(other, name).view(np.uint8)[...] = array.view(np.uint8)


def write_image(path: Path, memory: NDArray[np.uint8], *, lanes: int, row_bytes: int) -> None:
    """Write ``memory`` [128, at most row_bytes] as ``image_load`` reads it; see ``wrapper``."""
    rows = np.zeros((MAX_CHANNELS, row_bytes), np.uint8)
    rows[:, : memory.shape[1]] = memory
    words = rows.view("<u8").reshape(-1, lanes, row_bytes // WORD_BYTES)
    words.transpose(1, 0, 2).astype(">u8").tofile(path)


def read_image(path: Path, *, lanes: int, row_bytes: int) -> NDArray[np.uint8]:
    """What ``image_dump`` wrote, as [128, row_bytes]."""
    words = np.fromfile(path, "<u8").reshape(lanes, -1, row_bytes // WORD_BYTES)
    return np.ascontiguousarray(words.transpose(1, 0, 2)).view(np.uint8).reshape(-1, row_bytes)
