"""The front-end table and its lookup."""

import pytest
from amaranth.sim import Simulator
from dve_golden.isa.enums import Opcode
from dve_golden.isa.generations import Generation
from dve_golden.isa.structs import STRUCT_OF_OPCODE
from dve_rtl.frontend.dispatch import DOCUMENTED, TABLE, Dispatch
from dve_rtl.payloads import Handler

EXECUTED = {
    0x60: Handler.STATS,
    0x61: Handler.STATS2,
    0x62: Handler.AGGREGATE,
    0x82: Handler.STATS2,
    0x63: Handler.GRAD_ACCUMULATE,
    0x94: Handler.GRAD_ACCUMULATE,
    0x64: Handler.PARAM_LOAD,
    0x8E: Handler.PARAM_LOAD2,
    0x66: Handler.LOAD_PARAMETER_RAM,
    0x65: Handler.BACK_PROP,
    0x41: Handler.TENSOR_TENSOR,
    0x51: Handler.BITVEC,
    0x72: Handler.COPY_PREDICATED,
    0x99: Handler.CAST_PREDICATED,
    0xA0: Handler.SYNCHRONISE,
    0xA4: Handler.SYNCHRONISE,
}
EXECUTED_BY_SUNDA = EXECUTED | dict.fromkeys((0x8A, 0x8B, 0x8F), Handler.TENSOR_TENSOR)


@pytest.mark.parametrize("generation", Generation)
def test_every_opcode(generation):
    executed = EXECUTED_BY_SUNDA if generation is Generation.SUNDA else EXECUTED
    dut = Dispatch(generation)
    found = {}

    async def bench(ctx):
        for opcode in range(256):
            ctx.set(dut.opcode, opcode)
            await ctx.delay(1e-9)
            found[opcode] = ctx.get(dut.handler)

    sim = Simulator(dut)
    sim.add_testbench(bench)
    sim.run()
    assert found == {op: executed.get(op, Handler.BAD_OPCODE) for op in range(256)}


def test_table_covers_41_to_ea():
    assert len(TABLE) == 170
    indices = {0x63: 0x22, 0x64: 0x23, 0x65: 0x24, 0x66: 0x25, 0x8E: 0x4D, 0x94: 0x53}
    for opcode, index in indices.items():
        assert TABLE[index] is DOCUMENTED[opcode]
    assert TABLE[-1] is None


def test_table_agrees_with_the_instruction_set():
    for opcode in Opcode:
        entry = DOCUMENTED[opcode]
        assert entry.name == opcode.name
        # The documented struct of 0x66 has no known layout; its form here is this project's.
        if opcode is not Opcode.LOAD_PARAMETER_RAM:
            assert entry.struct == STRUCT_OF_OPCODE[opcode].name


def test_documented_trampolines_share_bodies():
    forward = {0x60, 0x61, 0x62, 0x82}
    assert {DOCUMENTED[opcode].trampoline for opcode in forward} == {0x308E}
    unread = {0x72, 0x8A, 0x8B, 0x8F, 0x99, Opcode.EVENT_SEMAPHORE, Opcode.NOP}
    assert all(DOCUMENTED[opcode].trampoline is None for opcode in unread)
    others = [DOCUMENTED[opcode].trampoline for opcode in set(Opcode) - unread - forward]
    assert len(set(others)) == len(others)
