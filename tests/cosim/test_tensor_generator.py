"""Pairs of elements: their rows fit the memories that they lie in."""

import numpy as np
from dve_cosim.corners import MOST_WORK, CornerGenerator
from dve_cosim.operand_types import PAIRED
from dve_cosim.reference import geometry_of
from dve_cosim.workloads import work_of
from dve_golden.isa.codec import decode
from dve_golden.isa.generations import Generation
from dve_rtl.config import EngineConfig

CONFIG = EngineConfig(lanes=1, sbuf_bytes=1024, psum_bytes=512, generation=Generation.SUNDA)


class OnOneChannel(CornerGenerator):
    """All work of a program on one channel, so that rows could be as long as there is work."""

    def _channels(self) -> int:
        self._channels_chosen = 1
        return 1


def test_rows_of_pairs_are_no_longer_than_a_partition():
    # 2456 = 2 * 2 * 2 * 307: one row of 1228 bf16 elements needs 2456 bytes of 1024, which no
    # step of the other dimensions mends.
    rng = np.random.default_rng(8)
    registers = np.zeros(64, np.uint32)
    generator = OnOneChannel(rng, geometry_of(CONFIG), registers, aims=iter(()))
    longest = 0
    for opcode in 20 * PAIRED:
        generator._left = 2456
        record = generator.legal(
            lambda opcode=opcode: generator.tensors(generator._any_crossing(opcode))
        )
        _, fields = decode(record)
        rows = fields["src0.num_elem"]
        assert isinstance(rows, tuple)
        assert 2 * rows[0] <= CONFIG.sbuf_bytes
        longest = max(longest, work_of(record))
    assert longest <= MOST_WORK
    assert longest > CONFIG.sbuf_bytes // 2  # more than one row has room for
