"""Facts that golden model and RTL each state for themselves, and that must be the same.

The layouts of the instructions and the dispatch table have tests of their own
(``tests/rtl/frontend/test_rtl_layouts.py``, ``test_rtl_dispatch.py``).
"""

from typing import Any

import numpy as np
import pytest
from amaranth.lib import data
from dve_golden.execute import HANDLERS
from dve_golden.fp32.reciprocal import reset_parameter_ram
from dve_golden.isa.enums import REGISTERS, Reason
from dve_golden.isa.generations import Generation, in_generation
from dve_golden.memory import address
from dve_golden.memory.address import Geometry
from dve_golden.memory.maps import MEMORY_MAPS, Region
from dve_golden.state import LANE_STATE
from dve_rtl import config
from dve_rtl.config import LANE_COUNTS, EngineConfig
from dve_rtl.frontend.dispatch import DOCUMENTED
from dve_rtl.generations import PSUM_ACTIVE_BYTES, PSUM_BASE, PSUM_STRIDE_BITS, TRAITS, knows
from dve_rtl.host import request_layout
from dve_rtl.lane_orders import HostField
from dve_rtl.lane_state import reciprocal_table
from dve_rtl.payloads import Completion, Handler, Operation, RegisterRequest


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("exponent", range(3, 19))
def test_active_sizes(exponent, generation):
    size = 1 << exponent
    psum = min(size, 1 << 14)
    engine = EngineConfig(sbuf_bytes=size, psum_bytes=psum, generation=generation)
    geometry = Geometry(sbuf_bytes=size, psum_bytes=psum, generation=generation)
    assert engine.sbuf_active_bytes == geometry.sbuf_active
    assert engine.psum_active_bytes == geometry.psum_active


@pytest.mark.parametrize("generation", Generation)
def test_memory_map(generation):
    spans, traits = MEMORY_MAPS[generation], TRAITS[generation]
    assert spans[Region.SBUF].base == 0
    assert spans[Region.SBUF].stride == 1 << traits.sbuf_stride_bits
    assert spans[Region.SBUF].active == traits.sbuf_active_bytes
    assert spans[Region.PSUM].base == PSUM_BASE
    assert spans[Region.PSUM].stride == 1 << PSUM_STRIDE_BITS
    assert spans[Region.PSUM].active == PSUM_ACTIVE_BYTES
    assert spans[Region.PSUM].addressed == traits.has_psum


@pytest.mark.parametrize("generation", Generation)
def test_instruction_sets(generation):
    assert [knows(generation, opcode) for opcode in range(256)] == [
        in_generation(opcode, generation) for opcode in range(256)
    ]


def test_words_and_quadrants():
    assert config.WORD_BYTES == address.WORD_BYTES
    # A quadrant of partitions begins on the same lane whatever their number.
    assert all(address.QUADRANT % lanes == 0 for lanes in LANE_COUNTS)


def test_parameter_ram_after_reset():
    assert reciprocal_table() == reset_parameter_ram().view(np.uint32).tolist()


def test_order_of_the_lane_state():
    fields = {field.value: field.name for field in HostField}
    assert [fields[word] for word in range(len(LANE_STATE))] == [n.upper() for n in LANE_STATE]


def test_the_same_opcodes_execute():
    executed = {
        opcode for opcode, entry in DOCUMENTED.items() if entry.handler is not Handler.BAD_OPCODE
    }
    assert executed == set(HANDLERS)


def width_of(layout, field):
    described: Any = data.Layout.cast(layout)
    return described[field].width


def test_reasons_and_registers_fit_their_fields():
    for layout in (Operation, Completion):
        assert max(Reason) < 1 << width_of(layout, "reason")
    assert width_of(RegisterRequest, "index") == (REGISTERS - 1).bit_length()
    assert width_of(request_layout(EngineConfig(lanes=4)), "byte_enable") == 4 * 8
