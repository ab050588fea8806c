"""Files of the architectural state, and the engine that such a file asks for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from dve_cosim.case import SIZES
from dve_cosim.state import SHAPES, ArchState
from dve_golden.isa.control import Control
from dve_golden.isa.enums import MAX_CHANNELS
from dve_golden.isa.generations import Generation
from dve_golden.memory.maps import MEMORY_MAPS, Region
from dve_rtl.config import EngineConfig

from dve_cli.arrays import read_arrays
from dve_cli.errors import UserError

DTYPES = {
    "sbuf": np.dtype(np.uint8),
    "psum": np.dtype(np.uint8),
    "registers": np.dtype(np.uint32),
    "parameter_ram": np.dtype(np.float32),
    "lane_state": np.dtype(np.float32),
    "semaphores": np.dtype(np.uint32),
    "events": np.dtype(np.uint8),
    "control": np.dtype(np.uint32),
}
"""Arrays of IN.npz."""

MEMORIES = {"sbuf": Region.SBUF, "psum": Region.PSUM}
"""Arrays whose rows may be of any length that a partition can have."""

COMPLETIONS = ("completion_opcode", "completion_reason", "completion_cycles")
"""Further arrays of OUT.npz; ignored in IN.npz, so that a run can take up another's output."""


def read_state(path: Path, generation: Generation) -> dict[str, np.ndarray]:
    """The arrays of the state, each of the right dtype and shape.

    Raises
    ------
    UserError
        Naming the file, the array, what it is and what it should be.
    """

    def wanted(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> bool:
        if name in COMPLETIONS:
            return False
        fault = _fault(name, dtype, shape, generation)
        if fault:
            raise UserError(f"{path}: {fault}")
        return True

    arrays = read_arrays(path, wanted)
    events = arrays.get("events")
    if events is not None and (events > 1).any():
        first = int(np.argmax(events > 1))
        raise UserError(f"{path}: events are 0 or 1, got {events[first]} at index {first}")
    if "control" in arrays:
        try:
            Control.from_words(arrays["control"])
        except ValueError as error:
            raise UserError(f"{path}: control: {error}") from error
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _fault(name: str, dtype: np.dtype, shape: tuple[int, ...], generation: Generation) -> str:
    """What is wrong with an array of the state; empty if nothing."""
    if name == SIZES:
        if dtype != np.uint32 or shape != (2,):
            return f"{name} must be uint32 [2], got {dtype} {list(shape)}"
    elif name not in DTYPES:
        return f"unknown array {name!r}; a state has {', '.join([*DTYPES, SIZES])}"
    elif dtype != DTYPES[name]:
        return f"{name} must be {DTYPES[name]}, got {dtype}"
    elif name in MEMORIES:
        if len(shape) != 2 or shape[0] != MAX_CHANNELS:
            return f"{name} must have shape [{MAX_CHANNELS}, bytes], got {list(shape)}"
        active = MEMORY_MAPS[generation][MEMORIES[name]].active
        if shape[1] > active:
            return (
                f"{name} rows have at most {active} bytes"
                f" (the active size of a partition of {generation.value}), got {shape[1]}"
            )
    elif shape != SHAPES[name]:
        return f"{name} must have shape {list(SHAPES[name])}, got {list(shape)}"
    return ""


def resized(config: EngineConfig, path: Path | None, arrays: dict[str, np.ndarray]) -> EngineConfig:
    """The engine with the memories that the file asks for, or that its rows need.

    Raises
    ------
    UserError
        If there is no engine with such memories, or if its rows do not fit in them.
    """
    if SIZES not in arrays:
        return enlarged(config, arrays)
    sbuf_bytes, psum_bytes = map(int, arrays[SIZES])
    try:
        config = replace(config, sbuf_bytes=sbuf_bytes, psum_bytes=psum_bytes)
    except ValueError as error:
        raise UserError(f"{path}: {SIZES}: {error}") from error
    if enlarged(config, arrays) != config:
        raise UserError(f"{path}: rows are longer than {SIZES} says, {sbuf_bytes} and {psum_bytes}")
    return config


def enlarged(config: EngineConfig, arrays: dict[str, np.ndarray]) -> EngineConfig:
    """The engine with memories that hold the given rows: the next power of two, if need be."""
    sizes = {}
    for name in MEMORIES:
        row_bytes = arrays[name].shape[1] if name in arrays else 0
        if row_bytes > getattr(config, f"{name}_bytes"):
            sizes[f"{name}_bytes"] = 1 << (row_bytes - 1).bit_length()
    return replace(config, **sizes)


def initial_state(config: EngineConfig, arrays: dict[str, np.ndarray]) -> ArchState:
    """The state after reset, overlaid with the given arrays."""
    state = ArchState.reset(config)
    for name, array in arrays.items():
        if name == SIZES:
            continue
        if name in MEMORIES:
            getattr(state, name)[:, : array.shape[1]] = array
        else:
            setattr(state, name, array)
    return state
