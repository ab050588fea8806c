"""The golden machine on the stored programs of tests/vectors."""

from pathlib import Path

import numpy as np
import pytest
from dve_golden.isa.enums import Reason
from dve_golden.machine import Machine

FILES = sorted((Path(__file__).parents[1] / "vectors").glob("*.npz"))


def test_all_files_are_there():
    assert len(FILES) == 30


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_final_state(path):
    with np.load(path) as arrays:
        vector = dict(arrays)
    machine = Machine(sbuf_bytes=vector["sbuf"].shape[1], psum_bytes=vector["psum"].shape[1])
    machine.sbuf[:] = vector["sbuf"]
    machine.psum[:] = vector["psum"]
    machine.registers[:] = vector["registers"]
    completions = machine.run(vector["program"].tobytes())
    assert [c.reason for c in completions] == [Reason.NONE] * len(vector["program"])
    np.testing.assert_array_equal(machine.sbuf, vector["sbuf"] ^ vector["sbuf_xor"])
    np.testing.assert_array_equal(machine.psum, vector["psum"] ^ vector["psum_xor"])
    for name in ("lane_state", "parameter_ram"):
        np.testing.assert_array_equal(
            getattr(machine, name).view(np.uint32), vector[name].view(np.uint32), err_msg=name
        )
