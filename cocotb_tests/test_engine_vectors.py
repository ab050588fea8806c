"""The stored programs of tests/vectors on the RTL: what they leave is written in the files.

The expected states come from a reading of the specification that is neither the golden machine's
nor the RTL's, so this does not depend on either.
"""

from pathlib import Path

import numpy as np
import pytest
from benches.configs import SMALL
from dve_cosim.compare import differences
from dve_cosim.session import run_batches
from dve_cosim.state import ArchState

FILES = sorted((Path(__file__).parents[1] / "tests" / "vectors").glob("*.npz"))


def states(vector, config):
    """The states before and after the program of one file."""
    before, after = ArchState.reset(config), ArchState.reset(config)
    for state in (before, after):
        state.registers[:] = vector["registers"]
    for name in ("sbuf", "psum"):
        getattr(before, name)[:] = vector[name]
        getattr(after, name)[:] = vector[name] ^ vector[f"{name}_xor"]
    for name in ("lane_state", "parameter_ram"):
        getattr(after, name).view(np.uint32)[:] = vector[name].view(np.uint32)
    return before, after


def test_all_files_are_there():
    assert len(FILES) == 30


@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_final_states(lanes):
    config = SMALL[lanes]
    programs, reloads, expected = [], {}, []
    for index, path in enumerate(FILES):
        with np.load(path) as arrays:
            vector = dict(arrays)
        programs.append(vector["program"].tobytes())
        reloads[index], after = states(vector, config)
        expected.append((path.stem, vector["program"][:, 0], after))
    results = run_batches(programs, config=config, reloads=reloads)
    for (name, opcodes, after), result in zip(expected, results, strict=True):
        found = differences(result.state, after, limit=4)
        assert not found, f"{name}: " + "; ".join(map(str, found))
        assert result.opcode.tolist() == opcodes.tolist(), name
        assert not result.reason.any(), name
